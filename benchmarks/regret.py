#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What decisions lose against the best algorithm of an exhaustive search, and what tuning takes (A8, B2): rules, model, tuned table.

    .venv/bin/python benchmarks/regret.py --mpi openmpi5                       every layout, into reports/regret.md and .json
    .venv/bin/python benchmarks/regret.py --layout 2 --layout 4x4 --operation bcast,allreduce

Layouts: 2 ranks, 8 ranks on this machine's cores, and emulated nodes of 1 Gbit/s (4x2, 4x4, 3+5+8; they need
root). In each the machine is measured (`unisono machine measure`). Then every cell is tuned as `unisono tune`
does it, and searched exhaustively. In a further job, which runs by the tuned table, these take turns:
- native;
- what the table decides, as a program gets it, looking it up included;
- the search's winner;
- what the model predicts to be fastest;
- what the rules choose without a table.

Losses are against the search's winner in that alternation, which may be beaten. `slower` are cells in which
the tuned decision takes more than 1.02 times as long as native, with the whole 95 % interval. What tuning
takes is given as a part of what the search takes, in three ways:
- of all;
- of all where the start of a job counts for both;
- of the looks alone, without the last comparisons, which both make.

Layouts that are not measured again are kept.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import side_by_side
from side_by_side import ROOT

# isort: split
import mpis
from harness import Cluster
from lists import AddUp
from mpis import Layout, Mpi
from rich.progress import Progress
from unisono.common import files, operations, printing, tool, units
from unisono.common.operations import ON_ONE_VECTOR, REDUCTIONS, WITHOUT_SIZE
from unisono.machine import catalogue, measuring
from unisono.machine.predictions import Predictions, predicted_us
from unisono.measuring import candidates
from unisono.measuring.candidates import parse
from unisono.measuring.measurer import JobError, Measurer, Place
from unisono.tables import decision_table
from unisono.tuning.proof import Compared, in_turn, loss_text, percent, times_taken
from unisono.tuning.results import Outcome, limits_of, rules
from unisono.tuning.search_space import ranges_of
from unisono.tuning.searching import Tuner

KIB, MIB = 1 << 10, 1 << 20
SIZES = (64, 4 * KIB, 64 * KIB, MIB)
OPERATIONS = "barrier,bcast,reduce,allreduce,gather,scatter,allgather,alltoall,reduce_scatter_block,scan"
LAYOUTS = {"2": Layout((2,)), "8": Layout((8,))} | {
    text: Layout(ranks) for text, ranks in (("4x2", (2,) * 4), ("4x4", (4,) * 4), ("3+5+8", (3, 5, 8)))
}
RATE = "1gbit"
# What ranks hold of all blocks together, at most; larger cells are left out.
MOST_BYTES, MOST_BYTES_BETWEEN_NODES = 16 * MIB, 2 * MIB
CELL_S = 1.0  # what the search may take for comparing its best, and tuning for a cell, where nothing else is asked for
COMPARISON_S = 0.6  # for what takes turns in the end
LATER = 3  # attempts at a cell whose job died
KINDS = ("tuned", "model", "rules")


@dataclass(frozen=True)
class Measured:
    """One layout. `machine_s`: seconds for measuring the machine; `start_s`: until a job can be asked."""

    layout: str
    mpi: str
    date: str
    machine_s: float
    cells: list[Compared]
    troubles: list[str]
    start_s: float = 0.0


class Site:
    """One layout of one MPI, where jobs are started."""

    def __init__(self, mpi: Mpi, layout: str, folder: Path) -> None:
        self.mpi, self.layout, self.folder = mpi, LAYOUTS[layout], folder
        nodes = len(self.layout.ranks_per_node)
        self.cluster = Cluster(folder / "cluster", nodes, rate=RATE) if nodes > 1 else None
        self.start_s = 0.0  # that the last job took until it could be asked

    def job(self, options: Sequence[str], settings: Mapping[str, str]) -> Measurer:
        layout = self.layout if self.cluster else None
        words = side_by_side.words(self.mpi, self.layout.ranks, options, layout, settings)
        start = time.monotonic()
        job = Measurer([*(self.cluster.on_head([]) if self.cluster else []), *words])
        self.start_s = time.monotonic() - start
        return job

    def serving(self, plan: Sequence[tuple[str, int]], settings: Mapping[str, str]) -> Measurer:
        """A job that measures what it is asked for, of this plan."""
        return self.job(["--serve", "--sizes", ",".join(str(size) for _, size in plan)], settings)

    def down(self) -> None:
        if self.cluster:
            self.cluster.down()

    def plan(self, operations: Sequence[str], sizes: Sequence[int]) -> list[tuple[str, int]]:
        most = MOST_BYTES_BETWEEN_NODES if self.cluster else MOST_BYTES
        return [
            (operation, size)
            for operation in operations
            for size in (sizes if operation != "barrier" else (0,))
            if operation not in REDUCTIONS or size % 8 == 0
            if size * (1 if operation in ON_ONE_VECTOR else self.layout.ranks) <= most
        ]


def found(
    site: Site,
    plan: Sequence[tuple[str, int]],
    machine: Path,
    cell_s: float,
    progress: Progress,
    troubles: list[str],
) -> tuple[list[tuple[Outcome, Outcome]], Place]:
    """Tune and search each cell: pairs of outcomes, and the place. A candidate that the job dies of is left out."""
    algorithms = tool.algorithms()
    tuner, search = Tuner(algorithms), Tuner(algorithms, is_exhaustive=True)
    task = progress.add_task("tuning and searching", total=len(plan))
    outcomes: list[tuple[Outcome, Outcome]] = []
    attempts = 0
    place: Place | None = None
    while len(outcomes) < len(plan):
        try:
            with site.serving(plan, {}) as job:
                place = job.place
                tuner.expected = Predictions(str(machine), place.predicted_layout, plan)
                tuner.ranges = ranges_of(catalogue.findings(machine), place.nodes)
                for operation, size in plan[len(outcomes) :]:
                    progress.update(task, description=f"{operation} {units.bytes_text(size)}")
                    tuned = tuner.tune(job, operation, size, cell_s)
                    outcomes.append((tuned, search.tune(job, operation, size, CELL_S)))
                    progress.advance(task)
                    attempts = 0
        except JobError as error:
            attempts += 1
            if attempts == LATER or not error.candidates:
                raise
            operation, size = plan[len(outcomes)]
            bad = {(operation, name) for name in error.candidates}
            tuner.failed |= bad
            search.failed |= bad
            troubles.append(f"{operation}, {units.bytes_text(size)}: {error}; left out: {len(bad)} settings")
    assert place is not None
    return outcomes, place


def model_choice(machine: Path, layout: str, operation: str, size: int) -> str | None:
    """What is predicted to be the fastest of all algorithms, with several values of their parameters."""
    varied = candidates.varied(tool.algorithms(), [operation])
    settings = [parse(name.split(":", 1)[1]) for name in varied]
    times = predicted_us(str(machine), layout, operation, size, settings)
    timed = [(us, str(setting)) for us, setting in zip(times, settings, strict=True) if us is not None]
    return min(timed)[1] if timed else None


def measure(mpi: Mpi, layout: str, arguments: argparse.Namespace, progress: Progress) -> Iterator[Measured]:
    """Each operation as it is done, with those before it."""
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        site = Site(mpi, layout, folder)
        stack.callback(site.down)
        stack.enter_context(side_by_side.environment(mpis.launcher_environment(mpi)))
        date, start = time.strftime("%Y-%m-%d %H:%M"), time.monotonic()
        with site.job(measuring.PROGRAM_OPTIONS, measuring.SETTINGS) as job:
            document = measuring.describe(
                job, measuring.read_base("typical"), arguments.budget, {}, lambda _: None
            )
            library = job.place.mpi
        machine = catalogue.write(document | {"name": "measured"}, folder / "machine.json")
        measured = Measured(layout, library, date, time.monotonic() - start, [], [])
        for operation in arguments.operation.split(","):
            if plan := site.plan([operation], arguments.size):
                outcomes, place = found(site, plan, machine, arguments.cell, progress, measured.troubles)
                measured.cells.extend(compared(site, plan, machine, outcomes, place))
                measured = replace(measured, start_s=site.start_s)
                yield measured


def compared(
    site: Site,
    plan: Sequence[tuple[str, int]],
    machine: Path,
    outcomes: Sequence[tuple[Outcome, Outcome]],
    place: Place,
) -> Iterator[Compared]:
    """In a job that runs by what tuning found, all decisions in turn."""
    table = decision_table.document(
        rules([tuned for tuned, _ in outcomes], place, limits_of(tool.algorithms())), "benchmarks/regret.py"
    )
    file = site.folder / "table.json"
    files.write_whole(file, decision_table.as_text(table))
    with site.serving(plan, {"UNISONO_TABLE": str(file), "UNISONO_STARTUP_TEST": "0"}) as job:
        for tuned, searched in outcomes:
            model = model_choice(machine, place.predicted_layout, tuned.operation, tuned.bytes)
            others = {"model": model, "rules": tuned.cell.algorithm}
            yield in_turn(job, tuned, searched, COMPARISON_S, others)


def summary(measured: Sequence[Measured]) -> Iterator[str]:
    yield "| layout | MPI | cells | tuned | model | rules | slower than native | tuning took | of the search | with a job's start | looks alone |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    parts = [(m.layout, m.mpi, m.cells, m.start_s) for m in measured]
    if len(measured) > 1:
        parts.append(("all", "", [c for m in measured for c in m.cells], sum(m.start_s for m in measured)))
    for layout, mpi, cells, start_s in parts:
        words = [layout, mpi, str(len(cells))]
        for kind in KINDS:
            words.append(loss_text(cells, kind))
        words += [str(sum(c.is_slower for c in cells)), *times_taken(cells, start_s)]
        yield f"| {' | '.join(words)} |"


def page(measured: Sequence[Measured]) -> Iterator[str]:
    yield "# Regret"
    yield ""
    yield "Made by `benchmarks/regret.py`. Losses against the winner of an exhaustive search, all in turn in one run: geometric means over cells with 95 % intervals (cells drawn anew). `tuned`: what a program gets that runs by the table of"
    yield "`unisono tune`; `model`: what is predicted to be fastest with the machine measured before; `rules`: the choice without a table. Slower than native: tuned decisions above 1.02 times native with the whole interval."
    yield ""
    yield from summary(measured)
    for m in measured:
        yield ""
        yield f"## {m.layout}, {m.mpi}, {m.date}"
        yield ""
        looked = [sum(c.looked[i] for c in m.cells) for i in (0, 1)]
        yield f"Settings looked at: {looked[0]}, by the search {looked[1]}. The machine was measured in {m.machine_s:.0f} s."
        for trouble in m.troubles:
            yield f"- {trouble}"
        yield ""
        yield "| operation | bytes | native | search | | tuned | | of native | model | | rules | |"
        yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
        for c in m.cells:
            words = [c.operation, units.size_text(c.operation, c.bytes)]
            words += [units.seconds_text(c.times["native"] or 0)]
            words += [f"`{c.choices['search']}`", units.seconds_text(c.times["search"] or np.nan)]
            ratio, low, high = c.slowdown
            for kind in KINDS:
                loss = c.loss(kind)
                words += [f"`{c.choices[kind]}`", percent(loss) if loss is not None else ""]
                if kind == "tuned":
                    words.append(
                        f"{ratio:.2f} ({low:.2f} to {high:.2f}){' **slower**' if c.is_slower else ''}"
                    )
            yield f"| {' | '.join(words)} |"


def kept(path: Path) -> list[Measured]:
    """What an earlier run has left."""
    if not path.exists():
        return []
    return [
        Measured(**entry | {"cells": [Compared(**cell) for cell in entry["cells"]]})
        for entry in json.loads(path.read_text())
    ]


def merged(measured: Sequence[Measured], new: Measured) -> list[Measured]:
    """Cells that were measured again in the place of older ones, all others kept."""
    before = [m for m in measured if (m.layout, m.mpi) == (new.layout, new.mpi)]
    again = {(c.operation, c.bytes) for c in new.cells}
    older = [c for m in before for c in m.cells if (c.operation, c.bytes) not in again]
    cells = sorted([*older, *new.cells], key=lambda c: (operations.OPERATIONS.index(c.operation), c.bytes))
    others = [m for m in measured if (m.layout, m.mpi) != (new.layout, new.mpi)]
    whole = [*others, replace(new, cells=cells)]
    return sorted(whole, key=lambda m: (list(LAYOUTS).index(m.layout), m.mpi))


def write(output: Path, measured: Sequence[Measured]) -> None:
    files.write_whole(output.with_suffix(".json"), json.dumps([asdict(m) for m in measured], indent=1) + "\n")
    files.write_whole(output, "\n".join(page(measured)) + "\n")


def byte_counts(text: str) -> list[int]:
    counts = [units.bytes_from_text(word) for word in text.split(",")]
    if None in counts:
        raise argparse.ArgumentTypeError(f"{text} is no list of sizes such as 64,4K,1M")
    return [count for count in counts if count is not None]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mpi", choices=[m.name for m in mpis.ALL], default="openmpi5")
    parser.add_argument("--layout", action="append", choices=list(LAYOUTS), help="default: all")
    parser.add_argument("--operation", action=AddUp, default=OPERATIONS, help=f"default: {OPERATIONS}")
    sizes = ",".join(map(units.bytes_text, SIZES))
    parser.add_argument(
        "--size",
        action=AddUp,
        type=byte_counts,
        default=list(SIZES),
        metavar="SIZES",
        help=f"bytes, or with K and M (default {sizes})",
    )
    parser.add_argument(
        "--budget", type=float, default=20, help="seconds for measuring the machine (default 20)"
    )
    parser.add_argument(
        "--cell",
        type=float,
        default=CELL_S,
        help=f"seconds in which tuning tunes a cell (default {CELL_S:g})",
    )
    parser.add_argument("--output", type=Path, default=ROOT / "reports/regret.md", help="the page")
    arguments = parser.parse_args()
    for operation in arguments.operation.split(","):
        if operation not in OPERATIONS or operation in WITHOUT_SIZE:
            parser.error(f"{operation} is no operation that is tuned by size")
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    measured = kept(arguments.output.with_suffix(".json"))
    console = printing.console(sys.stderr)
    for layout in arguments.layout or list(LAYOUTS):
        with Progress(console=console, transient=True, disable=not sys.stderr.isatty()) as progress:
            for new in measure(mpis.BY_NAME[arguments.mpi], layout, arguments, progress):
                write(arguments.output, merged(measured, new))
        measured = merged(measured, new)
        print("\n".join(summary([next(m for m in measured if m.layout == layout and m.mpi == new.mpi)])))
    print(f"report: {arguments.output}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
