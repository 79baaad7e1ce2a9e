#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How long call number n of a fresh job takes, natively and under Unisono, and which page faults it meets.

    .venv/bin/python benchmarks/first_touch.py [--mpi openmpi5] [--ranks 2] [--operation bcast,alltoall] [--size 8192,65536] \
        [--jobs 10] [--ways native,rules] [--realtime] [--json FILE] [--output PAGE]

Every job makes one kind of calls and no others (benchmarks/first_touch.c), with an empty cache; `rules` is --learn off. Call
number n took the median of the slowest ranks' times in the jobs. A window's figure is the mean over its calls. So calls
which meet fresh memory count, however few they are. `settled` is the last window. `ratio`: the slowest window from call 20 on
over the settled one. Faults: those of all ranks in a window's calls, the median over the jobs. Virtual machines move their
cores: where they lie is looked at before every job, and near and far ones (core_distance.py) are told apart.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import side_by_side

# isort: split
import job
import mpis
from core_distance import where_cores_are
from harness import SHIM, build_yield_preload
from lists import AddUp
from messages import add_round_options, before_others, kept_rounds, write_page
from numpy.typing import NDArray
from unisono.common import units
from unisono.machine.host import usable_cores

OPERATIONS = "bcast,allreduce,allgather,alltoall"
SIZES = ",".join(str(1 << shift) for shift in range(12, 21, 2))
WAYS: dict[str, dict[str, str]] = {"native": {}, "rules": {"UNISONO_LEARN": "off"}}
# Windows end before these calls, the last one with the job.
ENDS = (5, 19, 49, 199, 499, 999, 1999, 4999)
FIRST_THAT_COUNTS = 19  # call 20
# Pieces go through all of a slot's memory from the 32nd MiB on, at least after 256 calls. A job lasts until all of that has
# been touched and some hundred calls more.
BYTES_OF_JOB, LEAST_CALLS, MOST_CALLS = 80 << 20, 700, 16000

Calls = dict[str, NDArray[np.float64]]  # by what it is ("us", "faults"): of each call


def calls_of(size: int, arguments: argparse.Namespace) -> int:
    if arguments.calls:
        return int(arguments.calls)
    return min(max(BYTES_OF_JOB // size, LEAST_CALLS), MOST_CALLS)


def windows_of(calls: int) -> list[tuple[int, int]]:
    """First and behind the last, counted from 0; the last one has at least a fifth of the calls."""
    ends = [end for end in ENDS if end <= calls * 4 // 5]
    return list(zip([0, *ends], [*ends, calls], strict=True))


def run(mpi: mpis.Mpi, way: str, operation: str, size: int, arguments: argparse.Namespace) -> Calls:
    """One job."""
    environment = {"UNISONO_CACHE": "", "UNISONO_LOG": "quiet", **WAYS[way]} if way != "native" else {}
    if arguments.ranks > usable_cores() and not mpi.is_yielding:
        environment["LD_PRELOAD"] = str(build_yield_preload())
    program = side_by_side.compiled(mpi, "first_touch", side_by_side.CALLS_BY_NAME)
    command = [
        *(before_others(mpi, arguments.ranks) if arguments.realtime else []),
        *([] if way == "native" else [SHIM]),
        *[program, operation, str(size), str(calls_of(size, arguments))],
    ]
    line = mpi.launch(arguments.ranks, command, environment)
    fair = side_by_side.fair(mpi, line, arguments.ranks)
    result = job.run(fair, mpis.launcher_environment(mpi), timeout=arguments.timeout).check()
    told = json.loads(result.output.strip().splitlines()[-1])
    return {key: np.array(told[key]) for key in ("us", "faults")}


def means_of_windows(jobs: Sequence[Calls], key: str, calls: int) -> list[float]:
    """The mean over a window's calls of the medians over the jobs."""
    of_calls = np.median([one[key] for one in jobs], axis=0)
    return [float(of_calls[begin:end].mean()) for begin, end in windows_of(calls)]


def faults_of_windows(jobs: Sequence[Calls], calls: int) -> list[float]:
    sums = [[one["faults"][begin:end].sum() for begin, end in windows_of(calls)] for one in jobs]
    return [float(one) for one in np.median(sums, axis=0)]


def row_of(jobs: Sequence[Calls], calls: int) -> dict[str, Any]:
    us = means_of_windows(jobs, "us", calls)
    later = [one for one, (begin, _) in zip(us, windows_of(calls), strict=True) if begin >= FIRST_THAT_COUNTS]
    return {
        "us": us,
        "faults": faults_of_windows(jobs, calls),
        "ratio": max(later) / us[-1],
        "jobs": len(jobs),
        "calls": calls,
    }


def measured(
    mpi: mpis.Mpi, operation: str, size: int, arguments: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """A row for each way and place of the cores."""
    before = before_others(mpi, 2) if arguments.realtime else []
    jobs: dict[tuple[str, str], list[Calls]] = {}
    for turn in range(arguments.jobs):
        for way in side_by_side.rotated(arguments.ways.split(","), turn):
            cores = where_cores_are(before)
            jobs.setdefault((way, cores), []).append(run(mpi, way, operation, size, arguments))
    for (way, cores), taken in sorted(jobs.items()):
        yield {
            "mpi": mpi.name,
            "ranks": arguments.ranks,
            "operation": operation,
            "bytes": size,
            "way": way,
            "cores": cores,
            **row_of(taken, calls_of(size, arguments)),
        }


def heads() -> Iterator[str]:
    yield "| MPI | ranks | calls | way | cores | jobs | microseconds, by windows of calls | faults | ratio |"
    yield "| --- " * 9 + "|"


def row_text(row: dict[str, Any]) -> str:
    names = [f"{begin + 1}-{end}" for begin, end in windows_of(row["calls"])]
    times = ", ".join(f"{name}: {one:.3g}" for name, one in zip(names, row["us"], strict=True))
    faults = ", ".join(f"{one:.0f}" for one in row["faults"])
    words = [
        row["mpi"],
        str(row["ranks"]),
        f"{row['operation']} of {units.bytes_text(row['bytes'])}",
        row["way"],
        row["cores"],
        str(row["jobs"]),
        times,
        faults,
        f"{row['ratio']:.2f}",
    ]
    return "| " + " | ".join(words) + " |"


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--mpi", action="append", choices=[mpi.name for mpi in mpis.ALL], help="default: openmpi5"
    )
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--operation", action=AddUp, default=OPERATIONS, help="by commas")
    parser.add_argument("--size", action=AddUp, default=SIZES, help="bytes, by commas")
    parser.add_argument("--ways", action=AddUp, default=",".join(WAYS), help="by commas")
    parser.add_argument("--jobs", type=int, default=10, help="of each way (default 10)")
    parser.add_argument(
        "--calls", type=int, default=0, help="of a job; default: as many as its size asks for"
    )
    parser.add_argument("--timeout", type=float, default=60, help="of a job, seconds")
    add_round_options(parser)
    return parser.parse_args()


def main() -> None:
    arguments = parsed()
    rows = kept_rounds(arguments)
    print("\n".join(heads()), flush=True)
    for name in arguments.mpi or ["openmpi5"]:
        for operation in arguments.operation.split(","):
            for size in map(int, arguments.size.split(",")):
                new = list(measured(mpis.BY_NAME[name], operation, size, arguments))
                rows += new
                print("\n".join(map(row_text, new)), flush=True)
                if arguments.json:
                    arguments.json.write_text(json.dumps(rows))
    if arguments.output:
        write_page(["# First touch", "", *heads(), *map(row_text, rows)], arguments)


if __name__ == "__main__":
    main()
