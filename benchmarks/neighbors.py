#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Neighbourhood collectives natively and under Unisono, alternating in one run, on one node and on emulated ones.

    .venv/bin/python benchmarks/neighbors.py                     into reports/neighbors.md and .json; nodes need root
    .venv/bin/python benchmarks/neighbors.py --layout 4 --mpi intel --graph moore:2,1 --size 8,4096

Layouts: a number of ranks on this machine, `nodes` (4 emulated nodes of 4 ranks) and `far` (the same with 100 us of latency).
Graphs: moore:D,R (all ranks up to R steps away on a periodic grid of D dimensions), er:DENSITY,SEED (random), cart:D (MPI_Cart_create,
periodic). Every result is compared with what the standard says: wrong blocks are counted for both. Natively there may be some where
two ranks have several edges between them, which several MPIs mix up. In calls that Unisono serves each is a failure. Besides the
ratio of medians there is that of the lower quartiles, which other programs on the machine disturb less.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import side_by_side
from side_by_side import ROOT

# isort: split
import mpis
from harness import SHIM, Cluster, build_yield_preload
from mpis import Layout, Mpi
from unisono.common import units
from unisono.machine.host import processor_name, usable_cores
from unisono.measuring import bench

GRAPHS_IN_C = ROOT / "benchmarks/neighbor_graphs.h"
KIB, MIB = 1 << 10, 1 << 20
SIZES = (8, 256, KIB, 4 * KIB, 16 * KIB, 64 * KIB, MIB)
SMALL = 4 * KIB
OPERATIONS = ("neighbor_allgather", "neighbor_alltoall")
GRAPHS = ("moore:2,1", "er:0.5,1", "cart:2")
NODES = Layout((4, 4, 4, 4))
LATENCY_US = {"nodes": None, "far": 100}
RATE = "1gbit"  # with latency; the kernel's bridge has none
TITLES = {
    "nodes": "4 emulated nodes of 4 ranks",
    "far": f"4 emulated nodes of 4 ranks, {LATENCY_US['far']} us of latency, 1 Gbit/s",
}


@dataclass(frozen=True)
class Cell:
    """One graph, operation and size. Seconds are medians of a call of the longest rank; `ratio` is native over Unisono, with its
    95 % interval; `quick_ratio` is that of the lower quartiles. `set_up_s` is what the first calls on a new communicator take longer
    under Unisono than natively, in all."""

    graph: str
    operation: str
    bytes: int
    ranks: int
    mean_degree: float
    most_degree: int
    edges_between_nodes: int
    node_pairs: int
    samples: int
    native_s: float
    unisono_s: float
    ratio: float
    ratio_low: float
    ratio_high: float
    quick_ratio: float
    native_wrong: int
    unisono_wrong: int
    set_up_s: float

    @property
    def pays_after(self) -> float | None:
        """Calls after which the set-up has paid for itself; None where calls are not faster beyond doubt."""
        return self.set_up_s / (self.native_s - self.unisono_s) if self.ratio_low > 1.01 else None


@dataclass(frozen=True)
class Measured:
    """One job, and by which algorithms Unisono's report says that it served the operations."""

    layout: str
    mpi: str
    status: int
    cells: list[Cell]
    served: list[str]


def set_up_s(first_s: Sequence[float]) -> float:
    """What first calls take longer than the last ones of them."""
    steady_s = float(np.median(first_s[-8:]))
    return sum(max(0.0, seconds - steady_s) for seconds in first_s)


def cell_of(measured: dict[str, Any], random: np.random.Generator) -> Cell:
    native, unisono = np.asarray(measured["native_s"]), np.asarray(measured["unisono_s"])
    low, high = bench.ratio_interval(native, unisono, random)
    native_s, unisono_s = float(np.median(native)), float(np.median(unisono))
    names = ("graph", "operation", "bytes", "ranks", "mean_degree", "most_degree", "edges_between_nodes")
    told = {name: measured[name] for name in (*names, "node_pairs", "native_wrong", "unisono_wrong")}
    return Cell(
        samples=len(native),
        native_s=native_s,
        unisono_s=unisono_s,
        ratio=native_s / unisono_s,
        ratio_low=low,
        ratio_high=high,
        set_up_s=max(0.0, set_up_s(measured["first_unisono_s"]) - set_up_s(measured["first_native_s"])),
        quick_ratio=float(np.quantile(native, 0.25) / np.quantile(unisono, 0.25)),
        **told,
    )


def served_by(report: Path) -> list[str]:
    """`operation: algorithm`, as often as there are; none where Unisono left the calls to the MPI."""
    if not report.exists():
        return []
    rows = json.loads(report.read_text())["classes"]
    return sorted({f"{r['operation']}: {r['algorithm']}" for r in rows if r["operation"] in OPERATIONS})


def command_line(arguments: argparse.Namespace, layout: str, mpi: Mpi, report: Path) -> list[str]:
    is_emulated = layout in TITLES
    ranks = NODES.ranks if is_emulated else int(layout)
    settings = {"UNISONO_LOG": "quiet", "UNISONO_LEARN": arguments.learn, "UNISONO_SET_UP_AFTER": "0"}
    settings["UNISONO_REPORT"] = str(report)
    if arguments.algorithm:
        settings["UNISONO_ALGORITHM"] = arguments.algorithm
    if not mpi.is_yielding and ranks > usable_cores():
        settings["LD_PRELOAD"] = str(build_yield_preload())
    options = ["--samples", str(arguments.samples), "--seconds", str(arguments.seconds)]
    options += ["--operations", ",".join(arguments.operation or OPERATIONS)]
    options += ["--sizes", ",".join(map(str, arguments.size))]
    program = [
        SHIM,
        side_by_side.compiled(mpi, "neighbors", GRAPHS_IN_C, side_by_side.CALLS_BY_NAME),
        *options,
        *(arguments.graph or GRAPHS),
    ]
    return side_by_side.fair(mpi, mpi.launch(ranks, program, settings, NODES if is_emulated else None), ranks)


def measure(arguments: argparse.Namespace, layout: str, mpi: Mpi) -> Measured:
    random = np.random.default_rng(0)
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="unisono-neighbors-")))
        line = command_line(arguments, layout, mpi, folder / "report.json")
        if layout in TITLES:
            latency = LATENCY_US[layout]
            rate = RATE if latency is not None else None
            cluster = Cluster(folder / "cluster", len(NODES.ranks_per_node), rate, latency)
            stack.callback(cluster.down)
            line = cluster.on_head(line)
        # Ranks that yield leave the cores to each other; others would hold them.
        first = ["chrt", "-r", "10"] if arguments.realtime and mpi.is_yielding else []
        limit = [*first, "timeout", "-k", "5", str(arguments.timeout)]
        done = subprocess.run(
            [*limit, *line],
            env=mpis.launcher_environment(mpi),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        cells = [cell_of(json.loads(t), random) for t in done.stdout.splitlines() if t.startswith("{")]
        if done.returncode != 0:
            print(
                f"{layout}, {mpi.name}: ended with status {done.returncode}\n{done.stderr}", file=sys.stderr
            )
        return Measured(layout, mpi.name, done.returncode, cells, served_by(folder / "report.json"))


def is_good(m: Measured) -> bool:
    """Whether the job ended well, and no block is wrong in a call that Unisono served."""
    served = {text.split(":")[0] for text in m.served}
    return (
        m.status == 0
        and bool(m.cells)
        and not any(c.unisono_wrong and c.operation in served for c in m.cells)
    )


def geometric_mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def means(cells: Sequence[Cell]) -> Iterator[str]:
    """A line for each graph and operation, and for all: small blocks, longer ones, the least of all."""
    groups: dict[str, list[Cell]] = defaultdict(list)
    for cell in cells:
        groups[f"{cell.graph}, {cell.operation}"].append(cell)
    groups["all"] = list(cells)
    limit = units.bytes_text(SMALL)
    yield f"| geometric means | up to {limit} | above | least | quartiles, up to {limit} | above |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for name, group in groups.items():
        parts = [[c for c in group if (c.bytes <= SMALL) == is_small] for is_small in (True, False)]
        medians = [f"{geometric_mean([c.ratio for c in part]):.2f}" if part else "" for part in parts]
        quick = [f"{geometric_mean([c.quick_ratio for c in part]):.2f}" if part else "" for part in parts]
        least = f"{min(c.ratio for c in group):.2f}"
        yield f"| {' | '.join([name, *medians, least, *quick])} |"


def rows(cells: Sequence[Cell]) -> Iterator[str]:
    yield (
        "| graph | operation | bytes | degree, mean and most | edges between nodes | node pairs | native | Unisono | "
        "native / Unisono (95 %) | of quartiles | set-up | pays after calls | wrong blocks, native and Unisono |"
    )
    yield "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
    for c in cells:
        pays = "" if c.pays_after is None else f"{math.ceil(c.pays_after)}"
        yield (
            f"| {c.graph} | {c.operation} | {units.bytes_text(c.bytes)} | {c.mean_degree:.1f}, {c.most_degree} "
            f"| {c.edges_between_nodes} | {c.node_pairs} | {units.seconds_text(c.native_s)} | {units.seconds_text(c.unisono_s)} "
            f"| {c.ratio:.2f} ({c.ratio_low:.2f} to {c.ratio_high:.2f}) | {c.quick_ratio:.2f} | {units.seconds_text(c.set_up_s)} | {pays} | {c.native_wrong}, {c.unisono_wrong} |"
        )


def machine_text() -> str:
    load = ", ".join(f"{part:.1f}" for part in os.getloadavg())
    return f"{processor_name()}, {usable_cores()} usable; load {load}; {time.strftime('%Y-%m-%d %H:%M')}"


def section(m: Measured) -> Iterator[str]:
    yield ""
    yield f"## {TITLES.get(m.layout, f'{m.layout} ranks on one node')}, {m.mpi}"
    yield ""
    yield f"Served by: {'; '.join(m.served) or 'the MPI itself'}. {machine_text()}."
    if not m.cells:
        return
    yield ""
    yield from means(m.cells)
    yield ""
    yield from rows(m.cells)


def sizes_of(text: str) -> list[int]:
    sizes = [units.bytes_from_text(word) for word in text.split(",")]
    if not all(sizes):
        raise argparse.ArgumentTypeError(f"'{text}' is no list of sizes, as in 8,1K,64K")
    return sizes


def layout_of(text: str) -> str:
    if text in TITLES or (text.isdecimal() and int(text) > 0):
        return text
    raise argparse.ArgumentTypeError(f"'{text}' is no number of ranks, and none of {', '.join(TITLES)}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--layout", action="append", type=layout_of, help="default: 2, 4, 8, nodes, far")
    parser.add_argument(
        "--mpi", action="append", choices=[m.name for m in mpis.ALL], help="default: openmpi5"
    )
    parser.add_argument("--graph", action="append", help=f"default: {', '.join(GRAPHS)}")
    parser.add_argument("--operation", action="append", choices=OPERATIONS, help="default: both")
    parser.add_argument(
        "--size", type=sizes_of, default=list(SIZES), help="of a block (default 8 B to 1 MiB)"
    )
    parser.add_argument("--samples", type=int, default=40, help="most samples of each (default 40)")
    parser.add_argument("--seconds", type=float, default=1.0, help="most time for a cell (default 1)")
    parser.add_argument("--algorithm", help="Unisono's, instead of its own choice: neighbor_allgather:once")
    parser.add_argument(
        "--learn",
        choices=["off", "auto"],
        default="off",
        help="off: built-in rules alone; auto: what users have (default off)",
    )
    parser.add_argument("--timeout", type=float, default=600, help="most seconds for a job (default 600)")
    parser.add_argument(
        "--realtime",
        action="store_true",
        help="real-time priority, so that other programs disturb less (root; not MPICH)",
    )
    parser.add_argument("--output", type=Path, default=ROOT / "reports/neighbors.md", help="the page")
    arguments = parser.parse_args()
    page = ["# Neighbourhood collectives", "", "Medians of the longest rank; batches alternate in one run."]
    print("\n".join(page), flush=True)
    measured = []
    for layout in arguments.layout or ["2", "4", "8", *TITLES]:
        for name in arguments.mpi or ["openmpi5"]:
            if layout in TITLES and not mpis.BY_NAME[name].has_cluster:
                print(f"{name}: does not run between emulated nodes here", file=sys.stderr)
                continue
            measured.append(measure(arguments, layout, mpis.BY_NAME[name]))
            made = list(section(measured[-1]))
            print("\n".join(made), flush=True)
            page += made
            arguments.output.parent.mkdir(parents=True, exist_ok=True)
            arguments.output.write_text("\n".join(page) + "\n")
    arguments.output.with_suffix(".json").write_text(
        json.dumps([asdict(m) for m in measured], indent=1) + "\n"
    )
    return 0 if measured and all(map(is_good, measured)) else 1


if __name__ == "__main__":
    sys.exit(main())
