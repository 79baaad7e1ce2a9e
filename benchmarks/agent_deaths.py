#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Kills agents and ranks at random moments of jobs with calls under way, and says what became of the jobs.

    .venv/bin/python benchmarks/agent_deaths.py [--mpi openmpi5 ...] [--agents 100] [--hosts 100] [--layout 2x1]

tests/integration/programs/many_started.c has the program: it looks at each result. The nodes are pretended, on
this machine. After an agent's death (kill -9, at most 4 in a job) a job must end well, with a message; after a
rank's its agents must end. Nothing may be left: no process, no file in /dev/shm or in the folder for temporary
files. The exit status is 1 where anything was otherwise. How long messages and ends took is printed.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import side_by_side  # noqa: F401

# isort: split
import mpis
from agent_jobs import Running, calling
from harness import compile_program

MOST_IN_A_JOB = 4


def files_of_ours() -> set[str]:
    """What of Unisono's lies about."""
    folders = (Path("/dev/shm"), Path(tempfile.gettempdir()))
    return {str(path) for folder in folders for path in folder.iterdir() if "unisono" in path.name}


def seconds_until(condition: Callable[[], object], most: float) -> float:
    """How long it took; `most` where it did not come true."""
    begin = time.monotonic()
    while time.monotonic() - begin < most:
        if condition():
            return time.monotonic() - begin
        time.sleep(0.005)
    return most


def kill_one_agent(running: Running, number: int) -> float | None:
    """After how many seconds the user was told; None where there was no agent."""
    agents = running.agents()
    if not agents:
        return None
    os.kill(random.choice(agents), signal.SIGKILL)
    return seconds_until(lambda: f"({number} of 5 times)" in running.errors(), 10)


def deaths_of_agents(mpi: mpis.Mpi, count: int, layout: str, found: Counter[str]) -> list[float]:
    told = []
    while count > 0:
        of_this_job = min(count, random.randint(1, MOST_IN_A_JOB))
        count -= of_this_job
        with (
            tempfile.TemporaryDirectory() as folder,
            calling(mpi, Path(folder), 1.5 + 2.5 * of_this_job, layout) as running,
        ):
            for number in range(1, of_this_job + 1):
                time.sleep(random.uniform(0, 1))
                after = kill_one_agent(running, number)
                if after is None:
                    found["agents that were not there"] += 1
                    break
                told.append(after)
                found["agents killed"] += 1
                # Those that follow are killed at any moment of their lives, but when there are some.
                seconds_until(running.agents, 10)
            status = running.process.wait(120)
            output = (Path(folder) / "output").read_text()
            found["jobs that ended well"] += status == 0 and output.startswith("OK, ")
            if status != 0 or not output.startswith("OK, "):
                found["jobs that did not"] += 1
                print(f"{mpi.name}: status {status}\n{output}\n{running.errors()}", file=sys.stderr)
            found["processes left"] += seconds_until(running.is_over, 5) >= 5
    return told


def deaths_of_hosts(mpi: mpis.Mpi, count: int, layout: str, found: Counter[str]) -> list[float]:
    gone = []
    program = compile_program(mpi, "many_started.c")
    for _ in range(count):
        with tempfile.TemporaryDirectory() as folder, calling(mpi, Path(folder), 60, layout) as running:
            time.sleep(random.uniform(0, 0.5))
            os.kill(random.choice(running.processes(program)), signal.SIGKILL)
            gone.append(seconds_until(lambda: not running.agents(), 10))
            found["ranks killed"] += 1
            found["jobs that ended well after a rank's death"] += running.process.wait(60) == 0
            found["processes left"] += seconds_until(running.is_over, 5) >= 5
    return gone


def text_of(seconds: list[float]) -> str:
    middle = sorted(seconds)[len(seconds) // 2]
    return f"{middle:.2f} s, at most {max(seconds):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--mpi", action="append", choices=[m.name for m in mpis.ALL], help="default: openmpi5"
    )
    parser.add_argument("--agents", type=int, default=100, help="so many are killed, with each MPI")
    parser.add_argument("--hosts", type=int, default=100, help="so many ranks are killed, with each MPI")
    parser.add_argument("--layout", default="2x1", metavar="NxM", help="pretended nodes x ranks of each")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    random.seed(arguments.seed)
    is_well = True
    for name in arguments.mpi or ["openmpi5"]:
        mpi, found, before = mpis.BY_NAME[name], Counter[str](), files_of_ours()
        told = deaths_of_agents(mpi, arguments.agents, arguments.layout, found)
        gone = deaths_of_hosts(mpi, arguments.hosts, arguments.layout, found)
        left = files_of_ours() - before
        print(f"{name}: " + ", ".join(f"{what} {count}" for what, count in found.items()))
        if told:
            print(f"{name}: told after {text_of(told)}")
        if gone:
            print(f"{name}: after a rank's death agents were gone after {text_of(gone)}")
        print(f"{name}: files left: {' '.join(sorted(left)) or 'none'}")
        ends = found["jobs that did not"] + found["processes left"] + len(left)
        is_well = is_well and ends == 0
    sys.exit(0 if is_well else 1)


if __name__ == "__main__":
    main()
