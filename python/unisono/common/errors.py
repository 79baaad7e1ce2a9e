# SPDX-License-Identifier: BSD-3-Clause
"""Errors that end a command: one message that says what is wrong and what to do, and an exit status."""

from __future__ import annotations

import sys
from typing import IO, Any

from unisono.common.shown import shown

INTERRUPTED = 130  # the status of what SIGINT has ended, as the shell has it


class Terminated(KeyboardInterrupt):
    """SIGTERM or SIGHUP, which end a command as Ctrl-C does: what it has started ends too, and it says what is kept."""

    def __init__(self, number: int) -> None:
        super().__init__()
        self.number = number


def interrupted_status(ended: KeyboardInterrupt) -> int:
    """As the shell has it of a signal."""
    return 128 + ended.number if isinstance(ended, Terminated) else INTERRUPTED


class UnisonoError(Exception):
    """An error of ours."""

    exit_code = 1

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message

    def show(self, file: IO[Any] | None = None) -> None:
        print(shown(f"unisono: {self.message}"), file=file or sys.stderr)


class UsageError(UnisonoError):
    """The command line asks for something that cannot be."""

    exit_code = 2


class FileError(UnisonoError):
    """A file that the command line names cannot be read, is of another kind, or is damaged."""

    exit_code = 2


class NotExecutableError(UnisonoError):
    """The command is there and cannot be started; the status is the shell's for that."""

    exit_code = 126


class NotFoundError(UnisonoError):
    """The command is not there; the status is the shell's for that."""

    exit_code = 127
