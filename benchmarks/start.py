#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How long a hello world takes, natively and under `unisono run`, in turns: 2 and 8 ranks on every MPI that is here.

Prints a table: medians, the difference, and the ratio of medians with its 95 % interval. The aim is a ratio of 1.02 at most, or
15 ms. A line before it says what state the machine is in: on a busy one the intervals are wide, and say so.

    benchmarks/start.py --rounds 20 --mpi openmpi5,mpich5
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests/integration"))

import mpis  # noqa: E402 - it lies there
from mpis import Mpi  # noqa: E402
from unisono.machine.host import processor_name, usable_cores  # noqa: E402
from unisono.measuring.bench import ratio_interval  # noqa: E402

UNISONO = ROOT / "build/release/bin/unisono"
MOST_RATIO, MOST_MORE_S = 1.02, 0.015
HELLO = """
#include <mpi.h>
int main(int count, char** words) {
  MPI_Init(&count, &words);
  MPI_Finalize();
  return 0;
}
"""


def compiled(mpi: Mpi, folder: Path) -> Path:
    source, program = folder / "hello.c", folder / f"hello-{mpi.name}"
    source.write_text(HELLO)
    command = [mpi.compilers["c"], "-O1", "-o", program, source, *mpi.link_flags]
    subprocess.run(command, env=mpis.launcher_environment(mpi), check=True)
    return program


def seconds(command: list[str], environment: dict[str, str]) -> float:
    begin = time.perf_counter()
    subprocess.run(command, env=environment, stdout=subprocess.DEVNULL, timeout=60, check=True)
    return time.perf_counter() - begin


def measure(mpi: Mpi, program: Path, ranks: int, rounds: int) -> str:
    """A line of the table. The first round of each is left out: it reads files that later ones find in memory."""
    line = [str(word) for word in mpi.launch(ranks, [program])]
    environment = mpis.launcher_environment(mpi)
    native, under = [], []
    for turn in range(rounds + 1):
        for command, samples in sorted(
            [(line, native), ([str(UNISONO), "run", *line], under)],
            key=lambda one: len(one[0]),
            reverse=turn % 2 == 1,
        ):
            samples.append(seconds(command, environment))
    first, second = np.array(under[1:]), np.array(native[1:])
    low, high = ratio_interval(first, second, np.random.default_rng(0))
    ratio = statistics.median(first) / statistics.median(second)
    more = statistics.median(first) - statistics.median(second)
    is_met = ratio <= MOST_RATIO or more <= MOST_MORE_S
    return (
        f"| {mpi.name} | {ranks} | {statistics.median(second) * 1e3:.1f} | {statistics.median(first) * 1e3:.1f} | "
        f"{more * 1e3:+.1f} | {ratio:.3f} ({low:.3f} to {high:.3f}) | {'yes' if is_met else 'no'} |"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=20, help="how often each is run")
    parser.add_argument("--ranks", default="2,8", help="numbers of ranks, separated by commas")
    parser.add_argument("--mpi", help="only these, separated by commas")
    given = parser.parse_args()
    wanted = given.mpi.split(",") if given.mpi else list(mpis.BY_NAME)
    load = ", ".join(f"{part:.1f}" for part in os.getloadavg())
    print(f"{processor_name()}, {usable_cores()} usable; load {load}; {time.strftime('%Y-%m-%d %H:%M')}\n")
    print("| MPI | ranks | native ms | Unisono ms | more ms | ratio (95 %) | within the aim |")
    print("| --- | ---: | ---: | ---: | ---: | --- | --- |")
    with tempfile.TemporaryDirectory(prefix="unisono-start-") as folder:
        for name in wanted:
            mpi = mpis.BY_NAME[name]
            if not mpi.is_installed:
                continue
            program = compiled(mpi, Path(folder))
            for ranks in map(int, given.ranks.split(",")):
                print(measure(mpi, program, ranks, given.rounds), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
