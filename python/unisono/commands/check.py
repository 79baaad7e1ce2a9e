# SPDX-License-Identifier: BSD-3-Clause
"""`unisono check`: proves the algorithms."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import TextColumn

from unisono.commands.jobs import interruptible
from unisono.commands.values import json_option
from unisono.common import printing, tool, units
from unisono.common.errors import UnisonoError

_SHOWN_FAILURES = 20


@click.command()
@click.option("--operation", metavar="NAME", help="Only this operation's algorithms.")
@click.option("--algorithm", metavar="NAME", help="Only this algorithm.")
@click.option("--ranks", metavar="RANKS", help="Numbers of ranks: 1-33,64  [default: 1-33,64,100,127,128]")
@json_option("Print the summary as JSON.")
@click.pass_context
def command(
    ctx: click.Context, operation: str | None, algorithm: str | None, ranks: str | None, as_json: bool
) -> None:
    """Prove the algorithms correct, and print how many cases were proved.

    A proof runs all ranks of an algorithm on symbolic data. It shows that the result is what MPI asks for, that
    no rank waits for ever, and that sends and receives match. It also shows that shared slots have one writer,
    that operands are combined in a legal order, and that any call may follow any other. Ends with status 1 if a
    case fails.
    """
    question = ["check", "--progress"]
    for name, value in (("--operation", operation), ("--algorithm", algorithm), ("--ranks", ranks)):
        if value is not None:
            question += [name, value]
    with interruptible(lambda: "interrupted: nothing is kept of a proof that has not ended"):
        summary = _follow(tool.ask_lines(*question))
    if as_json:
        printing.print_json(summary)
    else:
        _print(summary, printing.console())
    ctx.exit(1 if summary["failures"] else 0)


def _follow(answers: Iterator[Any]) -> dict[str, Any]:
    """Shows the progress on a terminal; the last answer is the summary."""
    summary: dict[str, Any] | None = None
    with printing.progress(TextColumn("{task.fields[now]}")) as progress:
        task = progress.add_task("proving", total=None, now="")
        for answer in answers:
            if "progress" not in answer:
                summary = answer
                continue
            state = answer["progress"]
            failed = f", [bad]{state['failures']} failed[/bad]" if state["failures"] else ""
            now = f"{state['operation']} {state['algorithm']}{failed}"
            progress.update(task, completed=state["done"], total=state["total"], now=now)
    if summary is None:
        raise UnisonoError("unisono-tool check ended without a summary")
    return summary


def _print(summary: dict[str, Any], console: Console) -> None:
    failures = summary["failures"]
    if failures:
        made = printing.table("Failed", "operation", "algorithm", "case", "problem")
        for failure in failures[:_SHOWN_FAILURES]:
            where = (failure["operation"], failure["algorithm"])
            made.add_row(*where, escape(failure["case"]), escape(failure["problem"]))
        console.print(made)
        if len(failures) > _SHOWN_FAILURES:
            console.print(f"... and {len(failures) - _SHOWN_FAILURES} more (--json prints all)")
        console.print()
    proved = summary["cases"] - len(failures)
    console.print(
        f"{units.count_text(proved)} of {units.count_text(summary['cases'])} cases proved, "
        f"{summary['algorithms']} algorithms, {units.seconds_text(summary['seconds'])}"
    )
