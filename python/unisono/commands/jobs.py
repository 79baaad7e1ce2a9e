# SPDX-License-Identifier: BSD-3-Clause
"""What commands share that start a job which measures."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from unisono.commands.values import Command
from unisono.common import printing, tool
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

    def __init__(self, *words: Any, heeds_options: Sequence[str] | None = None, **more: Any) -> None:
        """`heeds_options`: with these words the job goes by the options of `unisono run`; None: it does not."""
        super().__init__(*words, **more)
        self.heeds_options = heeds_options

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        given = list(args)  # the parser takes words out of the other one
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            name = error.option_name
            at = next(i for i, word in enumerate(given) if word.startswith(name))
            before, rest = given[:at], given[at:]
            if (setting := _setting(rest)) and not _is_of_srun(name, rest):
                raise _of_run(name, ctx.command_path, before, setting, self.heeds_options) from None
            if error.possibilities or (name.startswith("--") and nearest(name, _names(self))):
                raise
            raise _belongs_behind(name, ctx.command_path, before, rest) from None


def _names(command: click.Command) -> list[str]:
    return [name for param in command.params for name in param.opts if name.startswith("--")]


def _launcher_in(words: Sequence[str]) -> str | None:
    return next((word for word in words if Path(word).name.startswith(("mpirun", "mpiexec", "srun"))), None)


def _is_of_srun(name: str, words: Sequence[str]) -> bool:
    """--nodes is an option of both."""
    return name == "--nodes" and Path(_launcher_in(words) or "").name.startswith("srun")


def _setting(words: Sequence[str]) -> tuple[str, list[str]] | None:
    """What an option of `unisono run`, the first of these words, is as a variable, and the words behind it."""
    name, equals, value = words[0].partition("=")
    for option in tool.options() if name.startswith("--") else []:
        own = option["cli"]
        if name not in (own, f"--no-{own[2:]}") or (name != own and option["type"] != "bool"):
            continue
        rest = list(words[1:])
        if option["type"] == "bool":
            value = "1" if name == own else "0"
        elif not equals:
            value = rest.pop(0) if rest and not rest[0].startswith("-") else "VALUE"
        return f"{option['environment']}={shlex.quote(value)}", rest
    return None


def _of_run(
    option: str,
    command: str,
    before: Sequence[str],
    setting: tuple[str, list[str]],
    heeds_options: Sequence[str] | None,
) -> UsageError:
    variable, rest = setting
    if heeds_options is None:
        return UsageError(f"{option} is an option of `unisono run`, and none of `{command}`")
    # A profile goes by the nodes without Unisono too.
    needed = [] if option == "--nodes" else [word for word in heeds_options if word not in before]
    behind = rest if "--" in rest else ["--", *rest]
    return UsageError(
        f"{option} is an option of `unisono run`, and none of `{command}`, which goes by its variable:\n"
        f"  {variable} {command} {shlex.join([*before, *needed, *behind])}"
    )


def _belongs_behind(option: str, command: str, before: list[str], rest: list[str]) -> UsageError:
    launcher = _launcher_in(rest)
    if launcher is not None:
        rest.remove(launcher)
    meant = shlex.join([*before, "--", launcher or "mpirun", *(word for word in rest if word != "--")])
    return UsageError(
        f"{option} is no option of `{command}`; if it is the launcher's, it belongs behind it:\n  {command} {meant}"
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
