# SPDX-License-Identifier: BSD-3-Clause
"""`unisono options`: the table of options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click
from rich.markup import escape

from unisono.commands.values import json_option
from unisono.common import printing, tool
from unisono.common.fitted_table import FittedTable


@click.command()
@json_option("Print the list as JSON.")
def command(as_json: bool) -> None:
    """List the options of a run.

    Each may be given to `unisono run`, as an environment variable, or in a configuration file; the first of
    these that names it holds.
    """
    options = tool.options()
    if as_json:
        printing.print_json(options)
        return
    run = tool.ask("run")
    everyday = run["everyday"]
    usual = [option for name in everyday for option in options if option["name"] == name]
    own = [{**option, "cli": f"--{option['name']}", "default": ""} for option in run["options"]]
    console = printing.console()
    console.print(_table("The usual ones", [*usual, *(option for option in own if option["name"] != "help")]))
    groups: dict[str, list[dict[str, Any]]] = {}
    for option in options:
        if option["name"] not in everyday:
            groups.setdefault(option["group"], []).append(option)
    for group, members in groups.items():
        console.print("", _table(group.replace("_", " ").capitalize(), members))
    printing.print_prose(
        console,
        "\nAn option --some-name of `unisono run` is UNISONO_SOME_NAME in the environment and some_name in a configuration file; "
        "--dry-run and --verbose are of the command alone.",
    )


def _table(title: str, options: Sequence[Mapping[str, Any]]) -> FittedTable:
    made = printing.table(title, "option", "default", "meaning", prose=("meaning",))
    for option in options:
        made.add_row(option["cli"], escape(default_text(option["default"])), escape(option["help"]))
    return made


def default_text(value: object) -> str:
    """A default as people write it in a file or a variable."""
    if isinstance(value, bool):
        return "1" if value else "0"
    return "" if value is None else str(value)
