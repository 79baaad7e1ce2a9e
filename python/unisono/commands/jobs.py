# SPDX-License-Identifier: BSD-3-Clause
"""What commands share that start a job which measures."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click

from unisono.commands.values import Command
from unisono.common import printing
from unisono.common.errors import UsageError, interrupted_status
from unisono.launch.settings import settings_from_environment

mpicc_option = click.option(
    "--mpicc",
    type=click.Path(exists=True, path_type=Path),
    help="The MPI's C compiler, where it is not beside the launcher.",
)
launcher_argument = click.argument(
    "launcher", metavar="LAUNCHER...", nargs=-1, required=True, type=click.UNPROCESSED
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
    """Messages between nodes that are only pretended go through one node's memory: what is fastest there is fastest nowhere else,
    and the rules would be for the layout that the launcher's ranks have."""
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
