#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What a first benchmark shows that somebody runs under Unisono. Short jobs measure one operation each, sizes
upwards, one call between two barriers. There is no table, and nothing was learned before.

    .venv/bin/python benchmarks/first_look.py [--mpi openmpi5 ...] [--ranks 2 ...] [--rounds 5] [--json FILE] [--output PAGE]

Every round runs each operation natively, and with Unisono without learning (`off`) and with it (`auto`), in an order that changes.
A cell's figure is the ratio of medians over the rounds; the table has geometric means over the sizes, with the 95 % interval of a
bootstrap over the rounds. Above 1: Unisono, or `auto`, is faster.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import side_by_side

# isort: split
import job
import mpis
from harness import SHIM, build_yield_preload
from numpy.typing import NDArray
from unisono.common import units
from unisono.machine.host import usable_cores

OPERATIONS = ("allreduce", "reduce", "bcast", "gather", "allgather", "alltoall")
WAYS: dict[str, dict[str, str]] = {
    "native": {},
    "off": {"UNISONO_LEARN": "off"},
    "auto": {"UNISONO_LEARN": "auto"},
}
# What stands above, what below.
RATIOS = {
    "off over native": ("native", "off"),
    "auto over native": ("native", "auto"),
    "auto over off": ("off", "auto"),
}
RESAMPLINGS = 2000

Times = dict[str, NDArray[np.float64]]  # by way: seconds of a call, [round, size]


def run(mpi: mpis.Mpi, ranks: int, way: str, operation: str, arguments: argparse.Namespace) -> list[float]:
    """One job: the times of its sizes."""
    environment = {"UNISONO_CACHE": "", "UNISONO_LOG": "quiet", **WAYS[way]} if way != "native" else {}
    if ranks > usable_cores() and not mpi.is_yielding:
        environment["LD_PRELOAD"] = str(build_yield_preload())
    program = [
        side_by_side.compiled(mpi, "first_look"),
        operation,
        str(arguments.smallest),
        str(arguments.largest),
        str(arguments.calls),
    ]
    line = mpi.launch(ranks, program if way == "native" else [SHIM, *program], environment)
    result = job.run(
        side_by_side.fair(mpi, line, ranks), mpis.launcher_environment(mpi), timeout=arguments.timeout
    ).check()
    times = json.loads(result.output.strip().splitlines()[-1])
    return [time[arguments.of_calls] for time in times.values()]


def measure(mpi: mpis.Mpi, ranks: int, arguments: argparse.Namespace) -> dict[str, Times]:
    """By operation."""
    taken: dict[str, dict[str, list[list[float]]]] = {
        operation: {way: [] for way in WAYS} for operation in arguments.operation
    }
    ways = list(WAYS)
    for turn in range(arguments.rounds):
        for operation, of_ways in taken.items():
            for way in side_by_side.rotated(ways, turn):
                of_ways[way].append(run(mpi, ranks, way, operation, arguments))
    return {
        operation: {way: np.array(rounds) for way, rounds in of_ways.items()}
        for operation, of_ways in taken.items()
    }


def geometric_mean(
    times: Sequence[Times], above: str, below: str, rounds: NDArray[np.int64] | None = None
) -> float:
    """Of the ratios of medians over these rounds, of all operations and sizes."""
    chosen = slice(None) if rounds is None else rounds
    logarithms = [
        np.log(np.median(one[above][chosen], axis=0) / np.median(one[below][chosen], axis=0)) for one in times
    ]
    return float(np.exp(np.mean(np.concatenate(logarithms))))


def figure(times: Sequence[Times], above: str, below: str) -> dict[str, float]:
    random = np.random.default_rng(1)
    count = len(times[0][above])
    drawn = [
        geometric_mean(times, above, below, random.integers(0, count, count)) for _ in range(RESAMPLINGS)
    ]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return {"ratio": geometric_mean(times, above, below), "low": float(low), "high": float(high)}


def summary(mpi: mpis.Mpi, ranks: int, of_operations: dict[str, Times], sizes: list[int]) -> dict[str, Any]:
    rows = {operation: [times] for operation, times in of_operations.items()}
    rows["all"] = list(of_operations.values())
    return {
        "mpi": mpi.name,
        "ranks": ranks,
        "sizes": sizes,
        "ratios": {
            name: {key: figure(times, *pair) for key, pair in RATIOS.items()} for name, times in rows.items()
        },
        "seconds": {
            operation: {way: [float(t) for t in np.median(of_way, axis=0)] for way, of_way in times.items()}
            for operation, times in of_operations.items()
        },
    }


def heads() -> Iterator[str]:
    yield f"| ranks | MPI | operation | {' | '.join(RATIOS)} |"
    yield "| --- " * (3 + len(RATIOS)) + "|"


def lines(made: dict[str, Any]) -> Iterator[str]:
    for operation, ratios in made["ratios"].items():
        words = [f"{r['ratio']:.2f} ({r['low']:.2f} to {r['high']:.2f})" for r in ratios.values()]
        yield f"| {made['ranks']} | {made['mpi']} | {operation} | {' | '.join(words)} |"


def cells(made: dict[str, Any]) -> Iterator[str]:
    yield f"## {made['ranks']} ranks, {made['mpi']}"
    yield ""
    yield f"| operation | bytes | {' | '.join(WAYS)} | {' | '.join(RATIOS)} |"
    yield "| --- " * (2 + len(WAYS) + len(RATIOS)) + "|"
    for operation, seconds in made["seconds"].items():
        for i, size in enumerate(made["sizes"]):
            words = [units.seconds_text(seconds[way][i]) for way in WAYS]
            words += [f"{seconds[above][i] / seconds[below][i]:.2f}" for above, below in RATIOS.values()]
            yield f"| {operation} | {units.bytes_text(size)} | {' | '.join(words)} |"
    yield ""


def page(all_made: Sequence[dict[str, Any]], arguments: argparse.Namespace) -> str:
    text = ["# A first look", ""]
    text += [
        f"Geometric means over sizes, medians of {arguments.rounds} jobs each, {arguments.of_calls} of {arguments.calls} calls a size.",
        "",
    ]
    text += [*heads(), *(line for made in all_made for line in lines(made)), ""]
    return "\n".join(text + [line for made in all_made for line in cells(made)])


def parsed(words: Sequence[str] | None = None) -> argparse.Namespace:
    """The options of the command line, or of these words, and with them the sizes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    every_mpi = [mpi.name for mpi in mpis.ALL]
    parser.add_argument("--mpi", action="append", choices=every_mpi, help="default: openmpi5, mpich5, intel")
    parser.add_argument("--ranks", action="append", type=int, help="default: 2 and 4")
    parser.add_argument("--operation", action="append", choices=OPERATIONS, help="default: all")
    parser.add_argument("--rounds", type=int, default=5, help="jobs of each kind (default 5)")
    parser.add_argument(
        "--calls", type=int, default=1000, help="of a size; above 8 KiB a tenth (default 1000)"
    )
    parser.add_argument(
        "--of-calls",
        choices=["mean", "median"],
        default="mean",
        help="what a job says of a size: the mean of its calls, as first benchmarks do, or, on a busy machine, their median",
    )
    parser.add_argument("--smallest", type=int, default=4, help="bytes (default 4)")
    parser.add_argument("--largest", type=int, default=256 << 10, help="bytes (default 256 KiB)")
    parser.add_argument("--json", type=Path, help="write all figures into this file")
    parser.add_argument("--output", type=Path, help="write a page with all cells into this file")
    parser.add_argument("--timeout", type=float, default=120, help="most seconds for a job (default 120)")
    arguments = parser.parse_args(words)
    arguments.operation = arguments.operation or list(OPERATIONS)
    arguments.sizes = [arguments.smallest]
    while arguments.sizes[-1] * 2 <= arguments.largest:
        arguments.sizes.append(arguments.sizes[-1] * 2)
    return arguments


def look(mpi: mpis.Mpi, ranks: int, arguments: argparse.Namespace) -> dict[str, Any]:
    return summary(mpi, ranks, measure(mpi, ranks, arguments), arguments.sizes)


def main() -> None:
    arguments = parsed()
    print("\n".join(heads()), flush=True)
    all_made = []
    for name in arguments.mpi or ["openmpi5", "mpich5", "intel"]:
        for ranks in arguments.ranks or [2, 4]:
            mpi = mpis.BY_NAME[name]
            all_made.append(look(mpi, ranks, arguments))
            print("\n".join(lines(all_made[-1])), flush=True)
            if arguments.json:
                arguments.json.write_text(json.dumps(all_made, indent=1) + "\n")
            if arguments.output:
                arguments.output.write_text(page(all_made, arguments))


if __name__ == "__main__":
    main()
