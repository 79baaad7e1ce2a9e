# SPDX-License-Identifier: BSD-3-Clause
"""`unisono machine`: what messages and shared memory cost on a machine, measured, shown and listed."""

from __future__ import annotations

import shlex
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.markup import escape

from unisono.commands import noise
from unisono.commands.given import given_words
from unisono.commands.hints import HintingGroup
from unisono.commands.jobs import (
    JobCommand,
    budget_option,
    interruptible,
    launcher_argument,
    mpicc_option,
    quiet_settings,
)
from unisono.commands.values import budget_in_seconds, collected, json_option, picture_name, plot_option
from unisono.common import files, printing, schemas, tool, units
from unisono.common.budget import Budget
from unisono.common.errors import UnisonoError, UsageError
from unisono.machine import catalogue, measuring
from unisono.machine.costs import Question
from unisono.measuring import bench
from unisono.measuring.measurer import Measurer
from unisono.reporting import machines

_SHARE_OF_COLLECTIVES = 0.25  # of the time, with what is predicted of what was measured
_SHARE_OF_FITTING = 0.1  # the latter alone


@click.group(cls=HintingGroup)
def command() -> None:
    """Measure what messages and shared memory cost on this machine; show and list machines.

    A machine is what `unisono predict` predicts for, and what tuning and learning go by. It is a file that describes it, or
    one that is built in. docs/reference/machine-format.md says what stands in such a file.
    """


@dataclass(frozen=True)
class Asked:
    """What the command line says of a machine that is to be measured."""

    output: Path | None
    name: str | None
    budget: str
    base: str
    noise: bool
    plot: Path | None
    as_json: bool
    mpicc: Path | None
    launcher: tuple[str, ...]


@command.command(
    cls=JobCommand, context_settings={"allow_interspersed_args": False}, options_metavar="[OPTIONS] [--]"
)
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write  [default: NAME.json in the user's cache directory].",
)
@click.option("--name", help="The machine's name  [default: the host's].")
@budget_option()
@click.option(
    "--base",
    metavar="NAME|FILE",
    default=catalogue.STANDARD,
    show_default=True,
    help="The machine that stands for what is not measured.",
)
@click.option(
    "--noise",
    is_flag=True,
    help="Record what takes cores away instead, for 10 s on every rank's core: for `unisono simulate --noise recorded:FILE`.",
)
@plot_option("Draw the curves into this .svg or .png file.")
@json_option("Print the machine's file as JSON.")
@mpicc_option
@launcher_argument
@collected(Asked)
def measure(asked: Asked) -> None:
    """Measure this machine, and write a file that describes it.

    Messages inside and between nodes and the operations on shared memory are measured one by one. The file is for
    predictions, learning and tuning, which find it by the host's name:

    \b
      unisono machine measure -- mpirun -n 8
      unisono machine measure --plot machine.svg -- mpirun -n 16 --map-by node
      unisono predict allreduce --layout 64x8 --machine $(hostname -s)
      unisono machine measure --noise -o noise.json -- mpirun -n 2

    LAUNCHER is what would start a program, without the program. Two ranks of a node are enough for shared memory and messages
    inside it; messages between nodes need ranks on two nodes.
    """
    measure_here(asked, ["unisono", "machine", "measure"])


def measure_here(asked: Asked, command: list[str]) -> None:
    """Measures as `command` is asked to."""
    budget = Budget(budget_in_seconds(asked.budget))  # from here on
    if asked.noise:
        if asked.plot is not None or asked.name is not None:
            raise UsageError("--noise writes a recording, and no machine: it goes without --name and --plot")
        noise.measure(asked.launcher, asked.output, budget, asked.mpicc, asked.as_json)
        return
    settings = quiet_settings()
    picture_name(asked.plot)
    command_line = shlex.join([*command, *given_words(click.get_current_context()), "--", *asked.launcher])
    if asked.output is not None:
        files.require_own(asked.output, schemas.MACHINE)
    if asked.name is not None:
        catalogue.require_name(asked.name)
    files.require_outputs({"--output": asked.output, "--plot": asked.plot})
    if asked.output is None:
        catalogue.require_writable_folder()
    with interruptible(lambda: "interrupted: of a machine that is half measured nothing is kept"):
        words = bench.command_line(
            asked.launcher, settings | measuring.SETTINGS, measuring.PROGRAM_OPTIONS, asked.mpicc
        )
        document = _measured(words, measuring.read_base(asked.base), budget, command_line)
    document["name"] = asked.name or catalogue.own_name()
    written = catalogue.write(document, asked.output)
    tool.ask("machine", "--machine", str(written))  # it is what the tool reads
    if asked.as_json:
        printing.print_json(document)
    else:
        machines.render(document, printing.console())
    short = str(asked.output or document["name"])
    printing.echo(f"machine: {written}   (use it: unisono predict ... --machine {short})", err=asked.as_json)
    if asked.plot is not None:
        from unisono.reporting.plots import machine_curves

        machine_curves(document, asked.plot)


def _measured(words: list[str], base: Mapping[str, Any], budget: Budget, command_line: str) -> dict[str, Any]:
    """The machine's file, but for its name, from the job that `words` starts."""
    start = time.monotonic()
    with Measurer(words, budget=budget) as job, printing.progress() as progress:
        questions = measuring.questions_for(job.place)
        if not questions:
            raise UnisonoError("one rank has nobody to talk to; measure with two at least: mpirun -n 2")
        task = progress.add_task("measuring", total=len(questions))

        def show(question: Question) -> None:
            size = units.bytes_text(question.bytes)
            done = questions.index(question) + 1
            progress.update(task, completed=done, description=f"{question.group}: {question.what} {size}")

        share = 1 - (_SHARE_OF_COLLECTIVES if job.place.nodes == 1 else _SHARE_OF_FITTING)
        facts = {"host": socket.gethostname(), "command": command_line}
        document = measuring.describe(job, base, share * budget.left_s, facts, show)
        collectives = measuring.collectives(job, budget)
    document["measured"]["seconds"] = round(time.monotonic() - start)
    document["findings"]["collectives"] = collectives
    return document


@command.command()
@click.argument("machine", metavar="NAME|FILE")
@json_option("Print all parameters as JSON, as a machine's file has them.")
def show(machine: str, as_json: bool) -> None:
    """Print the parameters of a machine: one that is built in, one that was measured, or a file.

    \b
      unisono machine show typical
      unisono machine show $(hostname -s)
      unisono machine show typical --json > mine.json   # to start from
    """
    document = catalogue.description(machine)
    if as_json:
        printing.print_json(document)
    else:
        machines.render(document, printing.console())


@command.command("list")
@json_option()
def list_machines(as_json: bool) -> None:
    """List the machines that have a name: those built in, and those measured and kept in the user's cache directory."""
    found = catalogue.entries()
    own = catalogue.own_name()
    if as_json:
        printing.print_json([_as_json(entry, own) for entry in found])
        return
    made = printing.table(
        None,
        *("machine", "measured", "MPI", "layout", "place"),
        whole=("machine",),
        give_way=("place", "layout"),
    )
    for entry in found:
        facts = [entry.fact("date") or entry.problem, entry.fact("mpi") or "", entry.fact("layout") or ""]
        name = f"{entry.name} (this host)" if entry.file and entry.name == own else entry.name
        made.add_row(*map(escape, (name, *facts, entry.place)))
    printing.console().print(made)
    printing.echo("unisono machine show NAME prints what is known of one.")


def _as_json(entry: catalogue.Entry, own: str) -> dict[str, Any]:
    return {
        "name": entry.name,
        "file": str(entry.file) if entry.file else None,
        "is_this_host": entry.file is not None and entry.name == own,
        **{name: entry.fact(name) for name in ("date", "host", "processor", "mpi", "layout")},
        "is_steady": bool(entry.measured.get("is_steady", True)),
        "problem": entry.problem or None,
    }
