#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The repository's figure: for each operation and size the fastest of all algorithms, Unisono's own choice, and native, alternating in one run.

    make repository                                          every layout under one MPI, into reports/repository.md, .json, .svg
    .venv/bin/python benchmarks/repository.py --layout pair --mpi openmpi5

Layouts: pair (2 ranks, a core each), crowd (8 ranks that share the cores), nodes (4 emulated nodes of 4
ranks, 1 Gbit/s; needs root). Every algorithm is tried with several values of its parameters. The two fastest
take part in the alternation with native and Unisono's choice, so that no figure is what it was picked by.
Results of layouts that are not measured again are kept.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import side_by_side
from side_by_side import ROOT

# isort: split
import mpis
from harness import Cluster
from mpis import Layout, Mpi
from rich.progress import Progress
from unisono.common import printing, tool, units
from unisono.common.operations import ON_ONE_VECTOR, OPERATIONS
from unisono.measuring import bench, candidates
from unisono.reporting import plots

KIB, MIB = 1 << 10, 1 << 20
SIZES = (8, 256, 4 * KIB, 64 * KIB, MIB, 4 * MIB)
# What ranks hold of all blocks together, at most: larger blocks are left out.
MOST_BYTES = {"pair": 64 * MIB, "crowd": 32 * MIB, "nodes": 4 * MIB}
RANKS = {"pair": 2, "crowd": 8, "nodes": 16}
NODES = Layout((4, 4, 4, 4))
RATE = "1gbit"
TITLES = {
    "pair": "2 ranks, a core each",
    "crowd": "8 ranks share 2 cores",
    "nodes": "4 emulated nodes of 4 ranks, 1 Gbit/s",
}


@dataclass(frozen=True)
class Measured:
    layout: str
    mpi: str
    cells: list[bench.Cell]


def sizes_of(operation: str, layout: str) -> list[int]:
    blocks = 1 if operation in ON_ONE_VECTOR else RANKS[layout]
    return [size for size in SIZES if size * blocks <= MOST_BYTES[layout]]


def measure(arguments: argparse.Namespace, layout: str, mpi: Mpi, progress: Progress) -> Measured:
    """All operations, each in a job of its own: one that fails takes no other with it."""
    algorithms = tool.algorithms()
    cells: list[bench.Cell] = []
    with contextlib.ExitStack() as stack:
        cluster = None
        if layout == "nodes":
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            cluster = Cluster(Path(folder) / "cluster", 4, rate=RATE)
            stack.callback(cluster.down)
        for operation in progress.track(arguments.operation, description=f"{layout}, {mpi.name}"):
            options = ["--operations", operation, "--finalists", "2"]
            options += ["--sizes", ",".join(map(str, sizes_of(operation, layout)))]
            options += ["--samples", str(arguments.samples), "--seconds", str(arguments.seconds)]
            options += ["--candidates", ";".join(candidates.varied(algorithms, [operation]))]
            words = side_by_side.words(mpi, RANKS[layout], options, NODES if cluster else None)
            found, status = side_by_side.measure(mpi, words, arguments.timeout, lambda _: None, cluster)
            cells += found
            if status != 0:
                print(f"{layout}, {mpi.name}, {operation}: ended with status {status}", file=sys.stderr)
    return Measured(layout, mpi.name, cells)


def kept(path: Path) -> list[Measured]:
    """What an earlier run has left."""
    if not path.exists():
        return []
    return [
        Measured(entry["layout"], entry["mpi"], [bench.from_row(cell) for cell in entry["cells"]])
        for entry in json.loads(path.read_text())
    ]


def page(measured: list[Measured]) -> Iterator[str]:
    yield "# The repository: best algorithm against native"
    yield ""
    yield "Made by `make repository`. Native, Unisono's own choice and the two fastest of all algorithms alternate in one run; times are medians of"
    yield "the longest rank, a call, with the 95 % bootstrap interval of the ratio of medians to native. `regret`: own choice over the fastest, 1 is none."
    for m in measured:
        yield ""
        yield f"## {TITLES[m.layout]}, {m.mpi}"
        yield ""
        regrets = [c.unisono_s / min(c.unisono_s, c.best.seconds) for c in m.cells if c.best]
        if regrets:
            mean = 1.0
            for regret in regrets:
                mean *= regret ** (1 / len(regrets))
            yield f"{len(m.cells)} cells; geometric mean of own choice over native {bench.geometric_mean(m.cells):.2f}, regret {mean:.2f}."
            yield ""
        yield "| operation | bytes | native | own choice | | over native | fastest | | over native | interval | regret |"
        yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
        for c in m.cells:
            size = units.size_text(c.operation, c.bytes)
            words = [c.operation, size, units.seconds_text(c.native_s), f"`{c.algorithm}`"]
            words += [units.seconds_text(c.unisono_s), f"{c.speedup:.2f}{'' if c.is_same else ' WRONG'}"]
            if c.best is None or c.best.seconds is None:
                words += ["", "", "", "", ""]
            else:
                b = c.best
                words += [f"`{b.name}`", units.seconds_text(b.seconds), f"{b.speedup:.2f}"]
                words += [f"{b.speedup_low:.2f} - {b.speedup_high:.2f}", f"{c.unisono_s / b.seconds:.2f}"]
            yield f"| {' | '.join(words)} |"


def write(measured: list[Measured], output: Path) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    output.with_suffix(".json").write_text(json.dumps([asdict(m) for m in measured], indent=1) + "\n")
    output.write_text("\n".join(page(measured)) + "\n")
    panels = {f"{TITLES[m.layout]}, {m.mpi}": m.cells for m in measured}
    plots.speedup_maps(panels, output.with_suffix(".svg"), "Times as fast as the MPI's own collectives")


def main() -> int:
    every_mpi = [mpi.name for mpi in mpis.ALL]
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--layout", action="append", choices=list(RANKS), help="default: all")
    parser.add_argument("--mpi", action="append", choices=every_mpi, help="default: mpich5")
    parser.add_argument("--operation", action="append", choices=OPERATIONS, help="default: all")
    parser.add_argument("--samples", type=int, default=25, help="most samples of each kind (default 25)")
    parser.add_argument("--seconds", type=float, default=0.5, help="most time for a cell (default 0.5)")
    parser.add_argument(
        "--timeout", type=float, default=600, help="most seconds for an operation (default 600)"
    )
    parser.add_argument("--output", type=Path, default=ROOT / "reports/repository.md", help="the page")
    arguments = parser.parse_args()
    arguments.operation = arguments.operation or list(OPERATIONS)
    measured = kept(arguments.output.with_suffix(".json"))
    with Progress(
        console=printing.console(sys.stderr), transient=True, disable=not sys.stderr.isatty()
    ) as progress:
        for layout in arguments.layout or list(RANKS):
            for name in arguments.mpi or ["mpich5"]:
                new = measure(arguments, layout, mpis.BY_NAME[name], progress)
                before = next((m for m in measured if (m.layout, m.mpi) == (layout, name)), None)
                if before is not None:
                    again = {(c.operation, c.bytes) for c in new.cells}
                    new.cells[:0] = [c for c in before.cells if (c.operation, c.bytes) not in again]
                    measured.remove(before)
                new.cells.sort(key=lambda c: (OPERATIONS.index(c.operation), c.bytes))
                measured.append(new)
                write(measured, arguments.output)
    print(f"report: {arguments.output}")
    return 0 if all(c.is_same for m in measured for c in m.cells) else 1


if __name__ == "__main__":
    sys.exit(main())
