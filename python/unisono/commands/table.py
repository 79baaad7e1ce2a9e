# SPDX-License-Identifier: BSD-3-Clause
"""`unisono table`: tables of decisions."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from rich.markup import escape

from unisono.commands.hints import HintingGroup
from unisono.commands.listing import algorithms_of
from unisono.commands.values import json_option
from unisono.common import files, printing, schemas
from unisono.common.shown import shown_json
from unisono.tables import decision_table
from unisono.tables import ways as table_ways


@click.group(cls=HintingGroup)
def command() -> None:
    """Check, show, compare and merge tables that say which algorithm serves which calls.

    Tables are what the option `table` of `unisono run` takes; docs/guide/tables.md describes them.
    """


_files = click.argument("names", metavar="FILE...", nargs=-1, required=True)
_as_json = json_option()


@command.command()
@_files
@_as_json
@click.pass_context
def check(ctx: click.Context, names: tuple[str, ...], as_json: bool) -> None:
    """Say which rules a run would not follow, and why.

    Ends with status 1 where a file is no table or a rule is disabled.
    """
    loaded = decision_table.load(names)
    if as_json:
        printing.print_json(
            [
                {
                    "file": table.file,
                    "problem": table.problem,
                    "rules": len(table.rules),
                    "disabled": [{"number": number, "problem": why} for number, why in table.disabled],
                }
                for table in loaded
            ]
        )
    else:
        for table in loaded:
            if table.problem:
                printing.echo(table.problem)
                continue
            for line in decision_table.disabled_lines(table):
                printing.echo(line)
            count = len(table.rules)
            printing.echo(f"{table.file}: {count} of {count + len(table.disabled)} rules can be followed")
    ctx.exit(0 if all(table.is_clean for table in loaded) else 1)


@command.command()
@_files
@click.option("--operation", metavar="NAME", help="Only this operation's rules.")
@_as_json
def show(names: tuple[str, ...], operation: str | None, as_json: bool) -> None:
    """Print the rules by operation and size, with what was measured.

    As JSON several files are one table, as `merge` makes it.
    """
    loaded = decision_table.require(names)
    algorithms_of(operation)  # refuses what is no operation
    if as_json:
        for table in loaded:
            table.rules = [(n, rule) for n, rule in table.rules if operation in (None, rule["operation"])]
        printing.print_json(decision_table.merged(loaded, _command_line("show", names)))
        return
    console = printing.console()
    for table in loaded:
        decision_table.render(table, operation, console)


@command.command()
@_files
@click.option("--operation", metavar="NAME", help="Only this operation's rules.")
@click.option(
    "--network",
    metavar="FILE",
    help="A table of the same calls, tuned while the MPI sent all by the network.",
)
@_as_json
def ways(names: tuple[str, ...], operation: str | None, network: str | None, as_json: bool) -> None:
    """Compare the ways inside a node by what was measured: the MPI's own, messages, shared memory, the network.

    For each size: the best of all that was measured, and the fastest of each way.
    """
    loaded = decision_table.require(names)
    by_network = decision_table.require((network,))[0].rules if network is not None else []
    algorithms = {(one["operation"], one["name"]): one for one in algorithms_of(operation)}
    rows = [
        one
        for table in loaded
        for one in table_ways.compared(
            [rule for _, rule in table.rules], algorithms, [rule for _, rule in by_network]
        )
        if operation in (None, one.rule["operation"])
    ]
    if as_json:
        printing.print_json(table_ways.as_data(rows))
    elif rows:
        table_ways.render(rows, printing.console())
    else:
        printing.echo("No rule has measured times: `unisono tune` measures.")


@command.command()
@click.argument("first")
@click.argument("second")
@_as_json
@click.pass_context
def diff(ctx: click.Context, first: str, second: str, as_json: bool) -> None:
    """Say for which calls two tables decide differently, with the times that each has.

    Ends with status 0 where they decide alike, 1 where they differ, 2 where a file is no table.
    """
    one, other = decision_table.require((first, second))
    found = list(decision_table.differences(one, other))
    if as_json:
        printing.print_json([{"calls": d.calls, "first": d.first, "second": d.second} for d in found])
    elif not found:
        printing.echo("They decide alike.")
    else:
        made = printing.table(
            escape(f"first: {first}, second: {second}"),
            *("operation", "size", "where", "first", "its time", "second", "its time "),
            right=("size", "its time", "its time "),
            whole=("operation",),
            give_way=("its time ", "its time"),
        )
        for difference in found:
            sides = []
            for rule in (difference.first, difference.second):
                sides += [escape(rule["algorithm"]) if rule else "-", decision_table.time_text(rule)]
            calls = difference.calls
            made.add_row(
                calls["operation"],
                decision_table.sizes_text(calls),
                escape(decision_table.where_text(calls)),
                *sides,
            )
        printing.console().print(made)
    ctx.exit(1 if found else 0)


@command.command()
@_files
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the table to this file.")
def merge(names: tuple[str, ...], output: Path | None) -> None:
    """Make one table of several: of rules for the same calls the first file's stays.

    Disabled rules are left out with a warning; where a file is no table nothing is written, with status 2.
    """
    if output is not None:
        files.require_own(output, schemas.TABLE)
    loaded = decision_table.require(names)
    for table in loaded:
        for line in decision_table.disabled_lines(table):
            printing.echo(f"unisono: {line}", err=True)
    text = decision_table.as_text(decision_table.merged(loaded, _command_line("merge", names)))
    if output is None:
        sys.stdout.write(shown_json(text))
    else:
        files.write_whole(output, text)


def _command_line(verb: str, names: tuple[str, ...]) -> str:
    return " ".join(["unisono", "table", verb, *names])
