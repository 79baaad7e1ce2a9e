# SPDX-License-Identifier: BSD-3-Clause
"""The sub-commands, one module each."""
