# SPDX-License-Identifier: BSD-3-Clause
"""What commands share that start a job which measures."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from unisono.commands.values import Command
from unisono.common import printing
from unisono.common.errors import UsageError, interrupted_status
from unisono.common.nearest import nearest
from unisono.launch.settings import settings_from_environment

mpicc_option = click.option(
    "--mpicc",
    type=click.Path(exists=True, path_type=Path),
    help="The MPI's C compiler, where it is not beside the launcher.",
)
launcher_argument = click.argument(
    "launcher", metavar="LAUNCHER...", nargs=-1, required=True, type=click.UNPROCESSED
)


class JobCommand(click.Command):
    """One that starts a job by LAUNCHER. Whoever writes the launcher's options in front is told where they belong."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)  # the parser takes words out of the other one
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name
            if error.possibilities or (name.startswith("--") and nearest(name, _names(self))):
                raise
            at = next(i for i, word in enumerate(given) if word.startswith(name))
            raise _belongs_behind(name, ctx.command_path, given[:at], given[at:]) from None


def _names(command: click.Command) -> list[str]:
    return [name for param in command.params for name in param.opts if name.startswith("--")]


def _belongs_behind(option: str, command: str, before: list[str], rest: list[str]) -> UsageError:
    launcher = next(
        (word for word in rest if Path(word).name.startswith(("mpirun", "mpiexec", "srun"))), None
    )
    if launcher is not None:
        rest.remove(launcher)
    meant = shlex.join([*before, "--", launcher or "mpirun", *(word for word in rest if word != "--")])
    return UsageError(
        f"{option} is no option of `{command}`; one of the launcher belongs behind it:\n  {command} {meant}"
    )


def budget_option(more: str = "") -> Callable[[Command], Command]:
    """`more`: what else there is to say of it."""
    text = f"Time for all of it, from the command's start: 90s, 5m, 1h.{more}"
    return click.option("--budget", default="5m", show_default=True, help=text)


def quiet_settings() -> dict[str, str]:
    """Those of the environment, for a job that neither learns nor speaks: its ranks lie as its launcher has put them."""
    settings = settings_from_environment(os.environ) | {"UNISONO_LOG": "quiet", "UNISONO_LEARN": "off"}
    _require_real_layout(settings)
    return settings


def _require_real_layout(settings: Mapping[str, str]) -> None:
    """Refuses a layout that is only pretended. Messages between its nodes go through one node's memory, so
    what is fastest there is fastest nowhere else. And the rules would be for the layout that the launcher's
    ranks have."""
    if settings.get("UNISONO_NODES"):
        raise UsageError(
            f"UNISONO_NODES={settings['UNISONO_NODES']} pretends a layout, which cannot be tuned for: a table's rules are for the "
            "layout that ranks have; unset it"
        )


@contextmanager
def interruptible(said: Callable[[], str]) -> Iterator[None]:
    """Ctrl-C and SIGTERM end the command with what is to be known then."""
    try:
        yield
    except KeyboardInterrupt as ended:
        printing.echo(f"unisono: {said()}", err=True)
        raise SystemExit(interrupted_status(ended)) from None
