# SPDX-License-Identifier: BSD-3-Clause
"""`unisono options`: the table of options."""

from __future__ import annotations

import click
from rich.markup import escape

from unisono.commands.values import json_option
from unisono.common import printing, tool


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
    made = printing.table(
        None,
        *("unisono run", "environment", "configuration", "default", "meaning"),
        give_way=("configuration", "environment"),
    )
    for option in options:
        made.add_row(
            option["cli"] or "",
            option["environment"],
            option["config_key"],
            escape(default_text(option["default"])),
            escape(option["help"]),
        )
    console = printing.console()
    console.print(made)
    console.print(
        "\nAn option --some-name of `unisono run` is UNISONO_SOME_NAME in the environment and some_name in a configuration file."
    )


def default_text(value: object) -> str:
    """A default as people write it in a file or a variable."""
    if isinstance(value, bool):
        return "1" if value else "0"
    return "" if value is None else str(value)
