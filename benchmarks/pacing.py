#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pacing of a flood of small sends (A14, section 4.5.4): all at once, and 1, 2, 4 and 16 at a time, in turn in one run.

    .venv/bin/python benchmarks/pacing.py --mpi openmpi5 --layout 4x8 --output pacing.md

What is measured are algorithms in which a rank sends to all others at once, between 4 emulated nodes (1 Gbit/s) or, with --layout 8,
on one node by messages. Needs root but for one node.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import side_by_side

# isort: split
import mpis
from harness import Cluster
from lists import AddUp
from mpis import Layout
from unisono.common import units
from unisono.measuring import bench

ALGORITHMS = {"alltoall": "simple", "allgather": "simple", "bcast": "flat", "scatter": "flat"}
PACES = (1, 2, 4, 16)
SIZES = "8,64,512,4K"


def layout_of(text: str) -> Layout:
    """`4x8`: 4 nodes of 8 ranks; `8`: one node."""
    nodes, _, ranks = text.rpartition("x")
    if not (ranks.isdecimal() and (nodes or "1").isdecimal()):
        raise argparse.ArgumentTypeError(f"{text} is not nodes x ranks per node, for example 4x8")
    return Layout((int(ranks),) * int(nodes or 1))


def name_of(operation: str, pace: int) -> str:
    return f"{ALGORITHMS[operation]}(pace={pace})" if pace else ALGORITHMS[operation]


def measure(arguments: argparse.Namespace) -> list[bench.Cell]:
    mpi, layout = mpis.BY_NAME[arguments.mpi], arguments.layout
    cells: list[bench.Cell] = []
    with contextlib.ExitStack() as stack:
        cluster = None
        if len(layout.ranks_per_node) > 1:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            cluster = Cluster(Path(folder) / "cluster", len(layout.ranks_per_node), rate=arguments.rate)
            stack.callback(cluster.down)
        for operation in arguments.operation.split(","):
            ways = [f"{operation}:{name_of(operation, pace)}" for pace in (0, *PACES)]
            options = [
                "--operations",
                operation,
                "--sizes",
                bench_sizes(arguments.size),
                "--candidates",
                ";".join(ways),
            ]
            options += [
                "--finalists",
                str(len(ways)),
                "--samples",
                str(arguments.samples),
                "--seconds",
                str(arguments.seconds),
            ]
            words = side_by_side.words(mpi, layout.ranks, options, layout if cluster else None)
            found, status = side_by_side.measure(mpi, words, arguments.timeout, lambda _: None, cluster)
            if status != 0:
                print(f"{operation}: ended with status {status}", file=sys.stderr)
            cells += found
    return cells


def bench_sizes(text: str) -> str:
    return ",".join(str(units.bytes_from_text(size)) for size in text.split(","))


def compared(way: bench.Candidate | None, flood: bench.Candidate | None) -> str:
    """The median, and how many times as fast as the flood; bold where the intervals of both medians are apart."""
    if way is None or flood is None:
        return ""
    text = f"{units.seconds_text(way.seconds)} ({flood.seconds / way.seconds:.2f})"
    return f"**{text}**" if way.low_s > flood.high_s or way.high_s < flood.low_s else text


def page(cells: list[bench.Cell], arguments: argparse.Namespace) -> Iterator[str]:
    yield f"{arguments.mpi}, {'x'.join(map(str, (len(arguments.layout.ranks_per_node), arguments.layout.ranks_per_node[0])))}. In brackets: times as fast as all at once, bold where the 95 % intervals of both are apart."
    yield ""
    yield f"| operation | bytes | native | all at once | {' | '.join(f'{pace} at a time' for pace in PACES)} |"
    yield f"| --- | --- | --- | --- | {' | '.join('---' for _ in PACES)} |"
    for c in cells:
        by_name = {candidate.name: candidate for candidate in c.candidates if candidate.seconds}
        flood = by_name.get(name_of(c.operation, 0))
        words = [
            f"{c.operation}, {ALGORITHMS[c.operation]}",
            units.size_text(c.operation, c.bytes),
            units.seconds_text(c.native_s),
        ]
        words.append(units.seconds_text(flood.seconds) if flood else "")
        words += [compared(by_name.get(name_of(c.operation, pace)), flood) for pace in PACES]
        yield f"| {' | '.join(words)} |"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mpi", choices=[m.name for m in mpis.ALL], default="openmpi5")
    parser.add_argument(
        "--layout", type=layout_of, default=layout_of("4x4"), metavar="NxM", help="default: 4x4"
    )
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument("--operation", action=AddUp, default=",".join(ALGORITHMS), help="separated by commas")
    parser.add_argument("--size", action=AddUp, default=SIZES, help=f"separated by commas (default {SIZES})")
    parser.add_argument("--samples", type=int, default=40, help="most samples of each kind (default 40)")
    parser.add_argument("--seconds", type=float, default=2.0, help="most time for a cell (default 2)")
    parser.add_argument("--timeout", type=float, default=300, help="most seconds for a job (default 300)")
    parser.add_argument("--output", type=Path, default=Path("pacing.md"), help="the page; .json beside it")
    arguments = parser.parse_args()
    cells = measure(arguments)
    arguments.output.write_text("\n".join(page(cells, arguments)) + "\n")
    arguments.output.with_suffix(".json").write_text(json.dumps([asdict(c) for c in cells], indent=1) + "\n")
    print(arguments.output.read_text())
    return 0 if cells and all(c.is_same for c in cells) else 1


if __name__ == "__main__":
    sys.exit(main())
