# SPDX-License-Identifier: BSD-3-Clause
"""Where the command `unisono` begins. A run that says nothing but what to run needs no parser of options: it goes straight to
`launch.job`, since half of what its start would take is the parser's import."""

from __future__ import annotations

import sys

from unisono.errors import UnisonoError
from unisono.launch import job


def main() -> None:
    words = job.plain_command(sys.argv[1:])
    if words is None:
        from unisono.commands.group import cli

        cli(prog_name="unisono")
        return
    try:
        job.run_plainly(words)
    except UnisonoError as error:
        error.show()
        sys.exit(error.exit_code)
