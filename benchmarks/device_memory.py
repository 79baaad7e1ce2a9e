#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Collectives with buffers in the memory of a GPU, natively and under Unisono, which take turns in one run.

    .venv/bin/python benchmarks/device_memory.py                 a table of all MPIs that are there
    .venv/bin/python benchmarks/device_memory.py --ranks 8 --rounds 5 --mpi intel

Needs a GPU of NVIDIA's. MPIs that take no memory of GPUs have no native times: there Unisono's stand alone. An Open MPI that was
built with CUDA is named by CUDA_OPENMPI=PREFIX.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from side_by_side import ROOT

# isort: split
sys.path.insert(0, str(ROOT / "tests/device"))
from gpus import ALL, Installed, cuda_library
from harness import RULES_ALONE, Runner, build_yield_preload, compile_program
from unisono.common import units

# What each kind of run sets: Unisono as it is when nothing is asked of it, and all calls by copies.
WAYS = {
    "native": None,
    "default": {"UNISONO_CACHE": "", "UNISONO_SITE_TABLE": ""},
    # Option 'algorithm' lets no communicator be the MPI's as a whole.
    "copies": {**RULES_ALONE, "UNISONO_ALGORITHM": "barrier:shared"},
}

Cell = tuple[str, int]


def run(installed: Installed, way: str, ranks: int, scratch: Path) -> dict[Cell, float]:
    """Microseconds by operation and bytes. Nothing where the job fails."""
    mpi = installed.mpi
    runner = Runner(build_yield_preload(), scratch)
    command = [compile_program(mpi, "device_times.c", flags=["-ldl"]), cuda_library()]
    settings = {**(installed.if_aware or {}), **(WAYS[way] or {})}
    start = runner.run if way == "native" else runner.unisono
    result = start(mpi, ranks, command, settings, timeout=150)
    if result.status != 0:
        print(f"{mpi.name}, {way}: {result}", file=sys.stderr)
        return {}
    rows = (line.split() for line in result.output.splitlines())
    return {(name, int(size)): float(time_us) for name, size, time_us in rows}


def measure(installed: Installed, ranks: int, rounds: int) -> list[str]:
    """The lines of the table: medians over rounds, and how often as fast as native Unisono is."""
    ways = [way for way in WAYS if way != "native" or installed.if_aware is not None]
    if installed.if_aware is None:
        ways.remove("default")  # the MPI may be asked to make some calls
    times: defaultdict[tuple[str, Cell], list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(rounds):
            for way in ways:
                for cell, time_us in run(installed, way, ranks, Path(scratch)).items():
                    times[way, cell].append(time_us)
    cells = list(dict.fromkeys(cell for _, cell in times))
    lines = []
    for name, size in cells:
        medians = {
            way: statistics.median(times[way, (name, size)]) for way in ways if times[way, (name, size)]
        }
        native = medians.get("native")
        words = [installed.mpi.name, name, units.bytes_text(size)]
        words += [f"{medians[way]:.0f}" if way in medians else "" for way in WAYS]
        words += [
            f"{native / medians[way]:.2f}" if native and way in medians else ""
            for way in ("default", "copies")
        ]
        lines.append("| " + " | ".join(words) + " |")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mpi", action="append", choices=[entry.mpi.name for entry in ALL])
    arguments = parser.parse_args()
    print(
        "| MPI | operation | bytes of a rank | native, us | default, us | copies, us | default over native | copies over native |"
    )
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for entry in ALL:
        if arguments.mpi is None or entry.mpi.name in arguments.mpi:
            print("\n".join(measure(entry, arguments.ranks, arguments.rounds)), flush=True)


if __name__ == "__main__":
    main()
