#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Overlap of messages between nodes with copies inside them (A6): none, part and all of each segment, in turn in one run.

    make overlap                                    into reports/overlap.md and .json; needs root
    .venv/bin/python benchmarks/overlap.py --mpi mpich5 --rate 1gbit --layout 4x1 --layout 2x4

There are 4 emulated nodes of 4 ranks unless --layout says otherwise. The fewer ranks share the cores, the
more of a core is left while messages are under way. Broadcasts and allgathers of 1 to 8 MiB are measured (of
an allgather that is all blocks together). At 5 Gbit/s copying takes about as long as the wire. At 1 Gbit/s it
does not, and the wire is the limit. Beside them stands what Unisono chooses by itself. Its share is given twice:
of the wire's rate, and of what one TCP stream gets through it, since headers take 4 to 8 % of it.
"""

from __future__ import annotations

import argparse
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
from mpis import Layout
from unisono.common import units
from unisono.machine.host import usable_cores
from unisono.measuring import bench
from wire import wire_seconds_per_byte

KIB, MIB = 1 << 10, 1 << 20
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


def layout_of(text: str) -> Layout:
    """`4x2`: 4 nodes of 2 ranks."""
    nodes, by, ranks = text.partition("x")
    if not (by and nodes.isdecimal() and ranks.isdecimal() and int(nodes) > 1 and int(ranks) > 0):
        raise argparse.ArgumentTypeError(f"{text} is not nodes x ranks per node, for example 4x2")
    return Layout((int(ranks),) * int(nodes))


def name_of(layout: Layout) -> str:
    return f"{len(layout.ranks_per_node)}x{layout.ranks_per_node[0]}"


def vector_bytes(cell: bench.Cell, layout: Layout) -> int:
    """What ranks hold in all."""
    return cell.bytes * (1 if cell.operation == "bcast" else layout.ranks)


def wire_share(operation: str, size: int, nodes: int, rate: float, seconds: float) -> float:
    """How much of the wire's rate is reached. A broadcast's bytes pass every card once; of an allgather a node
    gets what the others have."""
    passing = size if operation == "bcast" else size * (nodes - 1) / nodes
    return passing / rate / seconds


def measure(arguments: argparse.Namespace, rate: str, layout: Layout) -> tuple[list[bench.Cell], float]:
    """The cells, and what a stream carries through the wire, bytes a second."""
    mpi = mpis.BY_NAME[arguments.mpi]
    cells: list[bench.Cell] = []
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder) / "cluster", len(layout.ranks_per_node), rate=rate)
        try:
            stream = 1 / wire_seconds_per_byte(cluster)
            for operation in ALGORITHMS:
                blocks = 1 if operation == "bcast" else layout.ranks
                options = [
                    "--operations",
                    operation,
                    "--sizes",
                    ",".join(str(s // blocks) for s in SIZES if s <= arguments.largest),
                ]
                options += ["--samples", str(arguments.samples), "--seconds", str(arguments.seconds)]
                options += ["--finalists", str(len(SHARES))]
                options += [
                    "--candidates",
                    ";".join(f"{operation}:{text}" for text in settings(operation).values()),
                ]
                words = side_by_side.words(mpi, layout.ranks, options, layout)
                found, status = side_by_side.measure(mpi, words, arguments.timeout, lambda _: None, cluster)
                if status != 0:
                    print(
                        f"{name_of(layout)}, {rate}, {operation}: ended with status {status}", file=sys.stderr
                    )
                cells += found
        finally:
            cluster.down()
    return cells, stream


@dataclass(frozen=True)
class Measured:
    layout: Layout
    rate: str
    cells: list[bench.Cell]
    stream: float  # bytes a second through one TCP stream


def compared(way: bench.Candidate | None, none: bench.Candidate | None) -> str:
    """The median, and how many times as fast as without overlap; bold where the intervals of both medians are apart."""
    if way is None or none is None:
        return ""
    text = f"{units.seconds_text(way.seconds)} ({none.seconds / way.seconds:.2f})"
    return f"**{text}**" if way.low_s > none.high_s or way.high_s < none.low_s else text


def page(measured: list[Measured], mpi: str) -> Iterator[str]:
    yield "# Overlap between two levels"
    yield ""
    yield f"{mpi}, emulated nodes on this machine's {usable_cores()} cores; medians of the longest rank. In brackets: over no overlap, bold where the 95 % intervals of both are apart."
    for m in measured:
        nodes = len(m.layout.ranks_per_node)
        yield ""
        yield f"## {nodes} nodes of {m.layout.ranks_per_node[0]}, {m.rate}"
        yield ""
        yield f"One TCP stream between two nodes carries {100 * m.stream / RATES[m.rate]:.0f} % of the wire's rate."
        yield ""
        yield f"| operation | bytes | native | {' | '.join(SHARES)} | of the wire's rate | own choice | of the wire's rate | of a stream's |"
        yield f"| --- | --- | --- | {'--- | ' * len(SHARES)}--- | --- | --- | --- |"
        for c in m.cells:
            size = vector_bytes(c, m.layout)
            by_name = {candidate.name: candidate for candidate in c.candidates if candidate.seconds}
            ways = [by_name.get(text) for text in settings(c.operation).values()]
            algorithm, segment = ALGORITHMS[c.operation]
            words = [
                f"{c.operation}, {algorithm}, segments of {units.bytes_text(segment)}",
                units.bytes_text(size),
                units.seconds_text(c.native_s),
            ]
            words += [compared(way, ways[0]) for way in ways]
            found = [way.seconds for way in ways if way is not None]  # none where the algorithm may not run
            shares = [wire_share(c.operation, size, nodes, RATES[m.rate], min(found))] if found else []
            words.append(" ".join(f"{100 * share:.0f} %" for share in shares))
            words.append(f"`{c.algorithm}` {units.seconds_text(c.unisono_s)}")
            for limit in (RATES[m.rate], m.stream):
                words.append(f"{100 * wire_share(c.operation, size, nodes, limit, c.unisono_s):.0f} %")
            yield f"| {' | '.join(words)} |"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mpi", choices=[m.name for m in mpis.ALL if m.has_cluster], default="openmpi5")
    parser.add_argument(
        "--layout",
        action="append",
        type=layout_of,
        metavar="NxM",
        help="N nodes of M ranks each; may be repeated (default 4x4)",
    )
    parser.add_argument("--rate", action="append", choices=list(RATES), help="default: both")
    parser.add_argument(
        "--largest",
        type=int,
        default=SIZES[-1],
        help="the longest in bytes, all blocks together (default 8 MiB)",
    )
    parser.add_argument("--samples", type=int, default=15, help="most samples of each kind (default 15)")
    parser.add_argument("--seconds", type=float, default=4.0, help="most time for a cell (default 4)")
    parser.add_argument("--timeout", type=float, default=300, help="most seconds for a job (default 300)")
    parser.add_argument("--output", type=Path, default=ROOT / "reports/overlap.md", help="the page")
    arguments = parser.parse_args()
    measured = [
        Measured(layout, rate, *measure(arguments, rate, layout))
        for layout in arguments.layout or [layout_of("4x4")]
        for rate in arguments.rate or list(RATES)
    ]
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text("\n".join(page(measured, arguments.mpi)) + "\n")
    rows = [
        {
            "layout": name_of(m.layout),
            "rate": m.rate,
            "stream_bytes_per_s": m.stream,
            "cells": [asdict(c) for c in m.cells],
        }
        for m in measured
    ]
    arguments.output.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n")
    print(arguments.output.read_text())
    return 0 if all(c.is_same for m in measured for c in m.cells) else 1


if __name__ == "__main__":
    sys.exit(main())
