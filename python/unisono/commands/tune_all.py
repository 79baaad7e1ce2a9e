# SPDX-License-Identifier: BSD-3-Clause
"""A whole tuning: the kinds of communicators one after the other, the table of all of them, and what it has cost."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path

import click
from rich.console import Console
from rich.markup import escape

from unisono.commands.tune_run import Asked, LeftOut, TuningRun, cells_text
from unisono.common import files, printing, tool
from unisono.common.budget import Budget
from unisono.machine import catalogue
from unisono.machine.host import processor_name
from unisono.measuring.measurer import Place
from unisono.page import build, sources
from unisono.tables import decision_table, ways
from unisono.tuning import results
from unisono.tuning.unfinished import Unfinished


class Tuning:
    """The parts of one tuning, a kind of communicators each."""

    def __init__(
        self, asked: Asked, kinds: Sequence[str], plan: Sequence[tuple[str, int]], exhaustive: bool
    ) -> None:
        self.asked = asked
        self.unfinished = Unfinished(asked.output)
        self.known: list[Place] = []
        self.left = [TuningRun(asked, kind, plan, exhaustive, self.known) for kind in kinds]
        self.done: list[TuningRun] = []

    def say_damage(self) -> None:
        """Of what an interrupted run may have left."""
        damage = self.unfinished.damage()
        if damage is not None:
            printing.echo(
                f"unisono: {self.unfinished.file} {damage}: it is not used, and what it held is measured anew",
                err=True,
            )

    def go(self, budget: Budget) -> None:
        """Each part has its share of the time that those before it have left."""
        while self.left:
            part = self.left[0]
            try:
                if self.done and budget.is_spent and not part.tuner.is_exhaustive:
                    raise LeftOut("there was no time for it; give a larger --budget")
                part.go(budget.part(1 / len(self.left)))
            except LeftOut as why:
                printing.echo(f"unisono: --comm {part.comm} is left out: {why}", err=True)
                if len(self.left) == 1 and not self.done:
                    raise click.UsageError("there is nothing to tune on these communicators") from None
            else:
                assert part.place is not None
                self.done.append(part)
                self.known.append(part.place)
            self.left.pop(0)

    @property
    def outcomes(self) -> list[results.Outcome]:
        return [outcome for part in self.done for outcome in part.outcomes]

    def interrupted_text(self) -> str:
        """What somebody wants to know who has ended the run before its end."""
        parts = [*self.done, *self.left]
        done = sum(len(part.outcomes) for part in parts)
        kept = f"{done} of {sum(len(part.plan) for part in parts)} cells are kept in {self.unfinished.file}"
        goes_on = "the same command goes on from there (--restart begins anew)"
        return f"interrupted: {kept}; {goes_on}" if done else "interrupted: no cell was finished yet"

    def write_table(self, command_line: str) -> None:
        provenance = {"machine": processor_name(), "mpi": self.known[0].mpi}
        rules = [rule for part in self.done for rule in part.rules()]
        files.write_whole(
            self.asked.output,
            decision_table.as_text(decision_table.document(rules, command_line, **provenance)),
        )

    def drop_kept(self) -> None:
        for part in self.done:
            part.drop_kept()

    def write_page(self, page: Path) -> None:
        (table,) = decision_table.require((str(self.asked.output),))
        cells = [outcome.cell for outcome in self.outcomes]
        source = sources.Table(str(self.asked.output), self.asked.output.stem, table, cells)
        build.write(page, [source], self.asked.machine or catalogue.STANDARD)
        printing.echo(f"page: {page}")

    def _cost_text(self) -> str:
        """The time of this tuning against an exhaustive one's."""
        outcomes = self.outcomes
        seconds, every_s, looked, every = (
            sum(value)
            for value in zip(*((o.seconds, o.exhaustive_s, o.looked, o.every) for o in outcomes), strict=True)
        )
        text = f"{seconds:.0f} s for {cells_text(len(outcomes))}, {looked} settings looked at"
        if self.done[0].tuner.is_exhaustive:
            return (
                f"{text}: all {every} that may run here and differ"
                if looked >= every
                else f"{text} of {every}"
            )
        estimate = (
            f"{text} of {every} that may run here and differ: {seconds / every_s:.0%} of the time of an exhaustive search, "
            f"which would take about {every_s:.0f} s (an estimate: for each setting the mean time of the looks at its "
            "operation and size)."
        )
        if self.asked.is_proof:
            return estimate
        return f"{estimate} --prove makes that search, and says what is lost against it."

    def say(self) -> bool:
        """Prints what was found; whether all results were the MPI's."""
        console = printing.console()
        is_right = [part.say(console) for part in self.done]
        undecided = [o for part in self.done for o in part.outcomes if o.undecided(part.decision(o))]
        if undecided:
            console.print(undecided_text(undecided), soft_wrap=True)
        console.print(self._cost_text(), soft_wrap=True)
        self._say_ways(console)
        for line in using_lines(self.asked.output):
            printing.echo(line)
        return all(is_right)

    def _say_ways(self, console: Console) -> None:
        """Which way inside nodes is best for which sizes (A13)."""
        rules = [rule for part in self.done for rule in part.rules()]
        known = {(one["operation"], one["name"]): one for one in self.done[0].tuner.algorithms}
        for line in ways.range_lines(list(ways.compared(rules, known))):
            console.print(escape(line), soft_wrap=True)


def using_lines(table: Path) -> list[str]:
    """How a table is used, once and from now on."""
    settings = tool.environment()
    configuration, site = (settings.get(name, {}).get("file") for name in ("configuration", "site_table"))
    whole = table.absolute()
    # What stands in a file may need quotes (base/option_lines.h).
    line = f"table = {json.dumps(str(whole), ensure_ascii=False) if set(str(whole)) & set(' #') else whole}"
    lines = [f"table: {table}", f"  once:           unisono run --table {shlex.quote(str(table))} ..."]
    if configuration:
        lines.append(f"  from now on:    a line '{line}' in {configuration}")
    if site:
        lines.append(f"  for all users:  copy it to {site} (the site table)")
    return lines


def undecided_text(undecided: Sequence[results.Outcome]) -> str:
    """Why, and what would tell: a job stops by itself where the difference from the fastest is too small to matter, and after so many
    samples, whatever the budget."""
    samples = sorted(outcome.cell.samples for outcome in undecided)
    count = str(samples[0]) if samples[0] == samples[-1] else f"{samples[0]} to {samples[-1]}"
    cut_short = sum(outcome.is_cut_short for outcome in undecided)
    larger = f", or for {cells_text(cut_short)} whose time was up a larger --budget," if cut_short else ""
    return (
        "not decided: the 95 % interval of how many times as fast as native leaves open which of both is faster: they are too close, "
        f"or the times too noisy, to tell in {count} samples. A quieter machine{larger} may tell. Where that is Unisono's own choice "
        "the table has no rule."
    )
