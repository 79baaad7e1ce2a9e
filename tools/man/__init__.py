# SPDX-License-Identifier: BSD-3-Clause
"""Manual pages, made from what the commands, the list of options and the header say of themselves."""
