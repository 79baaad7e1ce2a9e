#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whole programs natively, and by `unisono run --messages node` (or by `unisono run` as it comes), in turn.

    .venv/bin/python benchmarks/message_applications.py [--mpi openmpi5 ...] [--what fds,stencil] [--ranks 16,64] [--rounds 5]
                                                         [--messages node] [--json FILE] [--output PAGE]

| fds | 1024 meshes whose devices report to rank 0, as in FDS (M1-M6) | benchmarks/applications/fire.c |
| fds_small | the same with 64 meshes, whose queues are short: to compare | |
| stencil2, stencil3 | heat in two and three dimensions, exchange of faces | benchmarks/applications/stencil.c |
| blast | a blast wave in a gas, as LULESH: 26 neighbours and a minimum a step | benchmarks/applications/blast.c |
| sparse | conjugate gradients, as HPCG: 26 neighbours twice, three sums | benchmarks/applications/sparse.c |
| multigrid | V-cycles, as AMG: ever smaller boxes, one allgather, one sum | benchmarks/applications/multigrid.c |
| hello | MPI_Init and MPI_Finalize alone | benchmarks/applications/hello.c |
| pickled | mpi4py, objects to the next rank | benchmarks/applications/pickled.py |
| lammps | Debian's, a Lennard-Jones melt of 32,000 atoms (Open MPI 4 alone) | /usr/bin/lmp |
| hpcc | Debian's, with the input of the tests (Open MPI 4 alone) | /usr/bin/hpcc |

Each round runs a program both ways, in an order that changes. Times: `messages` and `whole` are what the program says (LAMMPS:
its loop), `command` is from the command's start to its end. `--messages default` leaves the option out.
Ratios are of medians over the rounds, native over Unisono, with the 95 % interval of a bootstrap over the rounds: above 1 Unisono
is faster. All runs of a program have to give the same results.
MPICH, which does not yield, gets a preload that does so where there are more ranks than cores, both ways.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import side_by_side

# isort: split
sys.path.insert(0, str(side_by_side.ROOT / "tests/conformance"))

import application_suites
import job
import mpis
import packages
from core_distance import where_cores_are
from harness import BUILD, COMPILED, build_yield_preload
from lists import AddUp
from messages import add_round_options, before_others, kept_rounds, write_page
from unisono.common import units
from unisono.machine.host import usable_cores
from unisono.measuring import bench

WAYS = ("native", "unisono")
APPLICATIONS = side_by_side.ROOT / "benchmarks/applications"
DEBIANS = ("openmpi4",)
Times = dict[str, float]
Command = list[str | Path]


@dataclass(frozen=True)
class Program:
    """A program: its numbers of ranks, and its command in a folder of its own, so many steps by the factor --scale."""

    ranks: tuple[int, ...]
    command: Callable[[mpis.Mpi, Path, float], Command]
    # Of the folder and of what was printed: seconds by name, and the results.
    read: Callable[[Path, str], tuple[Times, str]]
    mpis: tuple[str, ...] = tuple(mpi.name for mpi in mpis.ALL)


def steps(count: int, scale: float) -> str:
    return str(max(round(count * scale), 1))


def fire(meshes: int, count: int) -> Callable[[mpis.Mpi, Path, float], Command]:
    def command(mpi: mpis.Mpi, _folder: Path, scale: float) -> Command:
        return [side_by_side.compiled(mpi, "applications/fire"), str(meshes), "12", steps(count, scale)]

    return command


def stencil(dimensions: int, edge: int, count: int) -> Callable[[mpis.Mpi, Path, float], Command]:
    def command(mpi: mpis.Mpi, _folder: Path, scale: float) -> Command:
        program = side_by_side.compiled(mpi, "applications/stencil")
        return [program, str(dimensions), str(edge), steps(count, scale)]

    return command


def boxes(name: str, edge: int, count: int) -> Callable[[mpis.Mpi, Path, float], Command]:
    def command(mpi: mpis.Mpi, _folder: Path, scale: float) -> Command:
        program = side_by_side.compiled(mpi, f"applications/{name}", APPLICATIONS / "boxes.h")
        return [program, str(edge), steps(count, scale)]

    return command


def hello(mpi: mpis.Mpi, _folder: Path, _scale: float) -> Command:
    return [side_by_side.compiled(mpi, "applications/hello")]


def pickled(_mpi: mpis.Mpi, _folder: Path, scale: float) -> Command:
    return [sys.executable, APPLICATIONS / "pickled.py", steps(1000, scale)]


def lammps(_mpi: mpis.Mpi, folder: Path, scale: float) -> Command:
    text = (application_suites.INPUTS / "melt.lammps").read_text()
    text = text.replace("0 10 0 10 0 10", "0 20 0 20 0 20").replace(
        "run           100", f"run {steps(200, scale)}"
    )
    (folder / "melt.lammps").write_text(text)
    return [packages.program("lmp"), "-in", "melt.lammps", "-log", "none"]


def hpcc(_mpi: mpis.Mpi, folder: Path, _scale: float) -> Command:
    shutil.copy(application_suites.INPUTS / "hpccinf.txt", folder)
    return [packages.program("hpcc")]


def read_own(_folder: Path, printed: str) -> tuple[Times, str]:
    found = dict(re.findall(r"^(\w+) (\S+)$", printed, re.MULTILINE))
    return {name: float(found[name]) for name in ("messages", "whole")}, found["result"]


def read_nothing(_folder: Path, printed: str) -> tuple[Times, str]:
    return {}, printed.strip()


def read_lammps(_folder: Path, printed: str) -> tuple[Times, str]:
    loop = re.search(r"^Loop time of (\S+)", printed, re.MULTILINE)
    rows = application_suites.thermodynamics(printed)
    assert loop is not None and len(rows) > 1, printed
    return {"whole": float(loop[1])}, "\n".join(rows)


def read_hpcc(folder: Path, _printed: str) -> tuple[Times, str]:
    checks = application_suites.read_hpcc((folder / "hpccoutf.txt").read_text())
    return {}, json.dumps(checks)


PROGRAMS = {
    "fds": Program((16, 32, 64), fire(1024, 20), read_own),
    "fds_small": Program((16, 32, 64), fire(64, 20), read_own),
    "stencil2": Program((4, 8, 16), stencil(2, 512, 400), read_own),
    "stencil3": Program((4, 8, 16), stencil(3, 48, 400), read_own),
    "blast": Program((4, 8), boxes("blast", 24, 200), read_own),
    "sparse": Program((4, 8), boxes("sparse", 24, 60), read_own),
    "multigrid": Program((4, 8), boxes("multigrid", 32, 200), read_own),
    "hello": Program((4, 8), hello, read_nothing),
    "pickled": Program((2, 4), pickled, read_own),
    "lammps": Program((2, 4), lammps, read_lammps, DEBIANS),
    "hpcc": Program((4,), hpcc, read_hpcc, DEBIANS),
}


def environment_of_ranks(name: str, mpi: mpis.Mpi, ranks: int) -> dict[str, str]:
    own = {"UNISONO_CACHE": "", "UNISONO_SITE_TABLE": "", "UNISONO_LOG": "quiet"}
    if name == "pickled":
        own |= mpis.mpi4py_environment(mpi, COMPILED)
    if ranks > usable_cores() and not mpi.is_yielding:
        own["LD_PRELOAD"] = str(build_yield_preload())
    return own


def run(name: str, way: str, mpi: mpis.Mpi, ranks: int, arguments: argparse.Namespace) -> tuple[Times, str]:
    """One job: its times, seconds, and its results."""
    program = PROGRAMS[name]
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        before = before_others(mpi, ranks) if arguments.realtime else []
        words = [*before, *program.command(mpi, folder, arguments.scale)]
        line = side_by_side.fair(mpi, mpi.launch(ranks, words, environment_of_ranks(name, mpi, ranks)), ranks)
        own = mpis.launcher_environment(mpi)
        if way != "native":
            options = [] if arguments.messages == "default" else ["--messages", arguments.messages]
            line = [BUILD / "bin/unisono", "run", *options, "--", *line]
        result = job.run(line, own, arguments.timeout, folder).check()
        times, results = program.read(folder, result.output)
        return {**times, "command": result.seconds}, results


def state_of_machine(before: list[str]) -> str:
    load = ", ".join(f"{part:.1f}" for part in os.getloadavg())
    return f"cores {where_cores_are(before)}, load {load}"


def taken_in_turn(
    name: str, mpi: mpis.Mpi, ranks: int, arguments: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    """Rounds: the times of both ways, and the machine's state. Fails where results differ."""
    expected: str | None = None
    for turn in range(arguments.rounds):
        times: dict[str, Times] = {}
        for way in side_by_side.rotated(WAYS, turn):
            print(
                f"\r{mpi.name} {name} {ranks}: round {turn + 1} of {arguments.rounds}, {way}    ",
                end="",
                file=sys.stderr,
            )
            times[way], results = run(name, way, mpi, ranks, arguments)
            if expected is None:
                expected = results
            if results != expected:
                raise SystemExit(
                    f"\n{mpi.name} {name} {ranks}, {way}: other results\n{results}\nthan before\n{expected}"
                )
        machine = state_of_machine(before_others(mpi, 2) if arguments.realtime else [])
        print(f"{machine}    ", end="", file=sys.stderr)
        yield {"mpi": mpi.name, "what": name, "ranks": ranks, "machine": machine, **times}
    print(file=sys.stderr)


def summed_up(rounds: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Of rounds of one program on one MPI with one number of ranks: a row for each of its times."""
    random = np.random.default_rng(1)
    for time in rounds[0]["native"]:
        native, unisono = (np.array([one[way][time] for one in rounds]) for way in WAYS)
        low, high = bench.ratio_interval(native, unisono, random)
        yield {
            **{key: rounds[0][key] for key in ("mpi", "what", "ranks")},
            "time": time,
            "rounds": len(rounds),
            "native_s": float(np.median(native)),
            "unisono_s": float(np.median(unisono)),
            "ratio": float(np.median(native) / np.median(unisono)),
            "low": low,
            "high": high,
        }


def rows_of(rounds: list[dict[str, Any]]) -> list[dict[str, Any]]:
    groups: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
    for one in rounds:
        groups.setdefault((one["what"], one["mpi"], one["ranks"]), []).append(one)
    return [row for group in groups.values() for row in summed_up(group)]


def row_text(row: dict[str, Any]) -> str:
    times = f"{units.seconds_text(row['native_s'])} | {units.seconds_text(row['unisono_s'])}"
    ratio = f"{row['ratio']:.3g} ({row['low']:.3g} to {row['high']:.3g})"
    return f"| {row['what']} | {row['mpi']} | {row['ranks']} | {row['time']} | {row['rounds']} | {times} | {ratio} |"


def page(rounds: list[dict[str, Any]], arguments: argparse.Namespace) -> Iterator[str]:
    yield f"# Programs natively and under Unisono, messages: {arguments.messages}"
    yield ""
    before = ", before all other processes" if arguments.realtime else ""
    states = "; ".join(dict.fromkeys(one["machine"] for one in rounds))
    yield f"On {usable_cores()} cores{before}, native and Unisono in turn, the same results. The machine: {states}."
    yield ""
    yield "| program | MPI | ranks | time | rounds | native | Unisono | ratio (95 %) |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    yield from map(row_text, rows_of(rounds))


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [mpi.name for mpi in mpis.ALL]
    parser.add_argument(
        "--mpi", action="append", choices=names, help="default: openmpi5; openmpi4 for Debian's programs"
    )
    parser.add_argument("--what", action=AddUp, default=",".join(PROGRAMS), help="programs, by commas")
    parser.add_argument("--ranks", action=AddUp, default="", help="by commas; default: each program's own")
    parser.add_argument(
        "--messages", default="node", choices=("node", "all", "auto", "off", "default"), help="default: node"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1, help="so many times as many steps (not hpcc)")
    parser.add_argument("--timeout", type=float, default=300, help="of a job, seconds")
    add_round_options(parser)
    arguments = parser.parse_args()
    for name in arguments.what.split(","):
        if name not in PROGRAMS:
            parser.error(f"--what {name}: there are {', '.join(PROGRAMS)}")
    if not all(word.isdecimal() for word in filter(None, arguments.ranks.split(","))):
        parser.error(f"--ranks {arguments.ranks}: numbers, by commas")
    return arguments


def main() -> None:
    arguments = parsed()
    rounds = kept_rounds(arguments)
    asked = tuple(int(word) for word in filter(None, arguments.ranks.split(",")))
    for name in arguments.what.split(","):
        program = PROGRAMS[name]
        default = ["openmpi5"] if "openmpi5" in program.mpis else list(program.mpis)
        for mpi in arguments.mpi or default:
            if mpi not in program.mpis:
                print(f"{name} is left out: Debian's is of {', '.join(program.mpis)}", file=sys.stderr)
                continue
            for ranks in asked or program.ranks:
                new = list(taken_in_turn(name, mpis.BY_NAME[mpi], ranks, arguments))
                rounds += new
                print("\n".join(map(row_text, rows_of(new))), flush=True)
                if arguments.json:
                    arguments.json.write_text(json.dumps(rounds))
    write_page(page(rounds, arguments), arguments)


if __name__ == "__main__":
    main()
