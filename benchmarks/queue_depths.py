#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How long queues are: what a recording says, beside Open MPI's own counters (MPI_T), as a table in Markdown.

    .venv/bin/python benchmarks/queue_depths.py [--ranks 4] [--only fire,stencil,reverse]

A row is rank 0 of a program under Open MPI 5. It has how many messages wait (pml_ob1_unexpected_msgq_length), and how many
receives (pml_ob1_posted_recvq_length): means, and the most, over the moments at which Open MPI was asked. The range is what
`unisono match report` makes of the recording for the same moments. *Inside* is how many of them lie in the range, give or
take two.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import side_by_side

# isort: split
import job
import mpis
from harness import BUILD, is_outdated
from lists import AddUp
from mpis import Mpi

# What is run, and with which arguments.
PROGRAMS = {
    "fire": ("applications/fire", ["1024", "4", "20"]),
    "stencil": ("applications/stencil", ["2", "256", "2000"]),
    "reverse": ("messages", ["gather", "2000", "20"]),
}


def built(mpi: Mpi, name: str) -> Path:
    """A program of benchmarks/, compiled with this MPI's wrapper."""
    source = side_by_side.ROOT / f"benchmarks/{name}.c"
    target = side_by_side.COMPILED / mpi.name / f"depths-{source.stem}"
    if is_outdated(target, [source]):
        target.parent.mkdir(parents=True, exist_ok=True)
        command = [mpi.compilers["c"], "-O2", source, "-o", target, "-lm", *mpi.link_flags]
        job.run(command, mpis.launcher_environment(mpi), timeout=120).check()
    return target


def unisono(*words: str | Path) -> str:
    """What the command says."""
    mpi = mpis.BY_NAME["openmpi5"]
    environment = mpis.launcher_environment(mpi) | {"UNISONO_HOME": str(BUILD)}
    command = [sys.executable, "-m", "unisono", *map(str, words)]
    environment["PYTHONPATH"] = str(side_by_side.ROOT / "python")
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=True)
    return run.stdout


def row(name: str, ranks: int, folder: Path) -> Sequence[str]:
    """Run, record and report on one program."""
    mpi = mpis.BY_NAME["openmpi5"]
    source, arguments = PROGRAMS[name]
    trace = folder / f"{name}.trace"
    line = mpi.launch(ranks, [built(mpi, source), *arguments])
    unisono("run", "--record-messages", trace, "--record-bytes", "256M", "--", *line)
    told = json.loads(unisono("match", "report", trace, "--rank", "0", "--json"))
    messages = told["of_ranks"][0]["mpi_samples"]

    def shown(samples: dict) -> Sequence[str]:
        return (
            f"{samples['low_mean']:.1f} to {samples['high_mean']:.1f}",
            f"{samples['mean']:.1f}",
            f"{samples['max']}",
            f"{100 * samples['inside'] / samples['searches']:.0f} %",
        )

    return name, str(messages["searches"]), *shown(messages), *shown(messages["receives"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--only", action=AddUp, default=",".join(PROGRAMS), help=f"of {', '.join(PROGRAMS)}")
    arguments = parser.parse_args()
    each = ("range", "Open MPI", "most", "inside")
    heads = ["program", "looks", *(f"{what}: {head}" for what in ("messages", "receives") for head in each)]
    print(f"| {' | '.join(heads)} |\n| {' | '.join('---' for _ in heads)} |")
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.only.split(","):
            print(f"| {' | '.join(row(name, arguments.ranks, Path(folder)))} |", flush=True)


if __name__ == "__main__":
    main()
