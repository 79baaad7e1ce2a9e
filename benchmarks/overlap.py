#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Overlap of messages between nodes with copies inside them (A6): none, part and all of each segment, in turn in one run.

    make overlap                                    into reports/overlap.md and .json; needs root
    .venv/bin/python benchmarks/overlap.py --mpi mpich5 --rate 1gbit

4 emulated nodes of 4 ranks, broadcasts and allgathers of 1 to 8 MiB (allgather: of all blocks together), at 5 Gbit/s, where copying takes
about as long as the wire, and at 1 Gbit/s, where it does not and the wire is the limit.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import side_by_side
from side_by_side import ROOT

# isort: split
import mpis
from harness import Cluster
from mpis import Layout
from unisono import bench, tables

KIB, MIB = 1 << 10, 1 << 20
NODES = Layout((4, 4, 4, 4))
RATES = {"5gbit": 5e9 / 8, "1gbit": 1e9 / 8}  # bytes a second
SIZES = (MIB, 2 * MIB, 4 * MIB, 8 * MIB)
# Of an allgather the block of one rank is what is cut.
ALGORITHMS = {"bcast": ("two_level_chain", 128 * KIB), "allgather": ("two_level_ring", 32 * KIB)}
SHARES = {"none": 0, "a quarter": 1 / 4, "a half": 1 / 2, "all": 1}


def settings(operation: str) -> dict[str, str]:
    """How much of a segment is overlapped -> the algorithm with its parameters."""
    algorithm, segment = ALGORITHMS[operation]
    return {
        name: f"{algorithm}(segment={segment},overlap={int(share * segment)})"
        for name, share in SHARES.items()
    }


def wire_share(operation: str, size: int, rate: float, seconds: float) -> float:
    """How much of the wire's rate is reached. A broadcast's bytes pass every card once; of an allgather a node
    gets what the others have."""
    nodes = len(NODES.ranks_per_node)
    passing = size if operation == "bcast" else size * (nodes - 1) / nodes
    return passing / rate / seconds


def measure(arguments: argparse.Namespace, rate: str) -> list[bench.Cell]:
    mpi = mpis.BY_NAME[arguments.mpi]
    cells: list[bench.Cell] = []
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder) / "cluster", len(NODES.ranks_per_node), rate=rate)
        try:
            for operation in ALGORITHMS:
                blocks = 1 if operation == "bcast" else NODES.ranks
                options = ["--operations", operation, "--sizes", ",".join(str(s // blocks) for s in SIZES)]
                options += ["--samples", str(arguments.samples), "--seconds", str(arguments.seconds)]
                options += ["--finalists", str(len(SHARES))]
                options += [
                    "--candidates",
                    ";".join(f"{operation}:{text}" for text in settings(operation).values()),
                ]
                words = side_by_side.words(mpi, NODES.ranks, options, NODES)
                found, status = side_by_side.measure(mpi, words, arguments.timeout, lambda _: None, cluster)
                if status != 0:
                    print(f"{rate}, {operation}: ended with status {status}", file=sys.stderr)
                cells += found
        finally:
            cluster.down()
    return cells


def page(measured: dict[str, list[bench.Cell]], mpi: str) -> Iterator[str]:
    yield "# Overlap between two levels"
    yield ""
    yield f"{mpi}, 4 emulated nodes of 4 ranks on this machine's cores; medians of the longest rank. In brackets: over no overlap."
    for rate, cells in measured.items():
        yield ""
        yield f"## {rate}"
        yield ""
        yield f"| operation | bytes | native | {' | '.join(SHARES)} | of the wire's rate |"
        yield f"| --- | --- | --- | {'--- | ' * len(SHARES)}--- |"
        for c in cells:
            size = c.bytes * (1 if c.operation == "bcast" else NODES.ranks)
            by_name = {candidate.name: candidate.seconds for candidate in c.candidates}
            times = [by_name.get(text) for text in settings(c.operation).values()]
            algorithm, segment = ALGORITHMS[c.operation]
            words = [
                f"{c.operation}, {algorithm}, segments of {tables.bytes_text(segment)}",
                tables.bytes_text(size),
                tables.seconds_text(c.native_s),
            ]
            for seconds in times:
                if seconds is None or times[0] is None:
                    words.append("")
                else:
                    words.append(f"{tables.seconds_text(seconds)} ({times[0] / seconds:.2f})")
            best = min(t for t in times if t is not None)
            words.append(f"{100 * wire_share(c.operation, size, RATES[rate], best):.0f} %")
            yield f"| {' | '.join(words)} |"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mpi", choices=[m.name for m in mpis.ALL if m.has_cluster], default="openmpi5")
    parser.add_argument("--rate", action="append", choices=list(RATES), help="default: both")
    parser.add_argument("--samples", type=int, default=15, help="most samples of each kind (default 15)")
    parser.add_argument("--seconds", type=float, default=4.0, help="most time for a cell (default 4)")
    parser.add_argument("--timeout", type=float, default=300, help="most seconds for a job (default 300)")
    parser.add_argument("--output", type=Path, default=ROOT / "reports/overlap.md", help="the page")
    arguments = parser.parse_args()
    measured = {rate: measure(arguments, rate) for rate in arguments.rate or list(RATES)}
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text("\n".join(page(measured, arguments.mpi)) + "\n")
    rows = {rate: [asdict(c) for c in cells] for rate, cells in measured.items()}
    arguments.output.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n")
    print(arguments.output.read_text())
    return 0 if all(c.is_same for cells in measured.values() for c in cells) else 1


if __name__ == "__main__":
    sys.exit(main())
