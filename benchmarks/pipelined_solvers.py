#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""PETSc's conjugate gradients, usual and pipelined: natively, with Unisono's thread, and with agents of both kinds, in turn.

    .venv/bin/python benchmarks/pipelined_solvers.py [--layout 2x1] [--latency 100] [--points 30,100] [--output PAGE]

needs root, since nodes are emulated, and Debian's packages python3-petsc4py and python3-mpi4py.
These go over Open MPI 4. benchmarks/pipelined_solver.py has the program: Poisson's equation on a square of
points for each rank, Jacobi's preconditioner, and a fixed number of iterations. A usual iteration has two
blocking allreduces or three. A pipelined one (KSPPIPECG) starts one allreduce, and multiplies by the matrix
before it waits for it. The program is the same in all ways, but for the thread level: Unisono's thread needs
MPI_THREAD_MULTIPLE. A round's figure is the median of a job's solves. The table has the median of the rounds,
the least and the most.
"""

from __future__ import annotations

import argparse
import glob
import os
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import side_by_side

# isort: split
import job
import mpis
from harness import BUILD, Cluster
from lists import AddUp
from messages import write_page
from overlap import layout_of, name_of
from unisono.machine.host import usable_cores

from agents import COMMAND, text_of

PROGRAM = side_by_side.ROOT / "benchmarks/pipelined_solver.py"
PETSC = "/usr/lib/petscdir/*/*-real/lib/python3/dist-packages"
# The command in front of the launcher, and the thread level that the program asks for.
WAYS: dict[str, tuple[list[str], str]] = {
    "native": ([], "single"),
    "native, multiple": ([], "multiple"),
    "unisono": ([*COMMAND, "--"], "single"),
    "its thread": ([*COMMAND, "--progress", "calls", "--"], "multiple"),
    "agents": ([*COMMAND, "--agents", "1", "--"], "single"),
    "agents, threads": ([*COMMAND, "--agents", "thread", "--"], "single"),
}
METHODS = ("cg", "pipecg")


def run(
    way: str, method: str, points: int, cluster: Cluster, arguments: argparse.Namespace
) -> tuple[float, float]:
    """One job: seconds an iteration, and the residual's norm at the end."""
    mpi = mpis.BY_NAME["openmpi4"]
    command, threads = WAYS[way]
    program = [
        "/usr/bin/python3", PROGRAM, method, str(points), str(arguments.iterations), str(arguments.solves), threads
    ]  # fmt: skip
    line = mpi.launch(arguments.layout.ranks, program, {"PYTHONPATH": arguments.petsc}, arguments.layout)
    environment = {**mpis.launcher_environment(mpi), "UNISONO_HOME": str(BUILD)}
    result = job.run(cluster.on_head([*command, *line]), environment, timeout=arguments.timeout)
    seconds, residual, iterations = result.check().output.split()
    # A pipelined method is one iteration behind with its residual.
    if int(iterations) not in (arguments.iterations, arguments.iterations + 1):
        sys.exit(f"{method}: {iterations} iterations in place of {arguments.iterations}")
    return float(seconds), float(residual)


def rows(cluster: Cluster, arguments: argparse.Namespace) -> Iterator[str]:
    for points in map(int, arguments.points.split(",")):
        for method in METHODS:
            of_method = partial(run, method=method, points=points, cluster=cluster, arguments=arguments)
            found = side_by_side.in_turns(list(WAYS), arguments.rounds, of_method)
            for way, rounds in found.items():
                times = [seconds for seconds, _ in rounds]
                ratios = [native / own for (native, _), own in zip(found["native"], times, strict=True)]
                residuals = {f"{residual:.6e}" for _, residual in rounds}
                yield f"| {points} x {points} | {method} | {way} | {text_of(times)} | {np.median(ratios):.2f} | {', '.join(sorted(residuals))} |"


def page(cluster: Cluster, arguments: argparse.Namespace) -> Iterator[str]:
    yield "# Pipelined solvers"
    yield ""
    yield (
        f"{name_of(arguments.layout)} ranks on emulated nodes of this machine, {usable_cores()} cores, "
        f"{arguments.latency} us of latency each way, {arguments.rounds} rounds in turn, "
        f"{arguments.solves} solves of {arguments.iterations} iterations each."
    )
    yield ""
    yield "| points of a rank | method | way | an iteration | native, of it | residual |"
    yield "| --- | --- | --- | ---: | ---: | ---: |"
    yield from rows(cluster, arguments)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--layout", type=layout_of, default=layout_of("2x1"), metavar="NxM", help="nodes x ranks of each"
    )
    parser.add_argument(
        "--latency", type=int, default=100, help="of a message between nodes, us (default 100)"
    )
    parser.add_argument("--points", action=AddUp, default="30,100", help="of a rank's square, by commas")
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--solves", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=120, help="most seconds for a job")
    parser.add_argument("--output", type=Path, help="a page; default: standard output")
    arguments = parser.parse_args()
    arguments.petsc = os.pathsep.join(sorted(glob.glob(PETSC)))
    if not arguments.petsc:
        parser.error("there is no petsc4py; install Debian's python3-petsc4py and python3-mpi4py")
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(
            Path(folder) / "cluster", len(arguments.layout.ranks_per_node), latency_us=arguments.latency
        )
        try:
            write_page(page(cluster, arguments), arguments)
        finally:
            cluster.down()


if __name__ == "__main__":
    main()
