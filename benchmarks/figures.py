#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The benchmark's figures by one command: native and Unisono alternating in one run, on every MPI, as tables with verdicts.

    make figures                                      everything, into reports/figures.md and figures.json
    .venv/bin/python benchmarks/figures.py --section pair,many --mpi openmpi5 --seconds 0.5

Sections:
- pair: 2 ranks, 8 B.
- large: 2 ranks, 1 and 8 MiB.
- many: 4 to 64 ranks, 8 B.
- crowd: 8 ranks, 1 MiB.
- first_look: what a user's first benchmark shows, by first_look.py; 2 and 4 ranks.
- cluster: 4 nodes of 4 ranks at 1 Gbit/s; needs root.

What the figures are compared with is measured beside them, since machines change while they run: a cache
line's round trip, a process switch, and the wire.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import first_look
import side_by_side
from side_by_side import ROOT

# isort: split
import mpis
from harness import Cluster
from lists import AddUp
from mpis import Layout, Mpi
from rich.progress import Progress
from unisono.common import printing, units
from unisono.common.operations import OPERATIONS
from unisono.machine.host import processor_model, usable_cores
from unisono.measuring import bench
from wire import wire_seconds_per_byte

KIB, MIB = 1 << 10, 1 << 20
SYNCHRONISING = ("barrier", "allreduce", "allgather", "alltoall")
SIZED = tuple(name for name in OPERATIONS if name != "barrier")
CLUSTER_SIZES = (8, 64, KIB, 4 * KIB, 32 * KIB, 256 * KIB, MIB, 4 * MIB)
EVERY_MPI = [mpi.name for mpi in mpis.ALL if mpi.name != "mpich5_abi"]
NODES = Layout((4, 4, 4, 4))
FIRST_LOOK = "first_look"  # the section's name
MOST_ATTEMPTS = 5
NOISE = 0.02  # behind: the interval's upper end is below 1 - this


@dataclass(frozen=True)
class Measured:
    """One cell, where it was measured, and what the machine was like then (seconds; None: not known)."""

    section: str
    mpi: str
    cell: bench.Cell
    round_trip_s: float | None = None
    switch_s: float | None = None
    wire_s: float | None = None

    @property
    def is_behind(self) -> bool:
        return self.cell.speedup_high < 1 - NOISE

    @property
    def place(self) -> str:
        size = "" if self.cell.operation == "barrier" else f" {units.bytes_text(self.cell.bytes)}"
        return f"{self.mpi}, {self.cell.ranks} ranks, {self.cell.operation}{size}"


class Bench:
    """Runs cells and collects them."""

    def __init__(self, arguments: argparse.Namespace, scratch: Path, progress: Progress) -> None:
        self.arguments = arguments
        self.scratch = scratch
        self.progress = progress
        self.cells: list[Measured] = []
        self.looks: list[dict[str, Any]] = []  # as first_look.summary() has them
        self.troubles: list[str] = []
        self._machine = scratch / "machine"
        compiler = os.environ.get("CC", "cc")
        subprocess.run([compiler, "-O2", "-o", self._machine, ROOT / "benchmarks/machine.c"], check=True)

    def machine(self) -> dict[str, float]:
        """The machine's round trip and switch, right now."""
        done = subprocess.run([self._machine], capture_output=True, text=True, check=True, timeout=60)
        return json.loads(done.stdout)

    def run(
        self,
        section: str,
        mpi: Mpi,
        ranks: int,
        operations: Sequence[str],
        sizes: Sequence[int],
        cluster: Cluster | None = None,
        seconds: float | None = None,
        wire_s: float | None = None,
    ) -> None:
        samples, most_s = self.arguments.samples, seconds or self.arguments.seconds
        options = f"--operations {','.join(operations)} --sizes {','.join(map(str, sizes))} --samples {samples} --seconds {most_s}"
        words = side_by_side.words(mpi, ranks, options.split(), NODES if cluster else None)
        expected = sum(1 if name == "barrier" else len(sizes) for name in operations)
        task = self.progress.add_task(f"{section}: {mpi.name}, {ranks} ranks", total=expected)
        for attempt in range(MOST_ATTEMPTS):
            before = self.machine()
            self.progress.reset(task)
            cells, status = side_by_side.measure(
                mpi,
                words,
                self.arguments.timeout,
                lambda _: self.progress.update(task, advance=1),
                cluster,
                self.arguments.realtime,
            )
            after = self.machine()
            # Between nodes the wire counts, not the way of a cache line.
            is_steady = cluster is not None or is_alike(before, after)
            if status != 0 or is_steady or attempt + 1 == MOST_ATTEMPTS:
                break
        self.progress.remove_task(task)
        if status != 0:
            self.troubles.append(f"{section}, {mpi.name}, {ranks} ranks: the run ended with status {status}")
        if not is_steady:
            self.troubles.append(f"{section}, {mpi.name}, {ranks} ranks: the machine changed during the run")
        machine = {name: max(before[name] or 0, after[name] or 0) or None for name in before}
        self.cells += [Measured(section, mpi.name, cell, **machine, wire_s=wire_s) for cell in cells]
        self.write()

    def verdicts(self) -> dict[str, list[Verdict]]:
        return {
            section: list(VERDICTS[section](self))
            for section in SECTIONS
            if self.of(section) or (section == FIRST_LOOK and self.looks)
        }

    def write(self) -> None:
        """Write what there is so far: a run takes long, and may be ended early."""
        self.arguments.output.write_text(page(self, self.verdicts()))
        rows = [{**asdict(m), "cell": asdict(m.cell)} for m in self.cells]
        self.arguments.output.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n")
        if self.looks:
            looks = self.arguments.output.with_suffix(f".{FIRST_LOOK}.json")
            looks.write_text(json.dumps(self.looks, indent=1) + "\n")

    def of(self, section: str, *operations: str) -> list[Measured]:
        return [
            m
            for m in self.cells
            if m.section == section and (not operations or m.cell.operation in operations)
        ]


def is_alike(before: dict[str, float], after: dict[str, float]) -> bool:
    """Are cores as far apart as before? Virtual ones are moved at any time."""
    pair = [machine["round_trip_s"] for machine in (before, after)]
    return None in pair or max(pair) < 1.5 * min(pair)


# --- Sections ---


def pair(run: Bench, chosen: Sequence[Mpi]) -> None:
    for mpi in chosen:
        run.run("pair", mpi, 2, OPERATIONS, [8])


def large(run: Bench, chosen: Sequence[Mpi]) -> None:
    for mpi in chosen:
        run.run("large", mpi, 2, SIZED, [MIB, 8 * MIB])


def many(run: Bench, chosen: Sequence[Mpi]) -> None:
    for ranks in (4, 8, 16, 32, 64):
        for mpi in chosen:
            run.run("many", mpi, ranks, SYNCHRONISING, [8])


def crowd(run: Bench, chosen: Sequence[Mpi]) -> None:
    for mpi in chosen:
        run.run("crowd", mpi, 8, SIZED, [MIB])


def first_looks(run: Bench, chosen: Sequence[Mpi]) -> None:
    arguments = first_look.parsed(shlex.split(run.arguments.look))
    for mpi in chosen:
        for ranks in arguments.ranks or (2, 4):
            run.looks.append(first_look.look(mpi, ranks, arguments))
            run.write()


def on_cluster(run: Bench, chosen: Sequence[Mpi]) -> None:
    if os.geteuid() != 0:
        run.troubles.append("cluster: needs root, left out")
        return
    with contextlib.ExitStack() as stack:
        cluster = Cluster(run.scratch / "cluster", 4, rate="1gbit")
        stack.callback(cluster.down)
        wire_s = wire_seconds_per_byte(cluster)
        for mpi in chosen:
            if mpi.has_cluster:
                run.run("cluster", mpi, NODES.ranks, OPERATIONS, CLUSTER_SIZES, cluster, wire_s=wire_s)


SECTIONS: dict[str, Callable[[Bench, Sequence[Mpi]], None]] = {
    "pair": pair,
    "large": large,
    "many": many,
    "crowd": crowd,
    FIRST_LOOK: first_looks,
    "cluster": on_cluster,
}

# --- Verdicts ---


@dataclass(frozen=True)
class Verdict:
    aim: str
    is_met: bool
    text: str


def over_best(cells: Sequence[Measured]) -> dict[str, float]:
    """How many times faster Unisono is on each MPI than the fastest native among all of them."""
    best = min(m.cell.native_s for m in cells)
    return {m.mpi: best / m.cell.unisono_s for m in cells}


def best_of(cells: Sequence[Measured]) -> str:
    """What over_best() compares with, by name where that is not all that there are."""
    measured = list(dict.fromkeys(m.mpi for m in cells))
    if set(measured) == set(EVERY_MPI):
        return "the best MPI"
    return f"the best of {', '.join(measured)}" if len(measured) > 1 else f"native {measured[0]}"


def shown(factors: dict[str, float]) -> str:
    return ", ".join(f"{mpi} {factor:.2f}" for mpi, factor in factors.items())


def behind(cells: Sequence[Measured]) -> str:
    late = [f"{m.place} ({m.cell.speedup:.2f})" for m in cells if m.is_behind]
    return "; ".join(late) or "none behind"


def pair_verdicts(run: Bench) -> Iterator[Verdict]:
    four = run.of("pair", "barrier", "bcast", "allreduce", "allgather")
    ahead = all(m.cell.speedup_low > 1 for m in four)
    not_ahead = "; ".join(f"{m.place} ({m.cell.speedup:.2f})" for m in four if m.cell.speedup_low <= 1)
    yield Verdict(
        "2 ranks, 8 B: barrier, bcast, allreduce, allgather ahead everywhere", ahead, not_ahead or "all ahead"
    )
    allreduces = run.of("pair", "allreduce")
    trips = {m.mpi: m.cell.unisono_s / m.round_trip_s for m in allreduces if m.round_trip_s}
    yield Verdict(
        "allreduce within one cache-line round trip",
        bool(trips) and max(trips.values()) <= 1,
        f"round trips: {shown(trips)}",
    )
    factors = over_best(allreduces)
    yield Verdict(f"allreduce 1.7x over {best_of(allreduces)}", min(factors.values()) >= 1.7, shown(factors))
    times = {m.mpi: m.cell.unisono_s * 1e9 for m in run.of("pair", "bcast")}
    yield Verdict("bcast at most 60 ns", max(times.values()) <= 60, f"ns: {shown(times)}")


def large_verdicts(run: Bench) -> Iterator[Verdict]:
    for operation, aim in (("bcast", 1.2), ("allreduce", 1.3)):
        cells = [m for m in run.of("large", operation) if m.cell.bytes == MIB]
        factors = over_best(cells)
        yield Verdict(
            f"2 ranks, 1 MiB: {operation} {aim}x over {best_of(cells)}",
            min(factors.values()) >= aim,
            shown(factors),
        )
    low = [m for m in run.of("large") if m.cell.speedup_high < 0.95]
    text = "; ".join(f"{m.place} ({m.cell.speedup:.2f})" for m in low)
    yield Verdict("2 ranks, 1 and 8 MiB: no cell below 0.95 of native", not low, text or "none below")


def many_verdicts(run: Bench) -> Iterator[Verdict]:
    cores = usable_cores()
    over = [
        f"{m.place}: {m.cell.unisono_s / bound:.2f}"
        for m in run.of("many")
        if m.switch_s and m.cell.unisono_s > (bound := 1.3 * m.cell.ranks / cores * m.switch_s)
    ]
    yield Verdict(
        "4 to 64 ranks, 8 B: at most 1.3 x ranks/cores x switch time",
        not over,
        "; ".join(over) or "all within",
    )
    for ranks, aim in ((4, 2.0), (8, 2.3), (16, 3.5), (32, 3.5), (64, 3.5)):
        for operation in SYNCHRONISING:
            cells = [m for m in run.of("many", operation) if m.cell.ranks == ranks]
            if not cells:
                continue
            factors = over_best(cells)
            yield Verdict(
                f"{ranks} ranks, {operation}: {aim}x over {best_of(cells)}",
                min(factors.values()) >= aim,
                shown(factors),
            )
    # MPICH does not yield.
    spinning = [m for m in run.of("many") if m.mpi.startswith("mpich")]
    factors = {m.place: m.cell.speedup for m in spinning if m.cell.speedup < 50}
    if spinning:
        yield Verdict("50x over MPICH as it comes", not factors, shown(factors) or "everywhere")


def crowd_verdicts(run: Bench) -> Iterator[Verdict]:
    for operation in SIZED:
        cells = run.of("crowd", operation)
        factors = over_best(cells)
        yield Verdict(
            f"8 ranks, 1 MiB: {operation} 1.5x over {best_of(cells)}",
            min(factors.values()) >= 1.5,
            shown(factors),
        )


def first_look_verdicts(run: Bench) -> Iterator[Verdict]:
    for aim, over, least in (
        ("1.4x over native without learning", "off over native", 1.4),
        ("1.4x over native as it comes", "auto over native", 1.4),
        ("learning within 5 % of none", "auto over off", 0.95),
    ):
        factors = {f"{m['mpi']}, {m['ranks']} ranks": m["ratios"]["all"][over]["ratio"] for m in run.looks}
        yield Verdict(f"a first look: {aim}", min(factors.values()) >= least, shown(factors))


def cluster_verdicts(run: Bench) -> Iterator[Verdict]:
    if not run.of("cluster"):
        return
    small = [m for m in run.of("cluster", "barrier", "allreduce") if m.cell.bytes <= 8]
    text = "; ".join(f"{m.place} ({m.cell.speedup:.2f})" for m in small)
    yield Verdict(
        "4 nodes x 4: barrier and allreduce of 8 B ahead", all(m.cell.speedup_low > 1 for m in small), text
    )
    for m in run.of("cluster", "bcast"):
        if m.cell.bytes != 4 * MIB or m.wire_s is None:
            continue
        limit_s = m.cell.bytes * m.wire_s
        excess = m.cell.unisono_s / limit_s - 1
        yield Verdict(
            f"{m.mpi}: bcast of 4 MiB within 5 % of the wire's limit, 3x native",
            excess <= 0.05 and m.cell.speedup >= 3,
            f"{excess:+.1%} ({m.cell.unisono_s * 1e3:.1f} ms, limit {limit_s * 1e3:.1f} ms), {m.cell.speedup:.2f}x",
        )
    for mpi in dict.fromkeys(m.mpi for m in run.of("cluster")):
        for operation in OPERATIONS:
            cells = [m for m in run.of("cluster", operation) if m.mpi == mpi]
            if cells:
                mean = bench.geometric_mean([m.cell for m in cells])
                yield Verdict(
                    f"{mpi}: {operation} not behind on geometric mean",
                    mean >= 1,
                    f"{mean:.2f}; {behind(cells)}",
                )


VERDICTS = {
    "pair": pair_verdicts,
    "large": large_verdicts,
    "many": many_verdicts,
    "crowd": crowd_verdicts,
    FIRST_LOOK: first_look_verdicts,
    "cluster": cluster_verdicts,
}

# --- The page ---


def machine_text() -> str:
    model = processor_model()
    return f"{usable_cores()} cores{', ' + model if model else ''}"


def page(run: Bench, verdicts: dict[str, list[Verdict]]) -> str:
    lines = [
        "# Figures",
        "",
        f"Made by `make figures` on {machine_text()}. Native and Unisono alternate in one run; times are medians of the longest rank, a",
        "call; the interval is the 95 % bootstrap interval of the ratio of medians. `over the best` compares with the fastest native time among the",
        "MPIs measured. Each MPI runs as it is fastest: it yields only where ranks share cores; MPICH runs as it comes, but between emulated nodes,",
        "which share this machine's cores, with a preload that yields.",
    ]
    for section, found in verdicts.items():
        lines += ["", f"## {section}", "", "| aim | met | figures |", "| --- | --- | --- |"]
        lines += [f"| {v.aim} | {'yes' if v.is_met else '**no**'} | {v.text} |" for v in found]
        if section == FIRST_LOOK:
            lines += [
                "",
                *first_look.heads(),
                *(line for made in run.looks for line in first_look.lines(made)),
            ]
            continue
        lines += [
            "",
            "| MPI | ranks | operation | bytes | native | Unisono | speed-up | interval | round trip | switch |",
        ]
        lines += ["| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
        for m in run.of(section):
            c = m.cell
            machine = [units.seconds_text(s) if s else "" for s in (m.round_trip_s, m.switch_s)]
            words = [
                m.mpi,
                str(c.ranks),
                c.operation,
                units.size_text(c.operation, c.bytes),
            ]
            words += [units.seconds_text(c.native_s), units.seconds_text(c.unisono_s), f"{c.speedup:.2f}"]
            words += [f"{c.speedup_low:.2f} - {c.speedup_high:.2f}{'' if c.is_same else ' WRONG'}", *machine]
            lines.append(f"| {' | '.join(words)} |")
    if run.troubles:
        lines += ["", "## Troubles", "", *(f"- {trouble}" for trouble in run.troubles)]
    return "\n".join(lines) + "\n"


def named(value: str, known: Sequence[str]) -> list[str]:
    names = value.split(",") if value else list(known)
    for name in names:
        if name not in known:
            raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(known)}")
    return names


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--section", action=AddUp, type=lambda v: named(v, list(SECTIONS)), default=list(SECTIONS)
    )
    parser.add_argument("--mpi", action=AddUp, type=lambda v: named(v, EVERY_MPI), default=EVERY_MPI)
    parser.add_argument("--samples", type=int, default=30, help="most samples of each kind (default 30)")
    parser.add_argument("--seconds", type=float, default=0.6, help="most time for a cell (default 0.6)")
    parser.add_argument("--timeout", type=float, default=600, help="most seconds for one job (default 600)")
    parser.add_argument(
        "--look", default="--rounds 3", help="options of first_look.py for its section (default '--rounds 3')"
    )
    parser.add_argument("--realtime", action="store_true", help="ranks at real-time priority (root)")
    parser.add_argument(
        "--output",
        type=Path,
        default=ROOT / "reports/figures.md",
        help="the page; beside it, the same as JSON",
    )
    arguments = parser.parse_args()
    os.environ.setdefault("UNISONO_HOME", str(ROOT / "build/release"))
    chosen = [mpis.BY_NAME[name] for name in arguments.mpi]
    for mpi in chosen:
        if not mpi.is_installed:
            parser.error(
                f"{mpi.name} is not installed ({mpi.launcher}); run tools/setup.sh test, or choose with --mpi"
            )
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as scratch,
        Progress(
            console=printing.console(sys.stderr), transient=True, disable=not sys.stderr.isatty()
        ) as progress,
    ):
        run = Bench(arguments, Path(scratch), progress)
        for section in arguments.section:
            SECTIONS[section](run, chosen)
    run.write()
    for found in run.verdicts().values():
        for v in found:
            print(f"{'met  ' if v.is_met else 'MISSED'} {v.aim}: {v.text}")
    for trouble in run.troubles:
        print(trouble, file=sys.stderr)
    print(f"report: {arguments.output}")
    return 1 if run.troubles or not all(m.cell.is_same for m in run.cells) else 0


if __name__ == "__main__":
    sys.exit(main())
