#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The benchmark's figures by one command: native and Unisono alternating in one run, on every MPI, as tables with verdicts.

    make figures                                      everything, into reports/figures.md, .json and .svg
    make figures FIGURES="--section many --keep"      one section anew, beside what the page has of others
    .venv/bin/python benchmarks/figures.py --section pair,many --mpi openmpi5 --seconds 0.5

Sections:
- every: 2 ranks, all operations, 8 B to 1 MiB: the page's first table.
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
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import first_look
import side_by_side
from side_by_side import ROOT

# isort: split
import mpis
from figure_verdicts import (
    EVERY_MPI,
    FIRST_LOOK,
    SIZED,
    SYNCHRONISING,
    VERDICTS,
    Figures,
    Measured,
    Verdict,
    best_of,
    over_best,
)
from harness import Cluster
from lists import AddUp
from mpis import Layout, Mpi
from rich.progress import Progress
from unisono.common import printing, units
from unisono.common.operations import OPERATIONS
from unisono.machine.host import processor_model, usable_cores
from unisono.measuring import bench
from unisono.reporting import plots
from wire import wire_seconds_per_byte

KIB, MIB = 1 << 10, 1 << 20
EVERY_SIZE = (8, 256, 4 * KIB, 64 * KIB, MIB)
CLUSTER_SIZES = (8, 64, KIB, 4 * KIB, 32 * KIB, 256 * KIB, MIB, 4 * MIB)
NODES = Layout((4, 4, 4, 4))
MOST_ATTEMPTS = 5
AT_ONCE = 4  # operations of a job, so that all MPIs have their turn before the machine changes


class Bench:
    """Runs cells and collects them."""

    def __init__(self, arguments: argparse.Namespace, scratch: Path, progress: Progress) -> None:
        self.arguments = arguments
        self.scratch = scratch
        self.progress = progress
        self.figures = Figures()
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
        self.figures.cells += [Measured(section, mpi.name, cell, **machine, wire_s=wire_s) for cell in cells]
        self.write()

    def run_alike(
        self, section: str, chosen: Sequence[Mpi], ranks: int, operations: Sequence[str], sizes: Sequence[int]
    ) -> None:
        """All MPIs while the machine's cores are as far apart: else none of them could be compared with another."""
        left = list(chosen)
        for _ in range(MOST_ATTEMPTS):
            for mpi in left:
                self.run(section, mpi, ranks, operations, sizes)
            cells = self.figures.of(section, *operations)
            trips = {m.mpi: {"round_trip_s": m.round_trip_s} for m in cells}
            # The state in which most were.
            alike = max(
                ([other for other in trips if is_alike(trips[other], trips[mpi])] for mpi in trips), key=len
            )
            left = [mpi for mpi in chosen if mpi.name not in alike]
            if not left:
                return
            names = {mpi.name for mpi in left}
            kept = [m for m in self.figures.cells if m.mpi not in names or m not in cells]
            self.figures.cells = kept
        self.troubles.append(
            f"{section}, {', '.join(operations)}: not measured under {', '.join(names)}, since the machine kept changing"
        )

    def verdicts(self) -> dict[str, list[Verdict]]:
        return {
            section: list(VERDICTS[section](self.figures))
            for section in SECTIONS
            if self.figures.of(section) or (section == FIRST_LOOK and self.figures.looks)
        }

    def write(self) -> None:
        """Write what there is so far: a run takes long, and may be ended early."""
        self.arguments.output.write_text(page(self, self.verdicts()))
        rows = [{**asdict(m), "cell": asdict(m.cell)} for m in self.figures.cells]
        self.arguments.output.with_suffix(".json").write_text(json.dumps(rows, indent=1) + "\n")
        if every_cell := self.figures.of("every"):
            panels: dict[str, list[bench.Cell]] = {}
            for m in every_cell:
                panels.setdefault(f"2 ranks, {m.mpi}", []).append(m.cell)
            picture = self.arguments.output.with_suffix(".svg")
            plots.speedup_maps(panels, picture, "Times as fast as the MPI's own collectives")
        if self.figures.looks:
            looks = self.arguments.output.with_suffix(f".{FIRST_LOOK}.json")
            looks.write_text(json.dumps(self.figures.looks, indent=1) + "\n")

    def keep(self, sections: Sequence[str]) -> None:
        """Take over what earlier runs have written of all other sections."""
        file = self.arguments.output.with_suffix(".json")
        for row in json.loads(file.read_text()) if file.exists() else []:
            if row["section"] not in sections:
                row["cell"]["candidates"] = ()  # none is tried here
                self.figures.cells.append(Measured(**{**row, "cell": bench.Cell(**row["cell"])}))
        looks = file.with_suffix(f".{FIRST_LOOK}.json")
        if FIRST_LOOK not in sections and looks.exists():
            self.figures.looks = json.loads(looks.read_text())


def is_alike(before: Mapping[str, float | None], after: Mapping[str, float | None]) -> bool:
    """Are cores as far apart as before? Virtual ones are moved at any time."""
    one, other = before["round_trip_s"], after["round_trip_s"]
    return one is None or other is None or max(one, other) < 1.5 * min(one, other)


# --- Sections ---


def every(run: Bench, chosen: Sequence[Mpi]) -> None:
    for first in range(0, len(OPERATIONS), AT_ONCE):
        run.run_alike("every", chosen, 2, OPERATIONS[first : first + AT_ONCE], EVERY_SIZE)


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
            run.figures.looks.append(first_look.look(mpi, ranks, arguments))
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
    "every": every,
    "pair": pair,
    "large": large,
    "many": many,
    "crowd": crowd,
    FIRST_LOOK: first_looks,
    "cluster": on_cluster,
}

# --- The page ---


def first_table(cells: Sequence[Measured]) -> list[str]:
    """Operation by size: how many times faster than the best native among the MPIs, over all of them, and what is behind."""
    measured = list(dict.fromkeys(m.mpi for m in cells))
    sizes = sorted({m.cell.bytes for m in cells if m.cell.operation != "barrier"})
    lines = [
        f"Times as fast as {best_of(cells)}, as the geometric mean over {', '.join(measured)} under Unisono.",
        "In brackets: on how many of these Unisono is behind that MPI's own.",
        "",
        f"| operation | {' | '.join(units.bytes_text(size) for size in sizes)} |",
        f"| --- |{' ---: |' * len(sizes)}",
    ]
    for operation in dict.fromkeys(m.cell.operation for m in cells):
        of_operation = [m for m in cells if m.cell.operation == operation]
        words = []
        for size in sizes:
            # A barrier has one size, and stands in the first column.
            is_here = operation != "barrier" or size == sizes[0]
            at = [m for m in of_operation if is_here and (operation == "barrier" or m.cell.bytes == size)]
            words.append(over_best_text(at))
        lines.append(f"| {operation} | {' | '.join(words)} |")
    return lines


def over_best_text(cells: Sequence[Measured]) -> str:
    if not cells:
        return ""
    mean = statistics.geometric_mean(over_best(cells).values())
    late = sum(m.is_behind for m in cells)
    return f"{mean:.2f}{f' ({late})' if late else ''}"


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
    if cells := run.figures.of("every"):
        lines += ["", *first_table(cells)]
    for section, found in verdicts.items():
        lines += ["", f"## {section}", "", "| aim | met | figures |", "| --- | --- | --- |"]
        lines += [f"| {v.aim} | {'yes' if v.is_met else '**no**'} | {v.text} |" for v in found]
        if section == FIRST_LOOK:
            lines += [
                "",
                *first_look.heads(),
                *(line for made in run.figures.looks for line in first_look.lines(made)),
            ]
            continue
        lines += [
            "",
            "| MPI | ranks | operation | bytes | native | Unisono | speed-up | interval | round trip | switch |",
        ]
        lines += ["| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"]
        for m in run.figures.of(section):
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
    parser.add_argument(
        "--keep", action="store_true", help="keep what the page has of sections that are not named"
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
        if arguments.keep:
            run.keep(arguments.section)
        for section in arguments.section:
            SECTIONS[section](run, chosen)
    run.write()
    for found in run.verdicts().values():
        for v in found:
            print(f"{'met  ' if v.is_met else 'MISSED'} {v.aim}: {v.text}")
    for trouble in run.troubles:
        print(trouble, file=sys.stderr)
    print(f"report: {arguments.output}")
    return 1 if run.troubles or not all(m.cell.is_same for m in run.figures.cells) else 0


if __name__ == "__main__":
    sys.exit(main())
