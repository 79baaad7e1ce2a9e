# SPDX-License-Identifier: BSD-3-Clause
"""Machines: what this one has, what is measured of it, their descriptions, and what the models predict on them."""
