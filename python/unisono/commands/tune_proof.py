# SPDX-License-Identifier: BSD-3-Clause
"""The proof of a tuning (`unisono tune --prove`): an exhaustive search of the same cells, and both decisions in turn."""

from __future__ import annotations

from unisono.commands.tune_all import Tuning
from unisono.commands.tune_run import TuningRun
from unisono.commands.values import WORLD
from unisono.common import printing, units
from unisono.common.budget import Budget
from unisono.common.errors import UnisonoError
from unisono.common.operations import WITHOUT_SIZE
from unisono.measuring.measurer import Measurer
from unisono.tuning import proof
from unisono.tuning.proof import Compared

_COMPARISON_S = 0.6  # a cell
_SHOWN = 5  # cells with the largest losses
_LARGE_LOSS = 0.05


class Proof:
    """Of all kinds of communicators that were tuned."""

    def __init__(self, tuned: Tuning) -> None:
        self.tuned = tuned
        self.searches: list[TuningRun] = []
        self.cells: dict[str, list[Compared]] = {}

    def go(self) -> None:
        for part in self.tuned.done:
            # Of the others all algorithms are measured at all sizes anyway.
            by_size = [o for o in part.outcomes if o.operation not in WITHOUT_SIZE]
            if not by_size:
                continue
            plan = [(o.operation, o.bytes) for o in by_size]
            seconds = sum(o.exhaustive_s for o in by_size)
            of = f" on --comm {part.comm}" if part.comm != WORLD else ""
            printing.echo(
                f"unisono: the exhaustive search{of} is of {sum(o.every for o in by_size)} settings and takes {seconds:.0f} s at "
                "least (an estimate)",
                err=True,
            )
            search = TuningRun(self.tuned.asked, part.comm, plan, True, title="searching")
            self.searches.append(search)
            search.tuner.failed = part.tuner.failed
            search.go(Budget(part.budget.seconds))
            self._compare(part, search)
        if not self.cells:
            raise UnisonoError("there is nothing to prove: of the operations tuned no decision goes by size")
        self.tuned.drop_kept()
        for search in self.searches:
            search.drop_kept()

    def interrupted_text(self) -> str:
        kept = sum(len(run.outcomes) for run in self.searches)
        return (
            f"interrupted: the table {self.tuned.asked.output} is written; {kept} cells of the search are kept in "
            f"{self.tuned.unfinished.file}, and the same command goes on from there"
        )

    def _compare(self, part: TuningRun, search: TuningRun) -> None:
        tuned = {(o.operation, o.bytes): o for o in part.outcomes}
        table = str(self.tuned.asked.output.absolute())
        cells = self.cells.setdefault(part.comm, [])
        words = search.words(UNISONO_TABLE=table, UNISONO_STARTUP_TEST="0")
        with printing.progress() as progress, Measurer(words) as job:
            task = progress.add_task("comparing", total=len(search.outcomes))
            for searched in search.outcomes:
                own = tuned[searched.operation, searched.bytes]
                progress.update(
                    task, description=f"{own.operation} {units.size_text(own.operation, own.bytes)}"
                )
                cells.append(proof.in_turn(job, own, searched, _COMPARISON_S))
                progress.advance(task)

    def say(self) -> None:
        console = printing.console()
        for comm, cells in self.cells.items():
            took, share, _, looks = proof.times_taken(cells, 0.0)
            slower = [cell for cell in cells if cell.is_slower]
            of = f", communicator: {comm}" if comm != WORLD else ""
            console.print(
                f"Proof{of}: tuning took {took}, which is {share} (looks alone {looks}; the aim is 10 %). Its decisions lose "
                f"{proof.loss_text(cells, 'tuned')} against the search's (geometric mean of {len(cells)} cells, 95 % interval; the aim "
                f"is 5 %). Slower than native by more than 2 %, with the whole interval: {len(slower) or 'none'}.",
                soft_wrap=True,
            )
            worst = sorted(
                (c for c in cells if c.is_slower or (c.loss("tuned") or 0) > _LARGE_LOSS),
                key=lambda c: -(c.loss("tuned") or 0),
            )
            if worst:
                right = ("bytes", "native", "tuned", "search", "loss", "of native")
                printing.print_rows(
                    console,
                    "The largest losses"
                    if len(worst) > _SHOWN
                    else "Losses above 5 %, and what is slower than native",
                    ["operation", *right, "tuned to", "found by the search"],
                    [_row(cell) for cell in worst[:_SHOWN]],
                    right=right,
                    whole=("operation",),
                    give_way=("of native", "search"),
                    elsewhere="",
                )


def _row(cell: Compared) -> list[str]:
    loss, found = cell.loss("tuned"), cell.times["search"]
    ratio, low, high = cell.slowdown
    return [
        cell.operation,
        units.size_text(cell.operation, cell.bytes),
        units.seconds_text(cell.times["native"] or 0),
        units.seconds_text(cell.times["tuned"] or 0),
        units.seconds_text(found) if found else "",
        proof.percent(loss) if loss is not None else "",
        f"{ratio:.2f} ({low:.2f} to {high:.2f})",
        str(cell.choices["served"]),
        str(cell.choices["search"]),
    ]
