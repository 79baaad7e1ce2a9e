#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What off-line tuning takes and loses against an exhaustive search (A8): both tune the same cells, then their winners and native alternate.

.venv/bin/python benchmarks/tuning.py --mpi mpich5 --ranks 2 --operation bcast,allreduce     into reports/tuning.md
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import side_by_side
from side_by_side import ROOT

# isort: split
import mpis
from rich.progress import Progress
from unisono import bench, tables, tool
from unisono.measuring import Measurer
from unisono.tuning import REDUCTIONS, WITHOUT_SIZE, Outcome, Tuner

KIB, MIB = 1 << 10, 1 << 20
SIZES = (64, 4 * KIB, 64 * KIB, MIB)
QUICK_CELL_S = 1.0  # what tuning may take for a cell; the search takes what it needs


@dataclass(frozen=True)
class Compared:
    """One cell: what both found, and how both did in turn (seconds a call)."""

    tuned: Outcome
    searched: Outcome
    tuned_s: float
    searched_s: float

    @property
    def loss(self) -> float:
        """Of the tuned winner against the search's; negative where that one was luck."""
        return self.tuned_s / self.searched_s - 1


def compare(job: Measurer, tuned: Outcome, searched: Outcome, seconds: float) -> Compared:
    names = [outcome.winner() for outcome in (tuned, searched)]
    listed = [name for name in dict.fromkeys(names) if name != "native"]
    cell = job.compare(tuned.operation, tuned.bytes, listed, seconds)
    times = {cell.algorithm: cell.unisono_s, "native": cell.native_s}
    times |= {c.name: c.seconds for c in cell.candidates}
    return Compared(tuned, searched, *(float(times[name] or np.nan) for name in names))


def page(compared: list[Compared], place: str) -> Iterator[str]:
    took = [sum(getattr(c, kind).seconds for c in compared) for kind in ("tuned", "searched")]
    looked = [sum(getattr(c, kind).looked for c in compared) for kind in ("tuned", "searched")]
    mean = float(np.exp(np.mean(np.log1p([c.loss for c in compared]))) - 1)
    yield "# Tuning against an exhaustive search"
    yield ""
    yield f"{place}. {len(compared)} cells: {took[0]:.1f} s against {took[1]:.1f} s ({100 * took[0] / took[1]:.1f} %), {looked[0]} settings looked at against {looked[1]}."
    yield f"Loss (winners in turn, medians): {100 * mean:.1f} % in the geometric mean, {100 * max(c.loss for c in compared):.1f} % at most."
    yield ""
    yield "| operation | bytes | tuned | | search | | loss | tuned in | searched in |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for c in compared:
        words = [c.tuned.operation, tables.bytes_text(c.tuned.bytes)]
        words += [f"`{c.tuned.winner()}`", tables.seconds_text(c.tuned_s)]
        words += [f"`{c.searched.winner()}`", tables.seconds_text(c.searched_s), f"{100 * c.loss:.1f} %"]
        words += [f"{c.tuned.seconds:.1f} s", f"{c.searched.seconds:.1f} s"]
        yield f"| {' | '.join(words)} |"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mpi", choices=[m.name for m in mpis.ALL], default="mpich5")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--operation", default="bcast,allreduce,allgather,alltoall")
    parser.add_argument("--output", type=Path, default=ROOT / "reports/tuning.md", help="the page")
    arguments = parser.parse_args()
    cells = [
        (operation, size)
        for operation in arguments.operation.split(",")
        for size in SIZES
        if operation in bench.OPERATIONS and operation not in (*WITHOUT_SIZE, "barrier")
        if operation not in REDUCTIONS or size % 8 == 0
    ]
    if not cells:
        parser.error("none of the operations is tuned by size")
    options = ["--serve", "--sizes", ",".join(map(str, SIZES))]
    words = side_by_side.words(mpis.BY_NAME[arguments.mpi], arguments.ranks, options)
    tuner, search = Tuner(tool.algorithms()), Tuner(tool.algorithms(), is_exhaustive=True)
    compared: list[Compared] = []
    environment = mpis.launcher_environment(mpis.BY_NAME[arguments.mpi])
    with (
        Progress(
            console=tables.console(sys.stderr), transient=True, disable=not sys.stderr.isatty()
        ) as progress,
        side_by_side.environment(environment),
        Measurer(words) as job,
    ):
        start = time.strftime("%Y-%m-%d %H:%M")
        for operation, size in progress.track(cells):
            tuned = tuner.tune(job, operation, size, QUICK_CELL_S)
            searched = search.tune(job, operation, size, QUICK_CELL_S)
            compared.append(compare(job, tuned, searched, QUICK_CELL_S))
        place = f"{job.place.mpi}, {job.place.layout}, {start}"
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text("\n".join(page(compared, place)) + "\n")
    print(arguments.output.read_text())
    return 0


if __name__ == "__main__":
    sys.exit(main())
