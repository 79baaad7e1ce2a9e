# SPDX-License-Identifier: BSD-3-Clause
"""Where the command `unisono` begins. A run that says nothing but what to run needs no parser of options: it goes straight to
`launch.job`, since half of what its start would take is the parser's import. Neither is imported where the other serves."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from unisono.common.errors import INTERRUPTED, UnisonoError


def main() -> None:
    if sys.argv[1:2] == ["run"]:
        _run_plainly(sys.argv[2:])
    try:
        from unisono.commands.group import cli

        cli(prog_name="unisono")
    except KeyboardInterrupt:  # before a command has begun
        print("unisono: interrupted", file=sys.stderr)
        sys.exit(INTERRUPTED)


def _run_plainly(arguments: Sequence[str]) -> None:
    """Becomes the command, where `arguments` are nothing else."""
    from unisono.launch import job

    words = job.plain_command(arguments)
    if words is None:
        return
    try:
        job.run_plainly(words)
    except UnisonoError as error:
        error.show()
        sys.exit(error.exit_code)
