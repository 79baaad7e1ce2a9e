# SPDX-License-Identifier: BSD-3-Clause
"""One kind of communicator of a tuning, as it goes: its cells, what is kept of them beside the table, and what they have cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress, TaskID

from unisono.commands.cells import cells_named
from unisono.commands.values import WORLD
from unisono.common import printing, tool, units
from unisono.common.budget import Budget
from unisono.common.errors import UnisonoError
from unisono.common.operations import ON_ONE_VECTOR, WITHOUT_SIZE
from unisono.machine import catalogue, measuring
from unisono.machine.predictions import Predictions
from unisono.measuring.measurer import JobError, Measurer, Place
from unisono.tuning import results, search_space
from unisono.tuning.searching import Tuner
from unisono.tuning.unfinished import Unfinished

_MOST_BYTES = 64 << 20  # that a rank holds of all blocks: larger blocks are left out
_LEAST_CELL_S = 0.1
_PREDICTING_SHARE = 0.1  # of the budget, at most: jobs of many ranks take long to predict
_MOST_FAILURES = 5
_KINDS = {"node": "the ranks of each node", "leaders": "one rank of each node"}
_PARTS = {
    "exhaustive": "--exhaustive",
    "search_all": "--search-all",
    "machine": "the machine of the predictions",
    "launcher": "the launcher's words",
    "settings": "UNISONO_ variables",
    "comm": "the communicators",
    "place": "the MPI or the layout",
}


class LeftOut(Exception):  # noqa: N818 - it is no error
    """There is nothing to tune on this kind of communicators: why."""


@dataclass(frozen=True)
class Asked:
    """What the command line says of all kinds of communicators. `job`: the launcher's words and settings; `words`: the command
    that starts the measuring job with these options, and these settings beside its own."""

    output: Path
    machine: str | None
    job: Mapping[str, object]
    words: Callable[[Sequence[str], Mapping[str, str]], list[str]]
    is_proof: bool = False
    is_judging: bool = True  # by kindred operations


class TuningRun:
    """One kind of communicators: its cells, what is done of them, and what that has cost. `known`: where others were tuned."""

    def __init__(
        self,
        asked: Asked,
        comm: str,
        plan: Sequence[tuple[str, int]],
        exhaustive: bool,
        known: Sequence[Place] = (),
        title: str = "tuning",
    ) -> None:
        self.asked = asked
        self.comm = comm
        self.unfinished = Unfinished(asked.output)
        self.plan = plan
        self.budget = Budget(0)
        self.tuner = Tuner(tool.algorithms(), is_exhaustive=exhaustive, is_judging=asked.is_judging)
        self.known = known
        self.title = title
        self.outcomes: list[results.Outcome] = []
        self.place: Place | None = None
        self.question: Mapping[str, object] = {}
        self.troubles: list[str] = []
        self.left_out: list[tuple[str, int]] = []
        self.overtimes: list[tuple[int, float]] = []  # sizes of cells, and by how much they were late

    def words(self, **settings: str) -> list[str]:
        """Of a job that measures what it is asked for, of this plan."""
        sizes = ",".join(map(str, sorted({size for _, size in self.plan})))
        return self.asked.words(["--serve", "--comm", self.comm, "--sizes", sizes], settings)

    def go(self, budget: Budget) -> None:
        self.budget = budget
        with printing.progress() as progress:
            task = progress.add_task(self.title, total=len(self.plan))
            failures = 0
            while failures < _MOST_FAILURES and not (failures > 0 and self._is_time_up()):
                try:
                    with Measurer(self.words(), budget=self._limit()) as job:
                        self._begin(job.place)
                        self._cells(job, progress, task)
                    return
                except JobError as error:
                    failures += 1
                    if self.place is None:
                        raise
                    if not self._is_time_up():
                        self._note(error)
        if not self.outcomes and self._is_time_up():
            raise UnisonoError("the budget was spent before anything was measured: give a larger --budget")
        if not self._is_time_up():
            raise UnisonoError(
                f"the measuring job has failed {failures} times; what was measured before is kept, and the same command goes on"
            )

    def _limit(self) -> Budget | None:
        """An exhaustive search takes whatever time it takes."""
        return None if self.tuner.is_exhaustive else self.budget

    def _is_time_up(self) -> bool:
        limit = self._limit()
        return limit is not None and limit.is_spent

    @property
    def not_reached(self) -> list[tuple[str, int]]:
        """Cells that the budget had no time for."""
        return self._left() if self.place is not None else []

    def _begin(self, place: Place) -> None:
        if self.place is not None:
            return
        self._require_another(place)
        self.place = place
        self.left_out = [cell for cell in self.plan if self._is_too_large(*cell)]
        if len(self.left_out) == len(self.plan):
            raise LeftOut(f"{self._left_out_text()}; name smaller sizes")
        named = self.asked.machine
        machine = catalogue.resolve(named) if named else machine_of(place.of_job)
        if machine is not None and machine != catalogue.NONE:
            self.tuner.ranges = search_space.ranges_of(catalogue.findings(machine), place.nodes)
            self.tuner.expected = Predictions(
                str(machine), place.predicted_layout, self.plan, _PREDICTING_SHARE * self.budget.seconds
            )
            if named is None and not self.known and not self.tuner.is_exhaustive:
                printing.echo(f"unisono: predictions go by {machine}, which was measured here", err=True)
        self.question = {
            "exhaustive": self.tuner.is_exhaustive,
            "search_all": not self.tuner.is_judging,
            "machine": str(machine or catalogue.NONE),
            "comm": self.comm,
            "place": asdict(place),
            **self.asked.job,
        }
        self._read_kept()

    def _is_of_same_command(self, differing: Sequence[str]) -> bool:
        """As far as one can tell: the cells of other communicators, and, of a proof, those of the search."""
        return set(differing) <= (
            {"comm", "place", "exhaustive"} if self.asked.is_proof else {"comm", "place"}
        ) and ("comm" in differing or "exhaustive" in differing)

    def _require_another(self, place: Place) -> None:
        if not place.is_uniform:
            raise LeftOut(
                "its communicators have different layouts, for which no one decision holds: tune them one by one, with a launcher "
                "that starts so many ranks"
            )
        if place.ranks == 1:
            raise LeftOut("its communicators have one rank each, which needs no algorithm")
        if any(place.is_like(other) for other in self.known):
            raise LeftOut(f"its layout, {place.layout}, is tuned already")

    def _note(self, error: JobError) -> None:
        """Candidates that the job died of are not tried again."""
        operation, size = self._left()[0]
        names = [name for name in error.candidates if name != "native"]
        self.tuner.failed |= {(operation, name) for name in names}
        self.troubles.append(
            f"{operation}, {units.bytes_text(size)}: {error}; left out: {', '.join(names) or 'nothing'}"
        )

    def _left(self) -> list[tuple[str, int]]:
        done = {(outcome.operation, outcome.bytes) for outcome in self.outcomes}
        return [cell for cell in self.plan if cell not in done and not self._is_too_large(*cell)]

    def _left_out_text(self) -> str:
        return f"{cells_named(self.left_out)}: a rank would hold more than {units.bytes_text(_MOST_BYTES)} of all blocks together"

    def _is_too_large(self, operation: str, size: int) -> bool:
        assert self.place is not None
        return operation not in ON_ONE_VECTOR and size * self.place.ranks > _MOST_BYTES

    def _cells(self, job: Measurer, progress: Progress, task: TaskID) -> None:
        left = self._left()
        progress.update(task, total=len(left) + len(self.outcomes), completed=len(self.outcomes))
        for number, (operation, size) in enumerate(left):
            of = f"{self.comm}: " if self.comm != WORLD else ""
            progress.update(task, description=f"{of}{operation} {units.bytes_text(size)}")
            share_s = self.budget.left_s / (len(left) - number)
            free_s = self.budget.left_s - self._overtime_s(size)
            if not self.tuner.is_exhaustive and self.outcomes and free_s <= 0:
                continue  # a smaller one may still have time
            allowed_s = max(min(share_s, free_s), _LEAST_CELL_S)
            start_s = self.budget.left_s
            self.outcomes.append(self.tuner.tune(job, operation, size, allowed_s))
            self.overtimes.append((size, start_s - self.budget.left_s - allowed_s))
            self._keep()
            progress.advance(task)

    def _overtime_s(self, size: int) -> float:
        """How much longer than allowed a cell may take: what those have that were no larger."""
        return max((0.0, *(seconds for of, seconds in self.overtimes if of <= size)))

    def _read_kept(self) -> None:
        """Go on with what an interrupted run has left that asked the same."""
        of_plan = [o for o in self.unfinished.cells(self.question) if (o.operation, o.bytes) in self.plan]
        self.outcomes += of_plan
        for outcome in of_plan:
            self.tuner.kindred.note(outcome, {})
        if of_plan:
            printing.echo(
                f"unisono: goes on after {cells_text(len(of_plan))} that an interrupted run has left",
                err=True,
            )
        for count, differing in self.unfinished.others(self.question):
            if self._is_of_same_command(differing):
                continue
            what = ", ".join(_PARTS[part] for part in differing)
            printing.echo(
                f"unisono: leaves alone {cells_text(count)} of an interrupted run that asked something else ({what})",
                err=True,
            )

    def _keep(self) -> None:
        """What another plan has left of the same question stays."""
        done = {(outcome.operation, outcome.bytes) for outcome in self.outcomes}
        rest = [o for o in self.unfinished.cells(self.question) if (o.operation, o.bytes) not in done]
        self.unfinished.keep(self.question, rest + self.outcomes)

    def rules(self) -> list[dict[str, Any]]:
        assert self.place is not None
        limits = results.limits_of(self.tuner.algorithms)
        return results.rules(self.outcomes, self.place, limits, shares_cores(self.place))

    def _decided_together(self) -> dict[str, list[results.Outcome]]:
        """Those whose operation has one rule for all sizes, by the operation."""
        found: dict[str, list[results.Outcome]] = {}
        for outcome in self.outcomes:
            if outcome.operation in WITHOUT_SIZE:
                found.setdefault(outcome.operation, []).append(outcome)
        return found

    def decision(self, outcome: results.Outcome) -> str:
        """What the table has for it."""
        together = self._decided_together().get(outcome.operation)
        return results.winner_at_all(together) if together else outcome.winner()

    def drop_kept(self) -> None:
        """What stands in the table now; where more is to come it waits for that."""
        if self.not_reached:
            return
        self.unfinished.drop(self.question, {(outcome.operation, outcome.bytes) for outcome in self.outcomes})

    def say(self, console: Console) -> bool:
        """Prints what was found; whether all results were the MPI's."""
        assert self.place is not None
        right = ("bytes", "native", "tuned", "over native", "over own choice", "looked at")
        of = f", {_KINDS.get(self.comm, self.comm)}" if self.comm != WORLD else ""
        printing.print_rows(
            console,
            f"{self.place.mpi}, {self.place.layout}{of}",
            ["operation", *right, "algorithm"],
            [_row(outcome, self.decision(outcome)) for outcome in self.outcomes],
            right=right,
            whole=("operation",),
            give_way=("looked at", "over own choice"),
            elsewhere="`unisono table show`",
        )
        if self.left_out:
            console.print(f"left out: {self._left_out_text()}", soft_wrap=True)
        if self.not_reached:
            console.print(
                f"no time for: {cells_named(self.not_reached)}; the same command goes on there, with this --budget anew or a larger one",
                soft_wrap=True,
            )
        shared = [name for name, outcomes in self._decided_together().items() if len(outcomes) > 1]
        if shared:
            console.print(
                f"{', '.join(shared)}: ranks share no size, so that the table has one rule for all sizes: what is slower than native "
                "at none of them and the best in the mean.",
                soft_wrap=True,
            )
        for line in judged_lines(self.outcomes):
            console.print(line, soft_wrap=True)
        for trouble in self.troubles:
            printing.echo(f"unisono: {trouble}", err=True)
        wrong = [o for o in self.outcomes if not o.cell.is_same]
        for outcome in wrong:
            printing.echo(
                f"unisono: {outcome.operation}, {outcome.bytes} bytes: results differ from the MPI's",
                err=True,
            )
        return not wrong


def judged_lines(outcomes: Sequence[results.Outcome]) -> list[str]:
    """What was not searched, or not looked at, because of another operation's times (A14): one line for each reason."""
    sizes: dict[tuple[str, str], list[str]] = {}
    for outcome in outcomes:
        if outcome.judged:
            of = sizes.setdefault((outcome.operation, outcome.judged), [])
            of.append(units.size_text(outcome.operation, outcome.bytes))
    return [
        f"{operation} of {', '.join(of)}: {judged} (--search-all looks all the same)"
        for (operation, judged), of in sizes.items()
    ]


def machine_of(place: Place) -> Path | None:
    """The one that was measured here, as far as it can be relied on."""
    found = catalogue.measured_for(place)
    if found is None or catalogue.is_steady(found):
        return found
    printing.echo(
        f"unisono: {found} is not used, since the machine changed while it was measured; measure again (`unisono machine "
        f"measure`), or name it: --machine {found.stem}",
        err=True,
    )
    return None


def shares_cores(place: Place) -> bool | None:
    """Whether ranks share cores, as a job says it of itself; None: not known. Of nodes that share the cores of one machine those
    count that are seen to: control groups may let several nodes that seem to have cores enough lack them together."""
    job = place.of_job
    least, most = job.ranks_per_node
    if job.cores == 0 or least != most:
        return None
    if job.most_on_cores > measuring.cores_of(job):
        return True
    return False if job.nodes == 1 else None


def _row(outcome: results.Outcome, decision: str) -> list[str]:
    """`decision`: what the table has, which may be decided together with other sizes."""
    fastest = outcome.winner()
    between = outcome.undecided(decision)
    remark = f" (not decided: {between[0]:.2f} to {between[1]:.2f})" if between else ""
    if outcome.speedup(fastest) > results.TIE * outcome.speedup(decision):
        remark += f" (at this size: {fastest}, {outcome.speedup(fastest):.2f} over native)"
    return [
        outcome.operation,
        units.size_text(outcome.operation, outcome.bytes),
        units.seconds_text(outcome.cell.native_s),
        units.seconds_text(outcome.time_s(decision)),
        f"{outcome.speedup(decision):.2f}",
        f"{outcome.speedup(decision) / outcome.cell.speedup:.2f}",
        str(outcome.looked),
        decision + remark,
    ]


def cells_text(count: int) -> str:
    return f"{count} cell{'s' if count != 1 else ''}"
