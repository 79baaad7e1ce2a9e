# SPDX-License-Identifier: BSD-3-Clause
"""Errors that end a command: one message that says what is wrong and what to do, and an exit status."""

from __future__ import annotations

from typing import IO, Any

import click


class UnisonoError(click.ClickException):
    """An error of ours."""

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(f"unisono: {self.format_message()}", file=file, err=file is None)


class UsageError(UnisonoError):
    """The command line asks for something that cannot be."""

    exit_code = 2


class NotExecutableError(UnisonoError):
    """The command is there and cannot be started; the status is the shell's for that."""

    exit_code = 126


class NotFoundError(UnisonoError):
    """The command is not there; the status is the shell's for that."""

    exit_code = 127
