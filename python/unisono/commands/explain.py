# SPDX-License-Identifier: BSD-3-Clause
"""`unisono explain`: which algorithm serves a call, why, and what the others would cost."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from unisono.commands.given import require_algorithms
from unisono.commands.listing import algorithms_of
from unisono.commands.values import collected, graph_option, json_option
from unisono.common import files, operations, places, printing, schemas, units
from unisono.common.errors import FileError, UnisonoError, UsageError
from unisono.machine import catalogue
from unisono.reporting import explanation, recorded, report
from unisono.tables import decision_table, kept

_SWITCHES = ("oversubscribed", "ordered", "reproducible", "non_blocking")
_OF_QUESTIONS = ("layout", "names", "algorithm", "mpi", "topology", "graph", "machine", "program", *_SWITCHES)
_USUAL_GRAPH = "ring"  # as the compiled commands have it


@dataclass(frozen=True)
class Asked:
    """What the command line says."""

    words: tuple[str, ...]
    layout: str | None
    names: tuple[str, ...]
    algorithm: str | None
    mpi: str | None
    topology: str | None
    graph: str | None
    machine: str | None
    program: str | None
    region: str | None
    oversubscribed: bool
    ordered: bool
    reproducible: bool
    non_blocking: bool
    as_json: bool

    def forced(self, operation: str) -> str | None:
        """What --algorithm names, with its operation."""
        if self.algorithm and ":" not in self.algorithm:
            return f"{operation}:{self.algorithm}"
        return self.algorithm

    def question(self, operation: str, form: str | None, size: int) -> list[str]:
        """As the tool takes it."""
        words = ["--operation", operation, "--bytes", str(size)]
        machine = catalogue.resolve(self.machine) if self.machine else None
        given = {
            "layout": self.layout,
            "algorithm": self.forced(operation),
            "mpi": self.mpi,
            "topology": self.topology,
            "graph": self.graph or (_USUAL_GRAPH if operation in operations.OF_NEIGHBORS else None),
            "region": self.region,
            "program": self.program,
            "machine": machine,
        }
        for name, value in given.items():
            words += [f"--{name}", value] if value else []
        for name in self.names:
            words += ["--table", name]
        words += ["--persistent"] if form == "persistent" else []
        return words + [f"--{name.replace('_', '-')}" for name in _SWITCHES if getattr(self, name)]

    def require_about_file(self) -> None:
        """Refuses what makes sense in questions alone."""
        for name in _OF_QUESTIONS:
            if getattr(self, name):
                option = "table" if name == "names" else name.replace("_", "-")
                raise UsageError(f"--{option} asks about a layout, not about a file: leave it out")


class _ExplainCommand(click.Command):
    """Answers a job's command before the launcher's options are taken for its own."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        for position, word in enumerate([] if ctx.resilient_parsing else args):
            if _is_launcher(word) and not (position and args[position - 1].startswith("--")):
                raise _starts_a_program(word, args[position:])
        return super().parse_args(ctx, args)


@click.command(cls=_ExplainCommand)
@click.argument("words", metavar="[FILE] [OPERATION [SIZE]]", nargs=-1, required=True)
@click.option(
    "--layout",
    metavar="LAYOUT",
    help="Nodes and ranks: 8, 4x8, 3,5,8, 4x2x8 (4 nodes of 2 domains)  [default: 8 ranks on a node]",
)
@click.option(
    "--table", "names", metavar="FILE", multiple=True, help="Application table; may come several times."
)
@click.option(
    "--algorithm",
    metavar="NAME|LIST",
    help="Force one, 'ring(segment=64K)', or several as in `unisono run --algorithm`.",
)
@click.option(
    "--mpi",
    metavar="NAME",
    help="With what was learned, and what rules say, under this MPI: 'Open MPI 5.0.11'.",
)
@click.option("--topology", metavar="TOPOLOGY", help="Switches between the nodes: a file, or tree:4x8.")
@graph_option
@click.option(
    "--machine",
    metavar="NAME|FILE",
    help="Predict times for this machine, as `unisono predict` does.  [default: typical]",
)
@click.option("--program", metavar="NAME", help="Leave out what jobs of this program have died in.")
@click.option(
    "--region",
    metavar="NAME",
    help="In this region of the program, by its name; of a file only what is of this region.",
)
@click.option("--oversubscribed", is_flag=True, help="Ranks share cores.")
@click.option("--ordered", is_flag=True, help="The operator does not commute.")
@click.option("--reproducible", is_flag=True, help="Reductions are to keep one order.")
@click.option("--non-blocking", is_flag=True, help="The call does not block.")
@json_option()
@collected(Asked)
def command(asked: Asked) -> None:
    """Say which algorithm serves a call, why, what else was measured, and what is not legal.

    \b
      unisono explain allreduce 64K --layout 4x4 --table app.json
      unisono explain neighbor_allgather 64 --layout 4x4 --graph moore:2,1
      unisono explain report.json                 # what a run has decided
      unisono explain report.json allreduce 64K   # with all candidates, and what learning measured
      unisono explain report.json allreduce --region solve
      unisono explain app.json allreduce 64K      # the rules of a table

    Asked about an operation it answers what a run would do with the options that are set in this environment. A FILE is
    the report of a run, or a table. Without a SIZE all of a file are meant, in a question 8 bytes.
    """
    first = asked.words[0]
    if _is_program(first):
        raise _starts_a_program(first, [])
    is_file = "/" in first or "." in first or Path(first).is_file()
    words = asked.words[1:] if is_file else asked.words
    operation, form = _operation_and_form(words)
    size = _size(words)
    if not is_file:
        assert operation is not None
        asked = replace(asked, non_blocking=asked.non_blocking or form is not None)
        _answer(asked, operation, form, 8 if size is None else size)
        return
    asked.require_about_file()
    if _schema_of(Path(first)) == schemas.TABLE:
        _explain_table(first, operation, size, asked.region, asked.as_json)
    else:
        _explain_report(Path(first), operation, form, size, asked.region, asked.as_json)


def _is_launcher(word: str) -> bool:
    return Path(word).name.startswith(("mpirun", "mpiexec", "srun")) and Path(word).suffix != ".json"


def _starts_a_program(word: str, job: Sequence[str]) -> UsageError:
    meant = shlex.join(job) if len(job) > 1 else "mpirun -n 4 ./program"
    return UsageError(
        f"'{word}' starts a program, and nothing is run here. Run it first, and ask about its report:\n"
        f"  unisono run --report r.json {meant}\n"
        "  unisono explain r.json"
    )


def _is_program(word: str) -> bool:
    return Path(word).is_file() and os.access(word, os.X_OK) and Path(word).suffix not in (".json", ".html")


def _answer(asked: Asked, operation: str, form: str | None, size: int) -> None:
    """What a run would do."""
    require_algorithms(asked.forced(operation))
    if asked.names:
        decision_table.require(asked.names)  # a job would do without a table that is none
    asked, learned_under = _with_mpi(asked)
    found = explanation.ask(asked.question(operation, form, size))
    if asked.as_json:
        printing.print_json(found.as_json())
        return
    console = printing.console()
    explanation.render(found, console)
    if learned_under:
        console.print(escape(learned_under), soft_wrap=True)
    resolved = catalogue.resolve(asked.machine) if asked.machine else ""
    measured = catalogue.choices_text(Path(resolved) if resolved else None)
    if measured:
        console.print(escape(f"As measured on this machine, {measured}."), soft_wrap=True)


def _with_mpi(asked: Asked) -> tuple[Asked, str]:
    """With the MPI under which jobs have learned here last, where none is named, and what to say of that."""
    cache = places.cache()
    if asked.mpi or os.environ.get("UNISONO_CACHE") in ("none", "off", "") or not cache.is_dir():
        return asked, ""
    names = kept.mpis(cache)
    if not names:
        return asked, ""
    others = f" They have under {', '.join(names[1:])} too." if names[1:] else ""
    said = f"With what jobs have learned under {names[0]} ({cache}).{others} --mpi names another MPI."
    return replace(asked, mpi=names[0]), said


def _operation_and_form(words: tuple[str, ...]) -> tuple[str | None, str | None]:
    """`iallreduce` is an allreduce that does not block; without a form in its name it may have any."""
    if len(words) > 2:
        raise UsageError(f"'{words[2]}' means nothing here; write an operation and a size: allreduce 64K")
    if not words:
        return None, None
    operation, form = operations.operation_and_form(words[0]) or (words[0], "blocking")
    algorithms_of(operation)  # refuses what is no operation
    return operation, None if form == "blocking" else form


def _size(words: tuple[str, ...]) -> int | None:
    if len(words) < 2:
        return None
    size = units.bytes_from_text(words[1])
    if size is None:
        raise UsageError(f"'{words[1]}' is no size; write 4096, 64K or 1MiB")
    return size


def _schema_of(file: Path) -> str:
    read = files.read_json(file, "is neither a report nor a table")
    schema = read.get("schema") if isinstance(read, dict) else None
    if schema not in (schemas.TABLE, schemas.REPORT):
        raise FileError(f"{file} is neither a report nor a table of Unisono: its 'schema' says {schema!r}")
    return str(schema)


def _explain_table(
    file: str, operation: str | None, size: int | None, region: str | None, as_json: bool
) -> None:
    (table,) = decision_table.require((file,))
    table.rules = [
        (number, rule)
        for number, rule in table.rules
        if operation in (None, rule["operation"])
        and (size is None or decision_table.holds_size(rule, size))
        and (region is None or rule.get("region", region) == region)
    ]
    if as_json:
        printing.print_json([{"number": number, **rule} for number, rule in table.rules])
    else:
        decision_table.explain(table, printing.console())


def _explain_report(
    file: Path,
    operation: str | None,
    form: str | None,
    size: int | None,
    region: str | None,
    as_json: bool,
) -> None:
    loaded = report.load(file)
    if operation is None:
        if region is not None:
            raise UsageError(
                "--region of a report wants an operation: unisono explain FILE OPERATION --region NAME"
            )
        if as_json:
            printing.print_json(report.whole(lambda: loaded["classes"]))
        else:
            report.render(loaded, printing.console())
            printing.echo(f"unisono explain {file} OPERATION [SIZE] says what else could have served them.")
        return
    found = report.whole(lambda: explanation.of_report(loaded, operation, size, region, form))
    if not found:
        raise UnisonoError(_nothing_text(file, loaded, operation, form, size, region))
    if as_json:
        printing.print_json([entry.as_json() for entry in found])
        return
    console = printing.console()
    for entry in found:
        report.whole(partial(explanation.render, entry, console))


def _nothing_text(
    file: Path,
    loaded: dict[str, Any],
    operation: str,
    form: str | None,
    size: int | None,
    region: str | None,
) -> str:
    called = operations.called_as(operation, form or "blocking")
    calls = f"{file} has no calls of {called}" + ("" if size is None else f" of {units.bytes_text(size)}")
    if region is None:
        return calls
    names = ", ".join(recorded.regions(loaded, operation, size)) or "none"
    return f"{calls} that were learned in a region '{region}'; regions there are: {names}"
