#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What reproducible reductions cost, by one command: the table of docs/figures/reproducible.md.

    .venv/bin/python benchmarks/reproducible.py [--mpi openmpi5] [--seconds 1] [--samples 60]

Times of the same calls, reproducible and not, and of the MPI's own, alternate in one run; each figure is a ratio of medians
with a bootstrap interval.
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass

from side_by_side import compiled

# isort: split
import job
import mpis
import numpy as np
from harness import SHIM
from unisono.common import units
from unisono.measuring import bench

SIZES = (8, 1 << 10, 32 << 10, 1 << 20)


@dataclass(frozen=True)
class Layout:
    """So many ranks, in words, and spread over pretended nodes."""

    words: str
    ranks: int
    nodes: str = ""


LAYOUTS = (
    Layout("2 ranks, a core each", 2),
    Layout("8 ranks on 2 cores", 8),
    Layout("8 ranks on 2 cores, as 4 nodes of 2", 8, "4x2"),
    Layout("6 ranks on 2 cores, as 2 nodes of 3", 6, "2x3"),
)


def measured(mpi: mpis.Mpi, layout: Layout, arguments: argparse.Namespace) -> list[dict]:
    """Run one layout and return what its rank 0 printed: one object for each operation and size."""
    program = [
        SHIM,
        compiled(mpi, "reproducible"),
        str(arguments.samples),
        str(arguments.seconds),
        *map(str, SIZES),
    ]
    environment = {"UNISONO_LEARN": "off"} | ({"UNISONO_NODES": layout.nodes} if layout.nodes else {})
    line = mpi.launch(layout.ranks, program, environment)
    result = job.run(line, mpis.launcher_environment(mpi), timeout=arguments.timeout).check()
    return [json.loads(text) for text in result.output.splitlines() if text.startswith("{")]


def ratio(above: Sequence[float], below: Sequence[float], random: np.random.Generator) -> str:
    """Return a ratio of medians and its 95 % interval, as text: 1.27 (1.20-1.33)."""
    above, below = np.asarray(above), np.asarray(below)
    low, high = bench.ratio_interval(above, below, random)
    return f"{np.median(above) / np.median(below):.2f} ({low:.2f}-{high:.2f})"


def rows(layout: Layout, cells: Sequence[dict], random: np.random.Generator) -> list[str]:
    lines = []
    for cell in cells:
        plain, reproducible = cell["plain_s"], cell["reproducible_s"]
        words = [
            layout.words,
            cell["operation"],
            units.bytes_text(cell["bytes"]),
            ratio(reproducible, plain, random),
            ratio(reproducible, cell["mpi_s"], random),
            str(len(plain)),
        ]
        lines.append("| " + " | ".join(words) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mpi", default="openmpi5", choices=sorted(mpis.BY_NAME))
    parser.add_argument("--samples", type=int, default=60)
    parser.add_argument(
        "--seconds", type=float, default=1.0, help="at most so long for each operation and size"
    )
    parser.add_argument("--timeout", type=float, default=300.0, help="of one layout, seconds")
    arguments = parser.parse_args()
    mpi = mpis.BY_NAME[arguments.mpi]
    random = np.random.default_rng(0)
    print(f"{mpi.name}, {os.cpu_count()} cores; ratios of medians of times with 95 % bootstrap intervals\n")
    print("| layout | operation | size | to Unisono's own choice | to the MPI's own | samples |")
    print("| --- | --- | --- | --- | --- | --- |")
    for layout in LAYOUTS:
        print("\n".join(rows(layout, measured(mpi, layout, arguments), random)), flush=True)


if __name__ == "__main__":
    main()
