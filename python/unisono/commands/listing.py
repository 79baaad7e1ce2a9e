# SPDX-License-Identifier: BSD-3-Clause
"""`unisono list`: the algorithms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from rich.markup import escape
from rich.padding import Padding

from unisono import source_names, tables, tool
from unisono.errors import UsageError


@click.command()
@click.option(
    "--operation", metavar="NAME", help="Only this operation's, with all about them: bcast, allreduce, ..."
)
@click.option("--long", "is_long", is_flag=True, help="All about every algorithm.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def command(operation: str | None, is_long: bool, as_json: bool) -> None:
    """List the algorithms; with --operation or --long also what each does, when it may run, and where it comes from."""
    chosen = algorithms_of(operation)
    if as_json:
        tables.print_json(chosen)
        return
    console = tables.console()
    if operation is None and not is_long:
        made = tables.table(None, "operation", "algorithm", "group", whole=("operation", "algorithm"))
        for algorithm in chosen:
            made.add_row(algorithm["operation"], algorithm["name"], algorithm["group"])
        console.print(made)
        console.print("--operation NAME, or --long, says what each does, and when it may run.")
        return
    for algorithm in chosen:
        for line in _about(algorithm):
            console.print(line)


def _about(algorithm: dict[str, Any]) -> Iterator[Any]:
    """One under the other: sentences beside each other would have a few columns each."""
    title = f"[bold]{algorithm['operation']}:{algorithm['name']}[/bold]"
    yield f"{title}  {escape(algorithm['group'])}; {escape(algorithm['source'])}"
    lines = {
        "": algorithm["sentence"],
        "needs: ": ", ".join(algorithm["legality"]),
        "parameters: ": ", ".join(parameter["name"] for parameter in algorithm["parameters"]),
        "in the sources: ": source_names.text(algorithm),
    }
    for name, text in lines.items():
        if text:
            yield Padding(escape(f"{name}{text}"), (0, 0, 0, 4))


def algorithms_of(operation: str | None) -> list[dict[str, Any]]:
    """The algorithms of an operation, or all."""
    algorithms = tool.algorithms()
    if operation is None:
        return algorithms
    chosen = [algorithm for algorithm in algorithms if algorithm["operation"] == operation]
    if not chosen:
        known = ", ".join(dict.fromkeys(algorithm["operation"] for algorithm in algorithms))
        raise UsageError(f"no algorithm for an operation '{operation}'; there are: {known}")
    return chosen
