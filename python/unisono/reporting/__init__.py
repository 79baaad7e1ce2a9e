# SPDX-License-Identifier: BSD-3-Clause
"""Reports of runs and explanations of decisions, as text and pictures."""
