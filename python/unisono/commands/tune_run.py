# SPDX-License-Identifier: BSD-3-Clause
"""One tuning as it goes: its cells, what is kept of them beside the table, and what it has cost."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
from rich.progress import Progress, TaskID

from unisono import (
    bench,
    decision_table,
    files,
    machine_measuring,
    machines,
    search_space,
    tables,
    tool,
    tuning,
)
from unisono.errors import UnisonoError
from unisono.machine import processor_name
from unisono.measuring import JobError, Measurer, Place
from unisono.page import build, sources
from unisono.predictions import Predictions
from unisono.searching import Tuner
from unisono.unfinished import Unfinished

_MOST_BYTES = 64 << 20  # that a rank holds of all blocks: larger blocks are left out
_LEAST_CELL_S = 0.1
_MOST_FAILURES = 5
NO_MACHINE = "none"
_PARTS = {
    "exhaustive": "--exhaustive",
    "machine": "the machine of the predictions",
    "launcher": "the launcher's words",
    "settings": "UNISONO_ variables",
    "place": "the MPI or the layout",
}


class TuningRun:
    """One tuning: its cells, what is done of them, and what it has cost."""

    def __init__(
        self,
        output: Path,
        words: Sequence[str],
        plan: Sequence[tuple[str, int]],
        budget_s: float,
        exhaustive: bool,
        machine: str | None,
        job: Mapping[str, object],
    ) -> None:
        """`job`: what is asked about, as far as the command line says it: the launcher's words and settings."""
        self.output = output
        self.unfinished = Unfinished(output)
        self.words = words
        self.plan = plan
        self.budget_s = budget_s
        self.tuner = Tuner(tool.algorithms(), is_exhaustive=exhaustive)
        self.machine = machine
        self.job = job
        self.outcomes: list[tuning.Outcome] = []
        self.place: Place | None = None
        self.question: Mapping[str, object] = {}
        self.troubles: list[str] = []
        self.left_out = 0

    def go(self) -> None:
        with tables.progress() as progress:
            task = progress.add_task("tuning", total=len(self.plan))
            failures = 0
            while failures < _MOST_FAILURES:
                try:
                    with Measurer(self.words) as job:
                        self._begin(job.place)
                        self._cells(job, progress, task)
                    return
                except JobError as error:
                    failures += 1
                    if self.place is None:
                        raise
                    self._note(error)
        raise UnisonoError(
            f"the measuring job has failed {failures} times; what was measured before is kept, and the same command goes on"
        )

    def _begin(self, place: Place) -> None:
        if self.place is not None:
            return
        self.place = place
        least, most = place.ranks_per_node
        machine = machines.resolve(self.machine) if self.machine else _machine_of(place)
        if machine is not None and machine != NO_MACHINE:
            self.tuner.ranges = search_space.ranges_of(machines.findings(machine), place.nodes)
            if least == most:
                self.tuner.expected = Predictions(str(machine), place.layout, self.plan)
            if self.machine is None:
                click.echo(f"unisono: predictions go by {machine}, which was measured here", err=True)
        self.question = {
            "exhaustive": self.tuner.is_exhaustive,
            "machine": str(machine or NO_MACHINE),
            "place": asdict(place),
            **self.job,
        }
        self._read_kept()

    def _note(self, error: JobError) -> None:
        """Candidates that the job died of are not tried again."""
        operation, size = self._left()[0]
        names = [name for name in error.candidates if name != "native"]
        self.tuner.failed |= {(operation, name) for name in names}
        self.troubles.append(
            f"{operation}, {tables.bytes_text(size)}: {error}; left out: {', '.join(names) or 'nothing'}"
        )

    def _left(self) -> list[tuple[str, int]]:
        done = {(outcome.operation, outcome.bytes) for outcome in self.outcomes}
        return [cell for cell in self.plan if cell not in done and not self._is_too_large(*cell)]

    def _is_too_large(self, operation: str, size: int) -> bool:
        assert self.place is not None
        return operation not in bench.ON_ONE_VECTOR and size * self.place.ranks > _MOST_BYTES

    def _cells(self, job: Measurer, progress: Progress, task: TaskID) -> None:
        left = self._left()
        self.left_out = len(self.plan) - len(left) - len(self.outcomes)
        progress.update(task, total=len(left) + len(self.outcomes), completed=len(self.outcomes))
        end = time.monotonic() + self.budget_s - sum(outcome.seconds for outcome in self.outcomes)
        for number, (operation, size) in enumerate(left):
            progress.update(task, description=f"{operation} {tables.bytes_text(size)}")
            share_s = (end - time.monotonic()) / (len(left) - number)
            self.outcomes.append(self.tuner.tune(job, operation, size, max(share_s, _LEAST_CELL_S)))
            self._keep()
            progress.advance(task)

    def _read_kept(self) -> None:
        """Go on with what an interrupted run has left that asked the same."""
        of_plan = [o for o in self.unfinished.cells(self.question) if (o.operation, o.bytes) in self.plan]
        self.outcomes += of_plan
        if of_plan:
            click.echo(
                f"unisono: goes on after {_cells_text(len(of_plan))} that an interrupted run has left",
                err=True,
            )
        for count, differing in self.unfinished.others(self.question):
            what = ", ".join(_PARTS[part] for part in differing)
            click.echo(
                f"unisono: leaves alone {_cells_text(count)} of an interrupted run that asked something else ({what})",
                err=True,
            )

    def _keep(self) -> None:
        """What another plan has left of the same question stays."""
        done = {(outcome.operation, outcome.bytes) for outcome in self.outcomes}
        rest = [o for o in self.unfinished.cells(self.question) if (o.operation, o.bytes) not in done]
        self.unfinished.keep(self.question, rest + self.outcomes)

    def interrupted_text(self) -> str:
        """What somebody wants to know who has ended the run before its end."""
        kept = f"{len(self.outcomes)} of {len(self.plan)} cells are kept in {self.unfinished.file}"
        goes_on = "the same command goes on from there (--restart begins anew)"
        return f"interrupted: {kept}; {goes_on}" if self.outcomes else "interrupted: no cell was finished yet"

    def rules(self) -> list[dict[str, Any]]:
        assert self.place is not None
        limits = tuning.limits_of(self.tuner.algorithms)
        return tuning.rules(self.outcomes, self.place, limits, shares_cores(self.place))

    def write_table(self, command_line: str) -> None:
        assert self.place is not None
        provenance = {"machine": processor_name(), "mpi": self.place.mpi}
        table = decision_table.document(self.rules(), command_line, **provenance)
        files.write_whole(self.output, decision_table.as_text(table))
        self.unfinished.drop(self.question, {(outcome.operation, outcome.bytes) for outcome in self.outcomes})

    def write_page(self, page: Path) -> None:
        (table,) = decision_table.require((str(self.output),))
        cells = [outcome.cell for outcome in self.outcomes]
        source = sources.Table(str(self.output), self.output.stem, table, cells)
        build.write(page, [source], self.machine or build.STANDARD_MACHINE)
        click.echo(f"page: {page}")

    def _cost_text(self) -> str:
        """The time of this tuning against an exhaustive one's."""
        seconds, every_s, looked, every = (
            sum(value)
            for value in zip(
                *((o.seconds, o.exhaustive_s, o.looked, o.every) for o in self.outcomes), strict=True
            )
        )
        text = f"{seconds:.0f} s for {_cells_text(len(self.outcomes))}, {looked} settings looked at"
        if self.tuner.is_exhaustive:
            return (
                f"{text}: all {every} that may run here and differ"
                if looked >= every
                else f"{text} of {every}"
            )
        return (
            f"{text} of {every} that may run here and differ: {seconds / every_s:.0%} of the time of an exhaustive search, "
            f"which would take about {every_s:.0f} s (an estimate: for each setting the mean time of the looks at its "
            "operation and size). --exhaustive is that search; `unisono table diff` of both tables shows what is lost against it."
        )

    def say(self) -> None:
        assert self.place is not None
        right = ("bytes", "native", "tuned", "over native", "over own choice", "looked at")
        console = tables.console()
        tables.print_rows(
            console,
            f"{self.place.mpi}, {self.place.layout}",
            ["operation", *right, "algorithm"],
            [_row(outcome) for outcome in self.outcomes],
            right=right,
            whole=("operation",),
            give_way=("looked at", "over own choice"),
        )
        if any(outcome.undecided(outcome.winner()) for outcome in self.outcomes):
            console.print(
                "not decided: the 95 % interval of how many times as fast as native leaves open which of both is faster. A larger "
                "--budget, or a quieter machine, tells.",
                soft_wrap=True,
            )
        console.print(self._cost_text(), soft_wrap=True)
        if self.left_out:
            console.print(f"left out: {self.left_out} cells whose blocks are too large together")
        for trouble in self.troubles:
            click.echo(f"unisono: {trouble}", err=True)
        wrong = [o for o in self.outcomes if not o.cell.is_same]
        for outcome in wrong:
            click.echo(
                f"unisono: {outcome.operation}, {outcome.bytes} bytes: results differ from the MPI's",
                err=True,
            )
        click.echo(f"table: {self.output}   (use it: unisono run --table {self.output} ...)")
        if wrong:
            click.get_current_context().exit(1)


def _machine_of(place: Place) -> Path | None:
    """The one that was measured here, as far as it can be relied on."""
    found = machines.measured_for(place)
    if found is None or machines.is_steady(found):
        return found
    click.echo(
        f"unisono: {found} is not used, since the machine changed while it was measured; measure again (`unisono tune --only "
        f"measure`), or name it: --machine {found.stem}",
        err=True,
    )
    return None


def shares_cores(place: Place) -> bool | None:
    """Whether ranks of a node share cores, as a job says it of itself; None: not known. Nodes may be containers that share the
    cores of one machine: several nodes that have cores enough each may lack them together."""
    least, most = place.ranks_per_node
    if place.cores == 0 or least != most:
        return None
    if most > machine_measuring.cores_of(place):
        return True
    return False if place.nodes == 1 else None


def _row(outcome: tuning.Outcome) -> list[str]:
    winner = outcome.winner()
    between = outcome.undecided(winner)
    not_decided = f" (not decided: {between[0]:.2f} to {between[1]:.2f})" if between else ""
    return [
        outcome.operation,
        tables.bytes_text(outcome.bytes) if outcome.operation != "barrier" else "",
        tables.seconds_text(outcome.cell.native_s),
        tables.seconds_text(outcome.time_s(winner)),
        f"{outcome.speedup(winner):.2f}",
        f"{outcome.speedup(winner) / outcome.cell.speedup:.2f}",
        str(outcome.looked),
        winner + not_decided,
    ]


def _cells_text(count: int) -> str:
    return f"{count} cell{'s' if count != 1 else ''}"
