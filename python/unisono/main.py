# SPDX-License-Identifier: BSD-3-Clause
"""Where the part of the command `unisono` begins that is in Python: all but `unisono run` (src/front)."""

from __future__ import annotations

import sys

from unisono.common.errors import INTERRUPTED


def main() -> None:
    try:
        from unisono.commands.group import cli

        cli(prog_name="unisono")
    except KeyboardInterrupt:  # before a command has begun
        print("unisono: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)
