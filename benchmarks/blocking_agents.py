#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A blocking allreduce of 8 bytes: natively, under Unisono, by agents that are forced, and where learning has them to choose from.

    .venv/bin/python benchmarks/blocking_agents.py [--mpi openmpi5 ...] [--layout 2x1] [--latency 100] [--output PAGE]

needs root: nodes are emulated. benchmarks/blocking_agents.c has the program. Each round runs it in each way, in
an order that changes. The table has the median of the rounds, the least and the most of them, and how long
that is beside the native calls of the same round. `learning` begins with what star tries, agents too, and says
what each round has chosen.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import side_by_side

# isort: split
import job
import mpis
from harness import BUILD, Cluster, build_yield_preload
from messages import write_page
from overlap import layout_of, name_of
from unisono.machine.host import usable_cores

from agents import COMMAND, text_of

LEARNING = [str(BUILD / "bin/unisono"), "run", "--learn", "star", "--cache", ""]
FORCED = ["--algorithm", "allreduce:agents"]
WAYS: dict[str, list[str]] = {
    "native": [],
    "unisono": [*COMMAND, "--"],
    "agents": [*COMMAND, "--agents", "1", *FORCED, "--"],
    "threads": [*COMMAND, "--agents", "thread", *FORCED, "--"],
    "learning": [*LEARNING, "--agents", "1", "--"],
}


def run(
    mpi: mpis.Mpi, way: str, cluster: Cluster, folder: Path, arguments: argparse.Namespace
) -> tuple[float, str]:
    """One job: seconds a call, and what learning has chosen."""
    # The nodes share this machine's cores: every MPI yields.
    settings = {} if mpi.is_yielding else {"LD_PRELOAD": str(build_yield_preload())}
    program = [side_by_side.compiled(mpi, "blocking_agents"), str(arguments.calls)]
    line = mpi.launch(arguments.layout.ranks, program, settings, arguments.layout)
    report = folder / "report.json"
    environment = {
        **mpis.launcher_environment(mpi),
        "UNISONO_HOME": str(BUILD),
        "UNISONO_REPORT": str(report),
    }
    result = job.run(cluster.on_head([*WAYS[way], *line]), environment, timeout=arguments.timeout)
    seconds = float(result.check().output)
    if way != "learning":
        return seconds, ""
    learned = json.loads(report.read_text())["learning"]
    (chosen,) = (
        kind["chosen"] for kind in learned if kind["operation"] == "allreduce" and kind["bytes_high"] == 8
    )
    return seconds, chosen


def rows(mpi: mpis.Mpi, cluster: Cluster, folder: Path, arguments: argparse.Namespace) -> Iterator[str]:
    found = side_by_side.in_turns(
        list(WAYS), arguments.rounds, lambda way: run(mpi, way, cluster, folder, arguments)
    )
    for way, rounds in found.items():
        times = [seconds for seconds, _ in rounds]
        ratios = [own / native for own, (native, _) in zip(times, found["native"], strict=True)]
        chosen = ", ".join(name for _, name in rounds if name)
        yield f"| {mpi.name} | {way} | {text_of(times)} | {np.median(ratios):.2f} | {chosen} |"


def page(cluster: Cluster, folder: Path, arguments: argparse.Namespace) -> Iterator[str]:
    yield "# Blocking calls by agents"
    yield ""
    yield (
        f"{name_of(arguments.layout)} ranks on emulated nodes of this machine, {usable_cores()} cores, "
        f"{arguments.latency} us of added latency each way, {arguments.rounds} rounds of {arguments.calls} calls in turn."
    )
    yield ""
    yield "| MPI | way | a call | of native | chosen |"
    yield "| --- | --- | ---: | ---: | --- |"
    for name in arguments.mpi or ["openmpi5"]:
        yield from rows(mpis.BY_NAME[name], cluster, folder, arguments)


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
        "--latency", type=int, default=100, help="added to a message between nodes, us (default 100; 0: none)"
    )
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=4000)
    parser.add_argument("--timeout", type=float, default=120, help="most seconds for a job")
    parser.add_argument("--output", type=Path, help="a page; default: standard output")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        nodes = len(arguments.layout.ranks_per_node)
        cluster = Cluster(folder / "cluster", nodes, latency_us=arguments.latency or None)
        try:
            write_page(page(cluster, folder, arguments), arguments)
        finally:
            cluster.down()


if __name__ == "__main__":
    main()
