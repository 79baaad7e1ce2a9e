#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What is left to wait of an allreduce whose ranks sleep meanwhile: natively, under Unisono, and with agents of both kinds.

    .venv/bin/python benchmarks/agents.py [--mpi openmpi5 ...] [--layout 2x1] [--sleep 100,300,1000] [--output PAGE]

needs root: nodes are emulated. benchmarks/agents.c has the program: 4 doubles, MPI_THREAD_SINGLE. Each round
runs it in each way, in an order that changes. A round's figure is the median of its calls, each the longest
rank's; the table has the median of the rounds, and the least and the most of them. `there` is the wait for a
receive whose message was there before the sleep: what a wait takes that has nothing to wait for. Hidden is
what was not left of a blocking allreduce of the same round, in percent.

A second table has calls without a sleep in between. The first of them finds the agents asleep, the second one
does not: what it takes less is what it takes to wake them. Then one of 64 calls that are under way together, of
broadcasts, which agents confirm to each other, and of allreduces, which they need not. The last lines say what
share of a core an agent takes while its ranks sleep for `--idle` seconds.

With `--native-with NAME=VALUE` there is one way more, natively with such a variable: I_MPI_ASYNC_PROGRESS=1
gives Intel MPI a thread of its own that goes on with calls.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import side_by_side

# isort: split
import job
import mpis
from harness import BUILD, Cluster, build_yield_preload
from lists import AddUp
from messages import write_page
from overlap import layout_of, name_of
from unisono.common import units
from unisono.machine.host import usable_cores

COMMAND = [str(BUILD / "bin/unisono"), "run", "--learn", "off", "--cache", ""]
WAYS: dict[str, list[str]] = {
    "native": [],
    "unisono": [*COMMAND, "--"],
    "agents": [*COMMAND, "--agents", "1", "--"],
    "threads": [*COMMAND, "--agents", "thread", "--"],
}
COLUMNS = ("start", "left", "there", "blocking", "woken", "awake", "bcasts", "allreduces")
BESIDE_A_SLEEP = COLUMNS[:4]
AT_ONCE = COLUMNS[4:]


def setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is no NAME=VALUE")
    return name, value


def ways_of(arguments: argparse.Namespace) -> dict[str, dict[str, str]]:
    """All ways, each with the variables that the job has there and nowhere else."""
    ways: dict[str, dict[str, str]] = {way: {} for way in WAYS}
    given = dict(arguments.native_with)
    if given:
        ways["native, " + " ".join(f"{name}={value}" for name, value in given.items())] = given
    return ways


def command_of(
    mpi: mpis.Mpi, way: str, calls: int, sleep_us: int, cluster: Cluster, arguments: argparse.Namespace
) -> tuple[list[str], dict[str, str]]:
    """The job, and its environment."""
    program = [side_by_side.compiled(mpi, "agents"), str(calls), str(sleep_us)]
    # The nodes share this machine's cores: every MPI yields.
    settings = {} if mpi.is_yielding else {"LD_PRELOAD": str(build_yield_preload())}
    layout: mpis.Layout = arguments.layout
    line = mpi.launch(layout.ranks, program, settings | ways_of(arguments)[way], layout)
    environment = {**mpis.launcher_environment(mpi), "UNISONO_HOME": str(BUILD)}
    return cluster.on_head([*WAYS.get(way, []), *line]), environment


def seconds_of(agent: Path) -> float:
    """That it has had of a core."""
    fields = (agent / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# By which name the system knows an agent, as a process or as a thread of a rank.
AGENTS = {
    "agents": ("[0-9]*/comm", "unisono-agent"),
    "threads": ("[0-9]*/task/[0-9]*/comm", "unisono-agents"),
}


def agents_in(networks: set[str], way: str) -> list[Path]:
    """Folders of /proc: of the agents on these nodes alone, since others may run on the machine as well."""
    found = []
    pattern, name = AGENTS[way]
    for file in Path("/proc").glob(pattern):
        with suppress(OSError):
            if file.read_text() == f"{name}\n" and os.readlink(file.parent / "ns/net") in networks:
                found.append(file.parent)
    return found


def idle_share(mpi: mpis.Mpi, way: str, cluster: Cluster, arguments: argparse.Namespace) -> float:
    """Of a core, the agent's that takes most, while all ranks sleep."""
    sleep_us = int(1e6 * (arguments.idle + 5))
    command, environment = command_of(mpi, way, 1, sleep_us, cluster, arguments)
    mark = uuid.uuid4().hex
    process = subprocess.Popen(
        command, env={**environment, job.MARK: mark}, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        nodes = range(len(arguments.layout.ranks_per_node))
        networks = {cluster.on_node(node, "readlink", "/proc/self/ns/net").strip() for node in nodes}
        job.wait_until(lambda: len(agents_in(networks, way)) == len(nodes), 20)
        time.sleep(2)
        before = {agent: seconds_of(agent) for agent in agents_in(networks, way)}
        time.sleep(arguments.idle)
        return max(seconds_of(agent) - seconds for agent, seconds in before.items()) / arguments.idle
    finally:
        process.kill()
        process.wait()
        job.sweep(mark)


def run(
    mpi: mpis.Mpi, way: str, sleep_us: int, cluster: Cluster, arguments: argparse.Namespace
) -> dict[str, float]:
    """One job: the medians of its calls, seconds."""
    command, environment = command_of(mpi, way, arguments.calls, sleep_us, cluster, arguments)
    output = job.run(command, environment, timeout=arguments.timeout).check().output
    rows = np.array([[float(word) for word in text.split()] for text in output.splitlines()])
    return dict(zip(COLUMNS, np.median(rows, axis=0).tolist(), strict=True))


def measured(mpi: mpis.Mpi, cluster: Cluster, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """For each sleep and way the figures of all rounds."""
    for sleep_us in (int(word) for word in arguments.sleep.split(",")):
        found = side_by_side.in_turns(
            list(ways_of(arguments)),
            arguments.rounds,
            partial(run, mpi, sleep_us=sleep_us, cluster=cluster, arguments=arguments),
        )
        for way, rounds in found.items():
            yield {"mpi": mpi.name, "sleep_us": sleep_us, "way": way, "rounds": rounds}


def text_of(values: list[float]) -> str:
    low, middle, high = (units.seconds_text(value) for value in (min(values), np.median(values), max(values)))
    return middle if len(values) == 1 else f"{middle} ({low} to {high})"


def times_of(row: dict[str, Any]) -> dict[str, list[float]]:
    return {name: [one[name] for one in row["rounds"]] for name in COLUMNS}


def page(rows: list[dict[str, Any]], idle: dict[str, float], arguments: argparse.Namespace) -> Iterator[str]:
    yield "# Started calls and agents"
    yield ""
    yield f"{name_of(arguments.layout)} ranks on emulated nodes of this machine, {usable_cores()} cores, {arguments.rounds} rounds of {arguments.calls} calls in turn, all ranks asleep between start and wait."
    yield ""
    yield "| MPI | asleep | way | start | left to wait | a wait that has nothing to wait for | blocking | hidden |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for row in rows:
        times = times_of(row)
        hidden = [100 * (1 - one["left"] / one["blocking"]) for one in row["rounds"]]
        words = [
            row["mpi"],
            f"{row['sleep_us']} us",
            row["way"],
            *(text_of(times[name]) for name in BESIDE_A_SLEEP),
        ]
        yield f"| {' | '.join(words)} | {np.median(hidden):.0f} % |"
    yield ""
    yield "| MPI | asleep before | way | the first call | the second one | one of many broadcasts | one of many allreduces |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for row in rows:
        times = times_of(row)
        words = [row["mpi"], f"{row['sleep_us']} us", row["way"], *(text_of(times[name]) for name in AT_ONCE)]
        yield f"| {' | '.join(words)} |"
    yield ""
    for name, share in idle.items():
        yield f"- {name}: an idle agent takes {100 * share:.2f} % of a core."


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--mpi",
        action="append",
        choices=[m.name for m in mpis.ALL if m.has_cluster],
        help="default: openmpi5",
    )
    parser.add_argument(
        "--layout", type=layout_of, default=layout_of("2x1"), metavar="NxM", help="nodes x ranks of each"
    )
    parser.add_argument(
        "--native-with",
        type=setting,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a variable of one more way, which is native otherwise; may be repeated",
    )
    parser.add_argument("--sleep", action=AddUp, default="100,300,1000", help="microseconds, by commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument(
        "--idle", type=float, default=5, help="seconds in which ranks sleep, to see agents idle"
    )
    parser.add_argument("--timeout", type=float, default=120, help="most seconds for a job")
    parser.add_argument("--output", type=Path, help="a page; default: standard output")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    idle: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder) / "cluster", len(arguments.layout.ranks_per_node))
        try:
            for name in arguments.mpi or ["openmpi5"]:
                rows += measured(mpis.BY_NAME[name], cluster, arguments)
                for way in AGENTS:
                    idle[f"{name}, {way}"] = idle_share(mpis.BY_NAME[name], way, cluster, arguments)
        finally:
            cluster.down()
    write_page(page(rows, idle, arguments), arguments)


if __name__ == "__main__":
    main()
