#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What the schedule's executor costs: algorithms written straight on MPI calls, and Unisono's schedules of the same
messages, in turn in one run.

    .venv/bin/python benchmarks/by_hand.py                     into reports/by_hand.md and .json
    .venv/bin/python benchmarks/by_hand.py --mpi intel --ranks 4

Extra: what a call takes longer than by hand; a step: that, over the sends, receives, copies and reductions of the rank
that has most of them. It has in it what a call costs to get to its schedule at all. Chains of segments are compared
with double buffering: one segment comes in while the one before goes out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import side_by_side
from side_by_side import ROOT

# isort: split
import mpis
from mpis import Mpi
from unisono.common import tool, units
from unisono.measuring import bench

KIB, MIB = 1 << 10, 1 << 20
SMALL = (
    ("barrier:dissemination", 0),
    ("bcast:binomial", 8),
    ("allreduce:recursive_doubling", 8),
    ("allgather:ring", 8),
    ("alltoall:pairwise", 8),
)
WINDOWS = (1, 2, 4)
SEGMENTS = (8 * KIB, 16 * KIB, 32 * KIB, 64 * KIB)
CHAIN_BYTES = 4 * MIB
CHAINS = tuple(
    (f"bcast:chain(segment={segment},window={window})", CHAIN_BYTES)
    for segment in SEGMENTS
    for window in WINDOWS
)
TINY = ("bcast:chain(segment=64,window=4)", 8 * KIB)  # next to nothing but steps


def steps(algorithm: str, size: int, ranks: int) -> int:
    """Steps of the rank that has most, pieces counted one by one."""
    operation, _, text = algorithm.partition(":")
    name, _, parameters = text.rstrip(")").partition("(")
    shown = tool.ask(
        "show", "--operation", operation, "--algorithm", name, "--ranks", str(ranks), "--format", "json"
    )
    per_rank: Counter[int] = Counter()
    for stage in shown["stages"]:
        for one_round in stage["rounds"]:
            per_rank.update(step["rank"] for step in one_round["steps"])
    settings = dict(word.split("=") for word in parameters.split(",") if word)
    segment = int(settings.get("segment", 0))
    return max(per_rank.values()) * (-(-size // segment) if segment else 1)


def measure(mpi: Mpi, arguments: argparse.Namespace) -> list[dict]:
    cells = [*SMALL, TINY, *CHAINS]
    options = ["--samples", str(arguments.samples), "--seconds", str(arguments.seconds)]
    for algorithm, size in cells:
        options += [algorithm, str(size)]
    command = side_by_side.words(mpi, arguments.ranks, options, name="by_hand.c")
    with side_by_side.environment(mpis.launcher_environment(mpi)):
        done = subprocess.run(command, capture_output=True, text=True, timeout=arguments.timeout, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not all(row["is_same"] for row in rows):
        print(f"{mpi}: ended with status {done.returncode}\n{done.stderr}", file=sys.stderr)
        raise SystemExit(1)
    return rows


def interval(values: np.ndarray) -> str:
    low, high = np.quantile(values, [0.025, 0.975])
    return f"{low:.0f} to {high:.0f}"


def lines(title: str, rows: Sequence[dict], ranks: int, random: np.random.Generator) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    yield "| algorithm | bytes | by hand | Unisono | by hand / Unisono (95 %) | extra, ns | steps | ns a step (95 %) |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for row in rows:
        hand, unisono = np.asarray(row["hand_s"]), np.asarray(row["unisono_s"])
        drawn = random.integers(0, len(hand), size=(2000, len(hand)))
        extra = 1e9 * (np.median(unisono[drawn], axis=1) - np.median(hand[drawn], axis=1))
        count = steps(row["algorithm"], row["bytes"], ranks)
        low, high = bench.ratio_interval(hand, unisono, random)
        yield (
            f"| `{row['algorithm']}` | {units.bytes_text(row['bytes'])} | {units.seconds_text(float(np.median(hand)))} "
            f"| {units.seconds_text(float(np.median(unisono)))} | {np.median(hand) / np.median(unisono):.2f} ({low:.2f} to {high:.2f}) "
            f"| {np.median(extra):.0f} | {count} | {np.median(extra) / count:.0f} ({interval(extra / count)}) |"
        )
    yield ""


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [mpi.name for mpi in mpis.ALL]
    parser.add_argument("--mpi", action="append", choices=names, help="default: openmpi5, mpich5 and intel")
    parser.add_argument("--ranks", type=int, default=2, help="ranks; a power of two (default 2)")
    parser.add_argument("--samples", type=int, default=60, help="most samples of each (default 60)")
    parser.add_argument("--seconds", type=float, default=1.0, help="most time for a pair (default 1)")
    parser.add_argument("--timeout", type=float, default=300, help="most seconds for a job (default 300)")
    parser.add_argument("--output", type=Path, default=ROOT / "reports/by_hand.md", help="the page")
    arguments = parser.parse_args()
    if arguments.ranks < 2 or arguments.ranks & (arguments.ranks - 1):
        parser.error("recursive doubling by hand wants a power of two ranks")
    random = np.random.default_rng(0)
    measured = {}
    page = [
        "# The executor and algorithms by hand",
        "",
        f"{arguments.ranks} ranks, medians of the longest rank.",
        "",
    ]
    for name in arguments.mpi or ["openmpi5", "mpich5", "intel"]:
        mpi = mpis.BY_NAME[name]
        measured[name] = measure(mpi, arguments)
        page += lines(name, measured[name], arguments.ranks, random)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    arguments.output.write_text("\n".join(page))
    arguments.output.with_suffix(".json").write_text(json.dumps(measured, indent=1) + "\n")
    print("\n".join(page))
    return 0


if __name__ == "__main__":
    sys.exit(main())
