# SPDX-License-Identifier: BSD-3-Clause
"""Time lines of learning: which algorithm ran from which call on, and why (docs/guide/learning.md)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unisono.common import units
from unisono.page import axes, text
from unisono.page.colours import Algorithms
from unisono.page.marks import Mark
from unisono.page.sources import Run

_MOST_CHANGES = 200  # that a report has


@dataclass(frozen=True)
class Segment:
    """Calls one after the other that one algorithm served."""

    algorithm: str
    is_trial: bool
    style: str
    css_class: str
    tip: str


@dataclass(frozen=True)
class Candidate:
    algorithm: str
    calls: int
    measured_calls: int
    time_s: float | None
    over_native: float | None
    is_chosen: bool


@dataclass(frozen=True)
class Change:
    call: int
    algorithm: str
    is_trial: bool
    why: str


@dataclass(frozen=True)
class Lane:
    """Calls of one kind."""

    title: str
    size: str
    where: str
    mark: Mark
    calls: int
    agreements: int
    chosen: str
    time_s: float | None
    native_s: float | None
    trial_loss_s: float
    overhead_s: float
    segments: Sequence[Segment]
    candidates: Sequence[Candidate]
    untried: Sequence[str]
    changes: Sequence[Change]
    is_cut: bool  # the report has the first changes alone

    @property
    def speedup(self) -> float | None:
        return self.native_s / self.time_s if self.native_s and self.time_s else None


@dataclass(frozen=True)
class Timelines:
    title: str
    lanes: Sequence[Lane]
    axis: axes.Both
    algorithms: Sequence[str]
    undecided: int  # kinds of calls of which nothing was found out


def of_run(run: Run, colours: Algorithms) -> Timelines | None:
    rows = [row for row in run.report["learning"] if row["agreements"]]
    if not rows:
        return None
    # The first call stands at 1, for the logarithm's sake.
    most = max(row["calls"] for row in rows)
    axis = axes.Both(
        axes.linear(most, lambda call: units.count_text(round(call))),
        axes.logarithmic(1, most + 1, lambda call: units.count_text(round(call)), is_to_decades=False),
    )
    names = {row["id"]: row["name"] for row in run.report["communicators"]}
    lanes = [_lane(run, row, names, axis, colours) for row in rows]
    shown = [entry["algorithm"] for row in rows for entry in row["timeline"]]
    return Timelines(
        run.name, lanes, axis, list(dict.fromkeys(shown)), len(run.report["learning"]) - len(rows)
    )


def _lane(run: Run, row: dict[str, Any], names: dict[int, str], axis: axes.Both, colours: Algorithms) -> Lane:
    native_s = next((c["time_s"] for c in row["candidates"] if c["algorithm"] == "native"), None)
    where = [names.get(row["communicator"]) or f"communicator {row['communicator']}", row["shape"]]
    where += [f"region {row['region']}"] if row["region"] else []
    where += [] if row["commutative"] else ["ordered"]
    where += ["reproducible"] if row["reproducible"] else []
    return Lane(
        title=row["operation"],
        size=row["size_class"],
        where=", ".join(where),
        mark=Mark(row["operation"], row["layout"], f"{run.name}/{row['communicator']}", row["region"]),
        calls=row["calls"],
        agreements=row["agreements"],
        chosen=row["chosen"],
        time_s=row["time_s"],
        native_s=native_s,
        trial_loss_s=row["trial_loss_s"],
        overhead_s=row["measuring_overhead_s"] + row["monitoring_overhead_s"],
        segments=_segments(row, axis, colours),
        candidates=[_candidate(one, native_s, row["chosen"]) for one in row["candidates"]],
        untried=row["untried"],
        changes=[Change(e["call"], e["algorithm"], e["trial"], e["why"]) for e in row["timeline"]],
        is_cut=len(row["timeline"]) >= _MOST_CHANGES,
    )


def _segments(row: dict[str, Any], axis: axes.Both, colours: Algorithms) -> list[Segment]:
    timeline = row["timeline"]
    ends = [entry["call"] for entry in timeline[1:]] + [row["calls"]]
    return [
        Segment(
            algorithm=entry["algorithm"],
            is_trial=entry["trial"],
            style=axis.style(**{"from": entry["call"] + 1, "to": max(end, entry["call"] + 1) + 1}),
            css_class=colours.css_class(entry["algorithm"]) + (" trial" if entry["trial"] else ""),
            tip="\n".join(
                [
                    f"{entry['algorithm']}, {'on trial' if entry['trial'] else 'in use'}",
                    f"calls {units.count_text(entry['call'])} to {units.count_text(max(end - 1, entry['call']))}",
                    entry["why"],
                ]
            ),
        )
        for entry, end in zip(timeline, ends, strict=True)
    ]


def _candidate(one: dict[str, Any], native_s: float | None, chosen: str) -> Candidate:
    time_s = one["time_s"]
    return Candidate(
        algorithm=text.algorithm(one["algorithm"], one["parameters"]),
        calls=one["calls"],
        measured_calls=one["measured_calls"],
        time_s=time_s,
        over_native=native_s / time_s if native_s and time_s else None,
        is_chosen=one["algorithm"] == chosen,
    )
