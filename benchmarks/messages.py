#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Messages between ranks of a node: the MPI's own, and those that Unisono carries (option messages), in turn.

    .venv/bin/python benchmarks/messages.py [--mpi openmpi5 ...] [--rounds 6] [--what latency:8,drain:16384 ...] \
        [--ways node,long_memory,long_mpi,off,all] [--output PAGE]

benchmarks/messages.c has the programs. Each round runs each of them natively and in ways of Unisono's, in an order that changes.
A round's figure is the median of its windows. The ways: node (--messages node), long_memory and long_mpi (the same with
--long-messages memory or mpi), all (--messages all), off (unisono run with --messages off). The table has the medians over the
rounds, and native over Unisono with the 95 % interval of a bootstrap over the rounds. Above 1: Unisono is faster. Virtual
machines move their cores: rounds with cores that share a cache are summed up apart from others.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import side_by_side

# isort: split
import job
import mpis
from core_distance import where_cores_are
from harness import SHIM
from lists import AddUp
from unisono.common import units
from unisono.machine.host import usable_cores

NATIVE = "native"
WAYS: dict[str, dict[str, str]] = {
    "node": {"UNISONO_MESSAGES": "node"},
    "long_memory": {"UNISONO_MESSAGES": "node", "UNISONO_LONG_MESSAGES": "memory"},
    "long_mpi": {"UNISONO_MESSAGES": "node", "UNISONO_LONG_MESSAGES": "mpi"},
    "all": {"UNISONO_MESSAGES": "all"},
    "off": {"UNISONO_MESSAGES": "off"},
}
SIZES = (0, 8, 64, 256, 1024, 4096, 8192, 16384, 65536, 262144, 1048576, 4194304)
WHAT = ",".join(
    [
        *(f"latency:{size}" for size in SIZES),
        "first:8",
        "first:65536",
        "rate:8",
        "rate:1024",
        "ahead:0",
        "ahead:1024",
        "ahead:16384",
        "ahead_any:0",
        "ahead_any:16384",
        "drain:1024",
        "drain:16384",
    ]
)
TITLES = {
    "latency": "half a round trip, {bytes}",
    "first": "one of the first 1,000 messages, {bytes}",
    "rate": "a message of {bytes}, 64 under way",
    "ahead": "half a round trip, 0 B, {number} receives ahead",
    "ahead_any": "the same by MPI_ANY_SOURCE, {number} ahead",
    "drain": "a message of {number}, received in reverse",
    "gather": "a message of {number} from each rank, received in reverse",
    "ring": "a step of a ring, {bytes}",
    "random": "a step to four ranks by chance, {bytes}",
    "fan_in": "a message of many to one, {bytes}",
    "multiple": "a message of {bytes}, 64 under way, MPI_THREAD_MULTIPLE",
    "threads": "the same, {bytes}, two threads in each rank",
}
RESAMPLINGS = 2000


def add_round_options(parser: argparse.ArgumentParser) -> None:
    """Of benchmarks whose rounds may be kept, and be summed up on a page."""
    parser.add_argument(
        "--realtime",
        action="store_true",
        help="ranks before all other processes (root); with more ranks than cores where the MPI yields",
    )
    parser.add_argument("--json", type=Path, help="rounds are added to those that it has")
    parser.add_argument("--output", type=Path, help="a page; default: standard output")


def kept_rounds(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Those that the file of --json has already."""
    return json.loads(arguments.json.read_text()) if arguments.json and arguments.json.exists() else []


def write_page(lines: Iterable[str], arguments: argparse.Namespace) -> None:
    text = "\n".join(lines) + "\n"
    if arguments.output:
        arguments.output.write_text(text)
    else:
        print(text, end="")


def before_others(mpi: mpis.Mpi, ranks: int) -> list[str]:
    """What starts ranks before all other processes; nothing where waiting ranks would keep their cores from each other."""
    if ranks <= usable_cores():
        return ["chrt", "--fifo", "5"]
    return ["chrt", "--rr", "5"] if mpi.is_yielding else []


def run(mpi: mpis.Mpi, way: str, what: str, number: str, arguments: argparse.Namespace) -> float:
    """One job: the median of its windows, seconds."""
    environment = {"UNISONO_CACHE": "", "UNISONO_LOG": "quiet", **WAYS[way]} if way != NATIVE else {}
    program = [side_by_side.compiled(mpi, "messages"), what, number, str(arguments.windows)]
    command = [
        *(before_others(mpi, arguments.ranks) if arguments.realtime else []),
        *([] if way == NATIVE else [SHIM]),
        *program,
    ]
    line = mpi.launch(arguments.ranks, command, environment)
    fair = side_by_side.fair(mpi, line, arguments.ranks)
    result = job.run(fair, mpis.launcher_environment(mpi), timeout=arguments.timeout).check()
    return float(np.median([float(word) for word in result.output.split()]))


def taken_in_turn(mpi: mpis.Mpi, cell: str, arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Rounds: all ways' medians, seconds, and where the cores were before each of them and after. A round during which they
    moved is made again, and at most three times as many are made in all. Where they move in all of them, the last one says
    so."""
    what, _, number = cell.partition(":")
    before = before_others(mpi, 2) if arguments.realtime else []
    ways = [NATIVE, *arguments.ways.split(",")]
    counted = 0
    for turn in range(3 * arguments.rounds):
        if counted == arguments.rounds:
            return
        places = {where_cores_are(before)}
        taken = {}
        for way in side_by_side.rotated(ways, turn):
            taken[way] = run(mpi, way, what, number, arguments)
            places.add(where_cores_are(before))
        one = {"mpi": mpi.name, "what": what, "number": int(number), "cores": min(places), **taken}
        if len(places) == 1:
            counted += 1
            yield one
    if counted == 0:
        yield {**one, "cores": "moving"}


def summed_up(rounds: list[dict[str, Any]], way: str) -> dict[str, Any]:
    """Of rounds of one cell with cores in one place: one way beside the MPI's own."""
    native, ours = (np.array([one[of] for one in rounds]) for of in (NATIVE, way))
    random = np.random.default_rng(1)
    drawn = random.integers(0, len(native), (RESAMPLINGS, len(native)))
    ratios = np.median(native[drawn], axis=1) / np.median(ours[drawn], axis=1)
    low, high = np.quantile(ratios, [0.025, 0.975])
    return {
        **{key: rounds[0][key] for key in ("mpi", "what", "number", "cores")},
        "way": way,
        "rounds": len(rounds),
        "native_s": float(np.median(native)),
        "unisono_s": float(np.median(ours)),
        "ratio": float(np.median(native) / np.median(ours)),
        "low": float(low),
        "high": float(high),
    }


def cells_of(rounds: list[dict[str, Any]]) -> list[dict[str, Any]]:
    groups: dict[tuple[str, str, int, str, str], list[dict[str, Any]]] = {}
    for one in rounds:
        for way in (way for way in WAYS if way in one):
            group = (one["mpi"], one["what"], one["number"], one["cores"], way)
            groups.setdefault(group, []).append(one)
    return [summed_up(group, way) for (*_, way), group in groups.items()]


def title(cell: dict[str, Any]) -> str:
    return TITLES[cell["what"]].format(bytes=units.bytes_text(cell["number"]), number=f"{cell['number']:,}")


def page(cells: list[dict[str, Any]], arguments: argparse.Namespace) -> Iterator[str]:
    yield "# Messages inside a node"
    yield ""
    before = ", before all other processes" if arguments.realtime else ""
    yield f"{arguments.ranks} ranks on {usable_cores()} cores{before}, {arguments.rounds} rounds of {arguments.windows} windows, native and ways of Unisono in turn. Cores are near where they share a last-level cache, and moving where no round saw them in one place."
    yield ""
    yield "| MPI | what | cores | rounds | way | native | Unisono | ratio (95 %) |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for cell in cells:
        times = f"{units.seconds_text(cell['native_s'])} | {units.seconds_text(cell['unisono_s'])}"
        ratio = f"{cell['ratio']:.3g} ({cell['low']:.3g} to {cell['high']:.3g})"
        place = f"{cell['cores']} | {cell['rounds']} | {cell['way']}"
        yield f"| {cell['mpi']} | {title(cell)} | {place} | {times} | {ratio} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--mpi", action="append", choices=[mpi.name for mpi in mpis.ALL], help="default: openmpi5"
    )
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--windows", type=int, default=20)
    parser.add_argument("--what", action=AddUp, default=WHAT, help="PROGRAM:NUMBER, by commas")
    parser.add_argument("--ways", action=AddUp, default="node", help=f"by commas, of {', '.join(WAYS)}")
    parser.add_argument("--timeout", type=float, default=120)
    add_round_options(parser)
    arguments = parser.parse_args()
    for way in arguments.ways.split(","):
        if way not in WAYS:
            parser.error(f"--ways {way}: one of {', '.join(WAYS)}")
    rounds = kept_rounds(arguments)
    for name in arguments.mpi or ["openmpi5"]:
        for cell in arguments.what.split(","):
            if cell.partition(":")[0] not in TITLES or not cell.partition(":")[2].isdecimal():
                parser.error(f"--what {cell}: PROGRAM:NUMBER, with a program of {', '.join(TITLES)}")
            new = list(taken_in_turn(mpis.BY_NAME[name], cell, arguments))
            rounds += new
            for done in cells_of(new):
                print(
                    f"{name}: {title(done)}, cores {done['cores']}, {done['way']}: {done['ratio']:.3g}",
                    flush=True,
                )
            if arguments.json:
                arguments.json.write_text(json.dumps(rounds))
    write_page(page(cells_of(rounds), arguments), arguments)


if __name__ == "__main__":
    main()
