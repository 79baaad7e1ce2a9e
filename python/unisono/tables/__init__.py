# SPDX-License-Identifier: BSD-3-Clause
"""Tables of decisions, and what is kept in the cache directory."""
