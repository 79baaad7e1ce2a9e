#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Two-level algorithms without overlap as the sum of their layers (A14, section 4.3.3, figure 4.6), each measured by itself, and the whole.

    .venv/bin/python benchmarks/layers.py --mpi openmpi5 --layout 4x4 --output layers.md

The algorithm between the nodes is measured among their leaders, the shared memory's on all nodes at once, the whole on all ranks. Between
4 emulated nodes unless --layout says otherwise; needs root.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import side_by_side

# isort: split
import mpis
from harness import Cluster
from lists import AddUp
from overlap import layout_of
from unisono.common import units
from unisono.measuring import bench

KIB = 1 << 10
SMALL, LARGE = (8, 512), (16 * KIB, 64 * KIB, 256 * KIB, 1024 * KIB)


@dataclass(frozen=True)
class Whole:
    """A two-level algorithm, what it is between nodes, and the operations inside them."""

    operation: str
    between: str
    inside: tuple[str, ...]
    means: str  # inside: shared or fused
    sizes: tuple[int, ...]

    @property
    def name(self) -> str:
        return f"two_level_{'fused_' if self.means == 'fused' else ''}{self.between}"

    @property
    def setting(self) -> str:
        """With nothing overlapped, where there is anything to overlap."""
        return f"{self.name}(overlap=0)" if self.means == "shared" else self.name


WHOLES = (
    Whole("bcast", "binary", ("bcast",), "shared", LARGE),
    Whole("bcast", "binomial", ("bcast",), "shared", LARGE),
    Whole("bcast", "binomial", ("bcast",), "fused", SMALL),
    Whole("reduce", "binomial", ("reduce",), "shared", LARGE),
    Whole("reduce", "binomial", ("reduce",), "fused", SMALL),
    Whole("allreduce", "recursive_doubling", ("reduce", "bcast"), "shared", LARGE),
    Whole("allreduce", "recursive_doubling", ("reduce", "bcast"), "fused", SMALL),
)


class Times:
    """Medians with their intervals, by communicators, operation, algorithm and size."""

    def __init__(self, arguments: argparse.Namespace, cluster: Cluster) -> None:
        self.arguments, self.cluster = arguments, cluster
        self.cells: list[tuple[str, bench.Cell]] = []

    def measure(self, comm: str, operation: str, settings: Sequence[str], sizes: Sequence[int]) -> None:
        mpi, layout = mpis.BY_NAME[self.arguments.mpi], self.arguments.layout
        options = ["--comm", comm, "--operations", operation, "--sizes", ",".join(map(str, sizes))]
        options += ["--candidates", ";".join(f"{operation}:{setting}" for setting in settings)]
        options += [
            "--finalists",
            str(len(settings)),
            "--samples",
            str(self.arguments.samples),
            "--seconds",
            str(self.arguments.seconds),
        ]
        words = side_by_side.words(mpi, layout.ranks, options, layout)
        found, status = side_by_side.measure(mpi, words, self.arguments.timeout, lambda _: None, self.cluster)
        if status != 0:
            print(f"{comm}, {operation}: ended with status {status}", file=sys.stderr)
        self.cells += [(comm, cell) for cell in found]

    def of(self, comm: str, operation: str, setting: str, size: int) -> bench.Candidate | None:
        for of, cell in self.cells:
            if (of, cell.operation, cell.bytes) == (comm, operation, size):
                for candidate in cell.candidates:
                    if candidate.name == setting and candidate.seconds:
                        return candidate
        return None


def measured(arguments: argparse.Namespace) -> Times:
    wholes = wanted(arguments)
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder) / "cluster", len(arguments.layout.ranks_per_node), rate=arguments.rate)
        try:
            times = Times(arguments, cluster)
            for operation in dict.fromkeys(whole.operation for whole in wholes):
                of = [whole for whole in wholes if whole.operation == operation]
                for sizes in (SMALL, LARGE):
                    those = [whole for whole in of if whole.sizes == sizes]
                    small_enough = [size for size in sizes if size <= arguments.largest]
                    if not those or not small_enough:
                        continue
                    times.measure("world", operation, [whole.setting for whole in those], small_enough)
                    times.measure("leaders", operation, [whole.between for whole in those], small_enough)
            for means, sizes in (("fused", SMALL), ("shared", LARGE)):
                small_enough = [size for size in sizes if size <= arguments.largest]
                inside = dict.fromkeys(o for whole in wholes if whole.means == means for o in whole.inside)
                for operation in inside if small_enough else ():
                    times.measure("node", operation, [means], small_enough)
            return times
        finally:
            cluster.down()


def wanted(arguments: argparse.Namespace) -> list[Whole]:
    return [whole for whole in WHOLES if whole.operation in arguments.operation.split(",")]


def page(times: Times, arguments: argparse.Namespace) -> Iterator[str]:
    nodes = arguments.layout.ranks_per_node
    yield f"{arguments.mpi}, {len(nodes)}x{nodes[0]}, {arguments.rate}; medians, of the whole with the 95 % interval."
    yield ""
    yield "| operation | bytes | between nodes | inside | sum | measured | sum over measured |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for whole in wanted(arguments):
        for size in whole.sizes:
            between = times.of("leaders", whole.operation, whole.between, size)
            inside = [times.of("node", operation, whole.means, size) for operation in whole.inside]
            all_of_it = times.of("world", whole.operation, whole.setting, size)
            if between is None or all_of_it is None or None in inside:
                continue
            parts = [part.seconds for part in inside if part is not None]
            total = between.seconds + sum(parts)
            words = [f"{whole.operation}, {whole.setting}", units.size_text(whole.operation, size)]
            words += [
                units.seconds_text(between.seconds),
                " + ".join(map(units.seconds_text, parts)),
                units.seconds_text(total),
            ]
            words.append(
                f"{units.seconds_text(all_of_it.seconds)} ({units.seconds_text(all_of_it.low_s)} to {units.seconds_text(all_of_it.high_s)})"
            )
            words.append(f"{total / all_of_it.seconds:.2f}")
            yield f"| {' | '.join(words)} |"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mpi", choices=[m.name for m in mpis.ALL if m.has_cluster], default="openmpi5")
    parser.add_argument(
        "--layout", type=layout_of, default=layout_of("4x4"), metavar="NxM", help="default: 4x4"
    )
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument(
        "--operation",
        action=AddUp,
        default="bcast,reduce,allreduce",
        help="separated by commas (default: all three)",
    )
    parser.add_argument("--largest", type=int, default=LARGE[-1], help="the longest in bytes (default 1 MiB)")
    parser.add_argument("--samples", type=int, default=25, help="most samples of each kind (default 25)")
    parser.add_argument("--seconds", type=float, default=1.0, help="most time for a cell (default 1)")
    parser.add_argument("--timeout", type=float, default=300, help="most seconds for a job (default 300)")
    parser.add_argument("--output", type=Path, default=Path("layers.md"), help="the page; .json beside it")
    arguments = parser.parse_args()
    times = measured(arguments)
    arguments.output.write_text("\n".join(page(times, arguments)) + "\n")
    rows = [{"comm": comm, "cell": asdict(cell)} for comm, cell in times.cells]
    arguments.output.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n")
    print(arguments.output.read_text())
    return 0 if times.cells and all(cell.is_same for _, cell in times.cells) else 1


if __name__ == "__main__":
    sys.exit(main())
