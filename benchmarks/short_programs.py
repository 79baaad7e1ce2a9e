#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What learning costs programs that are over before it pays, by one command:

    .venv/bin/python benchmarks/short_programs.py [--mpi openmpi5] [--ranks 2,4] [--runs 5] [--output page.md]

There are thirty-two programs: four operations, 2 KiB and 128 KiB, 200 and 2000 calls, 2 and 4 ranks. Each
makes one kind of calls and no others. They run in turns with `--learn off` and with `--learn auto`, with an
empty cache, each beside as many of the MPI's own calls. `auto` and `off`: the time of all calls of the
slowest rank, in the best of the runs, against the better of the two others. The last line has the geometric
mean of `auto` against `off`. What is wanted is at most 1.02 in each and 1.00 in the mean.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/integration"), str(ROOT / "benchmarks")]

import job  # noqa: E402
import mpis  # noqa: E402
import side_by_side  # noqa: E402
from harness import SHIM  # noqa: E402
from lists import AddUp  # noqa: E402
from unisono.common import units  # noqa: E402

OPERATIONS = ("allreduce", "alltoall", "allgather", "bcast")
SIZES = (2 << 10, 128 << 10)
CALLS = (200, 2000)
WAYS = ("off", "auto")


def seconds(
    mpi: mpis.Mpi, way: str, ranks: int, cell: tuple[str, int, int], timeout: float
) -> tuple[float, float]:
    """All calls of one job under Unisono, and as many of the MPI's own in the same process."""
    operation, size, calls = cell
    environment = {"UNISONO_CACHE": "", "UNISONO_LEARN": way}
    program = [
        SHIM,
        side_by_side.compiled(mpi, "learning", side_by_side.CALLS_BY_NAME),
        operation,
        str(size),
        str(calls),
        "1",
    ]
    line = mpi.launch(ranks, program, environment)
    result = job.run(line, mpis.launcher_environment(mpi), timeout=timeout).check()
    times = json.loads(result.output.strip().splitlines()[-1])
    return sum(times["unisono_s"]), sum(times["native_s"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mpi", default="openmpi5", choices=[mpi.name for mpi in mpis.ALL])
    parser.add_argument("--ranks", action=AddUp, default="2,4", help="numbers of ranks, separated by commas")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--operations", action=AddUp, default=",".join(OPERATIONS))
    parser.add_argument("--calls", action=AddUp, default=",".join(map(str, CALLS)), help="numbers of calls")
    parser.add_argument("--output", type=Path, help="write the table into this file too")
    parser.add_argument("--timeout", type=float, default=120)
    arguments = parser.parse_args()
    mpi = mpis.BY_NAME[arguments.mpi]
    page = ["| program | natively | off | auto | auto, of the better one | of off |", "| --- " * 6 + "|"]
    print(*page, sep="\n", flush=True)
    ratios = []
    cells = [
        (ranks, (operation, size, calls))
        for ranks in map(int, arguments.ranks.split(","))
        for operation in arguments.operations.split(",")
        for size in SIZES
        for calls in map(int, arguments.calls.split(","))
    ]
    for ranks, cell in cells:
        times: dict[str, list[float]] = {way: [] for way in ("native", *WAYS)}
        for turn in range(arguments.runs):
            for way in WAYS if turn % 2 == 0 else reversed(WAYS):
                own_s, native_s = seconds(mpi, way, ranks, cell, arguments.timeout)
                times[way].append(own_s)
                times["native"].append(native_s)
        native, off, auto = (min(times[way]) for way in ("native", *WAYS))
        ratios.append(auto / off)
        operation, size, calls = cell
        words = [
            f"{calls} {operation} of {units.bytes_text(size)}, {ranks} ranks",
            *(units.seconds_text(time) for time in (native, off, auto)),
            f"{auto / min(native, off):.3f}",
            f"{auto / off:.3f}",
        ]
        page.append("| " + " | ".join(words) + " |")
        print(page[-1], flush=True)
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    page.append(f"\nauto, of off, geometric mean of {len(ratios)} programs: {mean:.3f}")
    print(page[-1])
    if arguments.output:
        arguments.output.write_text("\n".join(page) + "\n")


if __name__ == "__main__":
    main()
