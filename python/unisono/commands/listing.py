# SPDX-License-Identifier: BSD-3-Clause
"""`unisono list`: the algorithms."""

from __future__ import annotations

from typing import Any

import click
from rich.markup import escape

from unisono import source_names, tables, tool
from unisono.errors import UsageError


@click.command()
@click.option("--operation", metavar="NAME", help="Only this operation's: bcast, allreduce, ...")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def command(operation: str | None, as_json: bool) -> None:
    """List the algorithms: what each does, when it may run, and where it comes from."""
    chosen = algorithms_of(operation)
    if as_json:
        tables.print_json(chosen)
        return
    console = tables.console()
    made = tables.table(
        None,
        "operation",
        "algorithm",
        "group",
        "what it does",
        "needs",
        "parameters",
        "source",
        "in the sources",
        whole=("operation", "algorithm"),
    )
    for algorithm in chosen:
        made.add_row(
            algorithm["operation"],
            algorithm["name"],
            algorithm["group"],
            escape(algorithm["sentence"]),
            escape(", ".join(algorithm["legality"])),
            ", ".join(parameter["name"] for parameter in algorithm["parameters"]),
            escape(algorithm["source"]),
            escape(source_names.text(algorithm)),
        )
    console.print(made)


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
