# SPDX-License-Identifier: BSD-3-Clause
"""Off-line tuning: the search, what it has found, its proof."""
