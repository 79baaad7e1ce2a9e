# SPDX-License-Identifier: BSD-3-Clause
"""Runs of `unisono bench` under any of the MPIs under test, on this machine or on emulated nodes."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/integration")]
CALLS_BY_NAME = ROOT / "src/measure/measured_operations.h"  # how benchmarks call operations by their names

import job  # noqa: E402
import mpis  # noqa: E402
from harness import COMPILED, Cluster, build_yield_preload, is_outdated  # noqa: E402
from mpis import Layout, Mpi  # noqa: E402
from unisono.machine.host import usable_cores  # noqa: E402
from unisono.measuring import bench  # noqa: E402

Result = TypeVar("Result")


def rotated(ways: Sequence[str], turn: int) -> Iterator[str]:
    """All ways; each turn begins with another one."""
    return (ways[(i + turn) % len(ways)] for i in range(len(ways)))


def in_turns(ways: Sequence[str], rounds: int, run: Callable[[str], Result]) -> dict[str, list[Result]]:
    """What `run` has returned for each way in each round."""
    found: dict[str, list[Result]] = {way: [] for way in ways}
    for turn in range(rounds):
        for way in rotated(ways, turn):
            found[way].append(run(way))
    return found


def compiled(mpi: Mpi, name: str, *headers: Path) -> Path:
    """benchmarks/NAME.c with this MPI's wrapper, kept in build/integration until it, or one of its headers, changes."""
    source = ROOT / f"benchmarks/{name}.c"
    target = COMPILED / mpi.name / f"benchmark-{name}"
    if is_outdated(target, [source, *headers]):
        target.parent.mkdir(parents=True, exist_ok=True)
        # Another benchmark may run what is there.
        partial = target.with_name(f"{target.name}.{os.getpid()}")
        command = [mpi.compilers["c"], "-O2", f"-I{CALLS_BY_NAME.parent}", source, "-o", partial, "-lm"]
        job.run([*command, "-ldl", *mpi.link_flags], mpis.launcher_environment(mpi), timeout=120).check()
        partial.replace(target)
    return target


def words(
    mpi: Mpi,
    ranks: int,
    options: Sequence[str],
    layout: Layout | None = None,
    more: Mapping[str, str] | None = None,
    name: str = "collectives.c",
) -> list[str]:
    """The command line of a benchmark program under this MPI and Unisono, with settings of Unisono's where there are `more`;
    with `layout` on the nodes of a cluster."""
    # The nodes share this machine's cores: there every MPI yields.
    is_spinning = layout is not None and not mpi.is_yielding
    settings = {"LD_PRELOAD": str(build_yield_preload())} if is_spinning else {}
    line = fair(mpi, mpi.launch(ranks, [], settings, layout), ranks)
    os.environ.setdefault("UNISONO_HOME", str(ROOT / "build/release"))
    home = {"UNISONO_HOME": os.environ["UNISONO_HOME"]}
    with environment(mpis.launcher_environment(mpi) | home):
        settings = {"UNISONO_LOG": "quiet", **(more or {})}
        return bench.command_line(line, settings, options, mpi.compilers["c"], name)


def measure(
    mpi: Mpi,
    command: Sequence[str],
    timeout_s: float,
    on_cell: Callable[[bench.Cell], None],
    cluster: Cluster | None = None,
    is_realtime: bool = False,
) -> tuple[list[bench.Cell], int]:
    """Run what words() made. The cells, and the exit status (124 where the time was over)."""
    line = list(command) if cluster is None else cluster.on_head(command)
    if is_realtime and mpi.is_yielding:
        line = ["chrt", "-r", "10", *line]
    limit = ["timeout", "-k", "5", str(timeout_s)]
    with environment(mpis.launcher_environment(mpi)):
        return bench.measure([*limit, *line], on_cell)


@contextlib.contextmanager
def environment(wanted: dict[str, str]) -> Iterator[None]:
    """This process's environment for a while: one MPI's settings break another."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(wanted)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def fair(mpi: Mpi, line: Sequence[str], ranks: int) -> list[str]:
    """Each MPI as it is fastest: it yields only where ranks share cores."""
    launch = list(line)
    if ranks > usable_cores():
        return launch
    if "mpi_yield_when_idle" in launch:
        launch[launch.index("mpi_yield_when_idle") + 1] = "0"
    if "I_MPI_THREAD_YIELD" in launch:
        launch[launch.index("I_MPI_THREAD_YIELD") + 1] = "0"
    return launch
