# SPDX-License-Identifier: BSD-3-Clause
"""What files say of themselves in their field `schema`."""

from __future__ import annotations

REPORT = "unisono-report"
TABLE = "unisono-table"
MACHINE = "unisono-machine"
NOISE = "unisono-noise"
