# SPDX-License-Identifier: BSD-3-Clause
"""What a run's report says of one kind of calls: who served them and why, what was measured of each candidate, and what
learning did with them, at which cost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.markup import escape

from unisono.common import printing, units
from unisono.reporting import estimates
from unisono.reporting.report import algorithm_text, known_time_text

_MOST_CHANGES = 24  # that are printed of a time line; in JSON there are all


@dataclass
class Kind:
    """Calls of an operation and a size class on communicators of one layout, in one region of the program
    where learning told regions apart. It has the report's entries of `classes` and of `learning` that are
    about them."""

    operation: str
    layout: str
    is_oversubscribed: bool
    form: str
    bytes_low: int
    bytes_high: int
    region: str = ""
    is_commutative: bool = True
    is_reproducible: bool = False
    classes: list[dict[str, Any]] = field(default_factory=list)
    learned: list[dict[str, Any]] = field(default_factory=list)

    @property
    def has_learned(self) -> bool:
        """Whether anything was found out while the program ran: then the run's choices are its own."""
        return any(row["agreements"] for row in self.learned)

    @property
    def is_by_agents(self) -> bool:
        """Whether agents served such calls."""
        return any(row["algorithm"] == "agents" for row in self.classes)

    def as_json(self) -> dict[str, Any]:
        return {"region": self.region, "classes": self.classes, "learning": self.learned}


def kinds(report: Mapping[str, Any], operation: str, size: int | None, region: str | None) -> list[Kind]:
    """All kinds of the operation that hold the size, in the order of the report; `region`: only those that were learned in
    the region of that name."""
    found: dict[tuple[Any, ...], Kind] = {}
    for row in _about(report["classes"], operation, size):
        found.setdefault(_key(row, row["form"]), _kind(row, row["form"])).classes.append(row)
    made: list[Kind] = []
    for key, kind in found.items():
        learned = [row for row in _about(report["learning"], operation, size) if _key(row, "blocking") == key]
        made += _by_region(kind, learned) or [kind]
    return [kind for kind in made if region is None or (kind.learned and kind.region == region)]


def regions(report: Mapping[str, Any], operation: str, size: int | None) -> list[str]:
    """The names of the regions in which calls of the operation were learned, but that outside of all."""
    names = (row["region"] for row in _about(report["learning"], operation, size))
    return list(dict.fromkeys(name for name in names if name))


def _about(rows: list[dict[str, Any]], operation: str, size: int | None) -> Iterator[dict[str, Any]]:
    for row in rows:
        if row["operation"] == operation and (size is None or row["bytes_low"] <= size <= row["bytes_high"]):
            yield row


def _key(row: Mapping[str, Any], form: str) -> tuple[Any, ...]:
    return row["layout"], row["oversubscribed"], form, row["bytes_high"]


def _kind(row: Mapping[str, Any], form: str) -> Kind:
    return Kind(
        row["operation"], row["layout"], row["oversubscribed"], form, row["bytes_low"], row["bytes_high"]
    )


def _by_region(kind: Kind, learned: list[dict[str, Any]]) -> list[Kind]:
    """The kind once for each region, and for each kind of operator, in which it was learned."""
    parts: dict[tuple[str, bool, bool], Kind] = {}
    for row in learned:
        key = (row["region"], row["commutative"], row["reproducible"])
        if key not in parts:
            part = _kind(row, kind.form)
            part.region, part.is_commutative, part.is_reproducible = key
            part.classes = kind.classes
            parts[key] = part
        parts[key].learned.append(row)
    return list(parts.values())


# --- As it is printed ---


def render(kind: Kind, predicted_us: Mapping[str, float], console: Console) -> None:
    """Who served the calls; then, of each communicator that learned, what was measured and what the guard did."""
    _classes(kind, console)
    for row in kind.learned:
        of = f"communicator {row['communicator']}" + (f", region {row['region']}" if row["region"] else "")
        _measured(row, of, predicted_us, console)
        console.print(escape(_cost_text(row)), soft_wrap=True)
        console.print()
        if row["agreements"]:
            _timeline(row, of, console)


def _classes(kind: Kind, console: Console) -> None:
    of_all = " (in all regions)" if kind.region else ""
    made = printing.table(
        f"Served by{of_all}",
        *("algorithm", "calls", "each", "decided by", "why"),
        right=("calls", "each"),
        give_way=("decided by",),
        legend={"each": "time of a call on the slowest rank, waiting for others included"},
    )
    for row in kind.classes:
        each_s = row["time_s"] / row["calls"] if row["calls"] else 0.0
        made.add_row(
            escape(algorithm_text(row)),
            units.count_text(row["calls"]),
            estimates.cell_text(each_s, row["time_error_s"] / (row["calls"] or 1), row["sampled"]),
            row["source"],
            escape(row["reason"]),
        )
    console.print(made, "")


def _measured(row: Mapping[str, Any], of: str, predicted_us: Mapping[str, float], console: Console) -> None:
    made = printing.table(
        f"Measured in the run: {escape(of)}",
        "algorithm",
        "time",
        "native / it",
        "calls",
        "on trial",
        "predicted",
        "",
        right=("time", "native / it", "calls", "on trial", "predicted"),
        give_way=("on trial", "predicted"),
        legend={
            "time": "of a call without waiting, once all ranks are there",
            "native / it": "how many times as fast as the MPI's own",
            "on trial": "calls in which it was measured",
        },
    )
    native_s = next((c["time_s"] for c in row["candidates"] if c["algorithm"] == "native"), None)
    for entry in sorted(row["candidates"], key=lambda c: (c["time_s"] is None, c["time_s"])):
        name, time_s = entry["algorithm"], entry["time_s"]
        made.add_row(
            escape(algorithm_text(entry)),
            known_time_text(time_s),
            f"{native_s / time_s:.2f}" if native_s and time_s else "",
            units.count_text(entry["calls"]),
            units.count_text(entry["measured_calls"]),
            units.seconds_text(predicted_us[name] * 1e-6) if name in predicted_us else "",
            "in use" if name == row["chosen"] else "",
        )
    console.print(made)


def _cost_text(row: Mapping[str, Any]) -> str:
    """What the guard let learning spend, and what was gained by whom."""
    calls = f"{units.count_text(row['calls'])} calls"
    if not row["agreements"]:
        return f"{calls} were too few, or took too little time, to try anything."
    trials = sum(1 for event in row["timeline"] if event["trial"])
    changes = _changes(row)
    since = units.count_text(row["timeline"][-1]["call"])
    return (
        f"{calls}; {trials} trial{'s' if trials != 1 else ''}, "
        f"{len(changes)} change{'s' if len(changes) != 1 else ''} of what is in use, the last at call {since}. "
        f"Trials cost {units.seconds_text(row['trial_loss_s'])} beyond the best candidate; agreeing and timing "
        f"{units.seconds_text(row['measuring_overhead_s'])} while candidates were measured, "
        f"{units.seconds_text(row['monitoring_overhead_s'])} while one was watched "
        f"({units.count_text(row['agreements'])} agreements)."
    )


def _changes(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """When another algorithm came into use, for good or until the next one did."""
    in_use, found = None, []
    for event in row["timeline"]:
        if not event["trial"] and event["algorithm"] != in_use:
            in_use = event["algorithm"]
            found.append(event)
    return found


def _timeline(row: Mapping[str, Any], of: str, console: Console) -> None:
    made = printing.table(
        f"What ran when: {escape(of)}", "from call", "algorithm", "", "why", right=("from call",)
    )
    events = row["timeline"]
    hidden = len(events) - _MOST_CHANGES
    for number, event in enumerate(events):
        if hidden > 0 and _MOST_CHANGES // 2 <= number < _MOST_CHANGES // 2 + hidden:
            if number == _MOST_CHANGES // 2:
                made.add_row("...", "", "", f"{hidden} more, which --json shows")
            continue
        made.add_row(
            units.count_text(event["call"]),
            escape(event["algorithm"]),
            "trial" if event["trial"] else "in use",
            escape(event["why"]),
        )
    console.print(made, "")
