# SPDX-License-Identifier: BSD-3-Clause
"""`unisono crashes`: algorithms in which jobs have died."""

from __future__ import annotations

from typing import Any

import click
from rich.markup import escape

from unisono.commands.values import json_option
from unisono.common import printing, tool, units
from unisono.common.errors import UnisonoError


@click.command()
@click.argument("program", required=False)
@click.option("--forget", is_flag=True, help="Forget them, so that they may be used again.")
@json_option()
def command(program: str | None, forget: bool, as_json: bool) -> None:
    """Show the algorithms in which a signal has ended jobs, and which later jobs of the same program leave out.

    \b
      unisono crashes                    # of all programs
      unisono crashes --forget a.out     # a.out may use them again

    PROGRAM is the name under which the table has it. docs/guide/verify.md says what is recorded, and when it holds.
    """
    words = ["--program", program] if program else []
    found = tool.ask("crashes", *words, *(["--forget"] if forget else []))
    if found.get("problem"):
        raise UnisonoError(found["problem"])
    if as_json:
        printing.print_json(found)
    elif forget:
        printing.echo(f"{found['forgotten']} forgotten")
    else:
        _print(found)


def _print(found: dict[str, Any]) -> None:
    console = printing.console()
    if found["malformed"]:
        console.print(
            f"{found['malformed']} lines of {escape(found['file'])} are no records.", soft_wrap=True
        )
    if not found["crashes"]:
        console.print("No job is known to have died in an algorithm.")
        return
    made = printing.table(
        None,
        *("program", "algorithm", "bytes", "died of", "on", "rank", "MPI", "left out"),
        right=("bytes",),
        give_way=("on", "rank", "MPI"),
    )
    for crash in found["crashes"]:
        made.add_row(
            escape(crash["program"]),
            escape(f"{crash['operation']}:{crash['algorithm']}"),
            units.bytes_text(crash["bytes_high"]) if crash["bytes_high"] > 0 else "",
            f"{crash['signal']} {crash['date']}",
            escape(crash["host"]),
            f"{crash['rank']} of {crash['ranks']}",
            escape(crash["mpi"]),
            "yes" if crash["holds_here"] else "not here",
        )
    console.print(made)
