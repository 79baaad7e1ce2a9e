# SPDX-License-Identifier: BSD-3-Clause
"""`unisono list`: the algorithms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from rich.markup import escape

from unisono.commands.hints import no_operation
from unisono.commands.values import json_option
from unisono.common import printing, source_names, tool, units
from unisono.common.errors import UsageError

_NO_LIMIT = 2**62  # and more bytes: whatever there is


@click.command()
@click.argument("operation", required=False)
@click.option("--operation", "named", metavar="NAME", help="The same as OPERATION.")
@click.option("--long", "is_long", is_flag=True, help="All about every algorithm.")
@json_option("Print the list as JSON.")
def command(operation: str | None, named: str | None, is_long: bool, as_json: bool) -> None:
    """List the algorithms; those of one OPERATION (bcast, allreduce, ...), or with --long all, with what each does, when it may run,
    its parameters, and where it comes from."""
    if operation and named and operation != named:
        raise UsageError(f"two operations are named, {operation} and {named}: one at a time, or none for all")
    operation = operation or named
    chosen = algorithms_of(operation)
    if as_json:
        printing.print_json(chosen)
        return
    console = printing.console()
    if operation is None and not is_long:
        made = printing.table(
            None,
            *("operation", "algorithm", "group"),
            whole=("operation", "algorithm"),
            give_way=("group",),
        )
        for algorithm in chosen:
            made.add_row(algorithm["operation"], algorithm["name"], algorithm["group"])
        console.print(made)
        console.print("`unisono list OPERATION`, or --long, says what each does, and when it may run.")
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
        "in the sources: ": source_names.text(algorithm),
    }
    for name, text in lines.items():
        if text:
            yield printing.indented(escape(f"{name}{text}"), 4)
    for parameter in algorithm["parameters"]:
        yield printing.indented(escape(f"{parameter['name']}={parameter_about(parameter)}"), 6)


def parameter_about(parameter: dict[str, Any]) -> str:
    """8 KiB (0 B to 1 GiB): bytes of a segment."""
    low, high, default = (
        _value_text(parameter[name], parameter["unit"]) for name in ("low", "high", "default")
    )
    return f"{default} ({low} to {high}): {parameter['help']}"


def _value_text(value: int, unit: str) -> str:
    if unit != "bytes":
        return str(value)
    return "no limit" if value >= _NO_LIMIT else units.bytes_text(value)


def algorithms_of(operation: str | None) -> list[dict[str, Any]]:
    """The algorithms of an operation, or all."""
    algorithms = tool.algorithms()
    if operation is None:
        return algorithms
    chosen = [algorithm for algorithm in algorithms if algorithm["operation"] == operation]
    if not chosen:
        raise no_operation(operation, dict.fromkeys(algorithm["operation"] for algorithm in algorithms))
    return chosen
