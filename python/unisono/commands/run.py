# SPDX-License-Identifier: BSD-3-Clause
"""`unisono run`, as it is described: the command itself is compiled (src/front), and takes over where it is called from here."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

import click

from unisono.common import places, tool
from unisono.common.errors import UnisonoError
from unisono.launch.process import cannot_start


class SettingOption(click.Option):
    """An option of the library: what is given becomes the value of an environment variable."""

    def __init__(self, description: Mapping[str, str]) -> None:
        self.environment = description["environment"]
        self.group = description["group"]
        name, kind, default = (description[key] for key in ("cli", "type", "default"))
        is_switch = kind == "bool"
        choices = kind.split("|") if "|" in kind else None
        super().__init__(
            [self.environment.lower(), f"{name}/--no-{name[2:]}" if is_switch else name],
            help=description["help"] + (f"  [default: {_default_text(kind, default)}]" if default else ""),
            default=None,
            multiple=kind in ("list", "files"),
            type=click.Choice(choices) if choices else None,
            metavar=None if is_switch or choices else kind.upper(),
        )


def _default_text(kind: str, default: str) -> str:
    return {"1": "on", "0": "off"}[default] if kind == "bool" else default


def _own_option(description: Mapping[str, str]) -> click.Option:
    names = [f"--{description['name']}"] + ([f"-{description['letter']}"] if description["letter"] else [])
    value = description["value"]
    return click.Option(names, help=description["help"], metavar=value or None, is_flag=not value)


class RunCommand(click.Command):
    """Becomes the compiled command, whatever words follow."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if not ctx.resilient_parsing:  # as where a shell asks for completions
            _become_compiled(args)
        return super().parse_args(ctx, args)


def _become_compiled(words: list[str]) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.flush()
    front = str(places.require("front"))
    # By this name it finds its part in Python again.
    caller = Path(sys.argv[0])
    scripts = caller.parent if caller.name == places.PYTHON else Path(sysconfig.get_path("scripts"))
    try:
        os.execv(front, [str(scripts / places.FRONT), "run", *words])
    except OSError as error:
        raise cannot_start(front, error) from error


def _made() -> click.Command:
    """The command with the options that the compiled part names."""
    try:
        said: dict[str, Any] = tool.ask("run")
        settings = [SettingOption(option) for option in tool.options()]
    except UnisonoError:  # which the command says when it runs
        said, settings = {"description": "Run an MPI program under Unisono.", "options": []}, []
    own = [_own_option(option) for option in said["options"] if option["name"] != "help"]
    words = click.Argument(["words"], metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
    return RunCommand(
        "run",
        params=[*own, *settings, words],
        help=_as_click_writes(said["description"]),
        options_metavar="[OPTIONS] [--]",
        context_settings={"allow_interspersed_args": False},
    )


def _as_click_writes(text: str) -> str:
    """Paragraphs that stand in from the margin keep their lines."""
    return "\n\n".join(f"\b\n{part}" if part.startswith("  ") else part for part in text.split("\n\n"))


command = _made()
