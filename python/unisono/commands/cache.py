# SPDX-License-Identifier: BSD-3-Clause
"""`unisono cache`: what one job leaves for the next, and how to forget it."""

from __future__ import annotations

import sys

import click
from rich.markup import escape

from unisono.commands.hints import HintingGroup
from unisono.commands.listing import algorithms_of
from unisono.commands.values import json_option
from unisono.common import printing, units
from unisono.common.errors import UsageError
from unisono.common.shown import shown
from unisono.tables import kept

_NAMES = {
    "learned": "learned by jobs",
    "crashes": "crashes",
    "machine": "measured machine",
    "benchmark": "compiled benchmark",
    "damaged": "damaged table",
}


@click.group(cls=HintingGroup)
def command() -> None:
    """Show and forget what jobs have kept for later ones.

    It lies in the directory that UNISONO_CACHE names, else $XDG_CACHE_HOME/unisono or ~/.cache/unisono; docs/guide/learning.md says
    what is kept, and when it is believed.
    """


@command.command()
@json_option()
def show(as_json: bool) -> None:
    """Show what is kept: how much, how large, and how old."""
    folder = kept.folder()
    found = kept.found(folder)
    if as_json:
        printing.print_json({"directory": str(folder), "kept": [one.as_json() for one in found]})
        return
    console = printing.console()
    console.print(escape(str(folder)), soft_wrap=True)
    if not found:
        console.print("Nothing is kept.")
        return
    made = printing.table(
        None,
        *("what", "rules", "size", "days old", "operations", "file"),
        right=("rules", "size", "days old"),
        give_way=("operations", "days old", "rules", "size"),
    )
    for one in found:
        made.add_row(
            _NAMES[one.what],
            "" if one.count is None else units.count_text(one.count),
            units.bytes_text(one.bytes),
            str(one.days),
            escape(", ".join(one.operations)),
            escape(str(one.path.relative_to(folder))),
        )
    console.print(made)
    console.print(f"{units.bytes_text(sum(one.bytes for one in found))} in all")


@command.command()
@click.option("--operation", metavar="NAME", help="Only what was learned of this operation, and its crashes.")
@click.option("--program", metavar="NAME", help="Only the crashes of this program.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
def clear(operation: str | None, program: str | None, yes: bool) -> None:
    """Forget what is kept: all of it, or only that of an operation or a program.

    On a terminal it asks before all is removed.
    """
    if operation is not None and program is not None:
        raise UsageError("--operation and --program: leave one of them out")
    folder = kept.folder()
    if operation is not None:
        algorithms_of(operation)  # refuses what is no operation
        printing.echo(
            f"{kept.clear_operation(folder, operation)} rules and crashes of {operation} are forgotten"
        )
        return
    if program is not None:
        printing.echo(f"{kept.clear_program(folder, program)} crashes of {program} are forgotten")
        return
    if (
        sys.stdin.isatty()
        and not yes
        and not click.confirm(f"Forget all that is kept in {shown(str(folder))}?")
    ):
        printing.echo("Nothing is forgotten.")
        return
    gone = kept.clear_all(folder)
    printing.echo(f"{len(gone)} files are forgotten, {units.bytes_text(sum(one.bytes for one in gone))}")
