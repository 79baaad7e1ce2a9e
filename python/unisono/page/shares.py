# SPDX-License-Identifier: BSD-3-Clause
"""A run's time in collectives, by operation and by kind of calls; why each algorithm was used; what was left to the MPI."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unisono.common import units
from unisono.page import axes, text
from unisono.page.marks import Mark
from unisono.page.sources import Run
from unisono.reporting import report


@dataclass(frozen=True)
class Bar:
    """An operation's time on one shape of communicators: sums over its kinds of calls."""

    label: str
    shape: str
    mark: Mark
    calls: int
    moved_bytes: int
    time_s: float  # on the slowest rank
    mean_s: float
    of_run: float | None  # share of the time from MPI_Init to MPI_Finalize
    is_sampled: bool
    style: str
    tip: str

    @property
    def imbalance(self) -> float | None:
        """The slowest rank's time over the mean."""
        return self.time_s / self.mean_s if self.mean_s else None


@dataclass(frozen=True)
class CallClass:
    label: str
    shape: str
    size: str
    bytes_high: int
    mark: Mark
    calls: int
    moved_bytes: int
    time_s: float
    mean_s: float
    each_s: float
    is_sampled: bool
    algorithm: str
    source: str
    reason: str
    is_blocking: bool


@dataclass(frozen=True)
class Reason:
    """Kinds of calls that one reason decided."""

    source: str
    reason: str
    operations: Sequence[str]
    algorithms: str
    calls: int
    time_s: float


@dataclass(frozen=True)
class Shares:
    title: str
    headline: str
    about: Sequence[tuple[str, str]]
    bars: Sequence[Bar]
    axis: axes.Both
    classes: Sequence[CallClass]
    reasons: Sequence[Reason]
    native: Sequence[dict[str, Any]]
    warnings: Sequence[str]
    hints: Sequence[str]
    learned: str  # what learning cost, and its budget


def of_run(run: Run) -> Shares:
    content = run.report
    classes = [_class(row) for row in content["classes"]]
    sums: dict[tuple[str, str], list[CallClass]] = {}
    for one in classes:
        sums.setdefault((one.shape, one.label), []).append(one)
    times = [sum(one.time_s for one in of) for of in sums.values()]
    axis = axes.Both(
        axes.linear(max(times, default=1.0), text.seconds),
        axes.logarithmic(
            min((t for t in times if t > 0), default=1e-6), max(times, default=1.0), text.seconds
        ),
    )
    bars = [_bar(of, content["wall_s"], axis) for of in sums.values()]
    return Shares(
        title=run.name,
        headline=_headline(content),
        about=_about(content),
        bars=sorted(bars, key=lambda bar: -bar.time_s),
        axis=axis,
        classes=sorted(classes, key=lambda one: -one.time_s),
        reasons=_reasons(content["classes"]),
        native=content["native"],
        warnings=content["warnings"],
        hints=content["hints"],
        learned=_learned(content),
    )


def _headline(content: dict[str, Any]) -> str:
    wall_s = content["wall_s"]
    sentence = f"{text.seconds(wall_s)} from MPI_Init to MPI_Finalize; {report.in_collectives_text(content)}"
    if content["under_way_time_s"]["max"]:
        sentence += f"; {report.under_way_text(content['under_way_time_s'], wall_s)}"
    return sentence


def _about(content: dict[str, Any]) -> list[tuple[str, str]]:
    options = ", ".join(f"{name}={value}" for name, value in content["options"].items())
    agents_text = report.agents_text(content)
    agents = [("agents", agents_text)] if agents_text else []
    checks = [("verify", report.checks_text(content))] if "verify" in content["options"] else []
    return [
        ("Unisono", content["unisono"]),
        ("MPI", content["mpi"]),
        ("ranks", f"{report.layout_text(content['nodes'])}, {report.cores_text(content['usable_cores'])}"),
        ("options", options or "all as they are by themselves"),
        *checks,
        *agents,
    ]


def _class(row: dict[str, Any]) -> CallClass:
    return CallClass(
        label=report.operation_text(row),
        shape=row["shape"],
        size=row["size_class"],
        bytes_high=row["bytes_high"],
        mark=Mark(row["operation"], row["layout"]),
        calls=row["calls"],
        moved_bytes=row["bytes"],
        time_s=row["time_s"],
        mean_s=row["time_mean_s"],
        each_s=row["time_s"] / row["calls"] if row["calls"] else 0.0,
        is_sampled=row["sampled"],
        algorithm=text.algorithm(row["algorithm"], row["parameters"]),
        source=row["source"],
        reason=row["reason"],
        is_blocking=row["form"] == "blocking",
    )


def _bar(of: Sequence[CallClass], wall_s: float, axis: axes.Both) -> Bar:
    time_s, mean_s = sum(one.time_s for one in of), sum(one.mean_s for one in of)
    calls = sum(one.calls for one in of)
    is_sampled = any(one.is_sampled for one in of)
    about = "about " if is_sampled else ""
    # Calls that do not block overlap with each other and with the program.
    share = time_s / wall_s if wall_s and of[0].is_blocking else None
    lines = [
        f"{of[0].label}, {of[0].shape}",
        f"{about}{text.seconds(time_s)} on the slowest rank",
        f"{about}{text.seconds(mean_s)} on average",
        text.plural(calls, "call"),
    ]
    if share is not None:
        lines.insert(3, f"{text.percent(share)} of the run's time")
    return Bar(
        label=of[0].label,
        shape=of[0].shape,
        mark=of[0].mark,
        calls=calls,
        moved_bytes=sum(one.moved_bytes for one in of),
        time_s=time_s,
        mean_s=mean_s,
        of_run=share,
        is_sampled=is_sampled,
        style=axis.style(to=time_s, mean=mean_s),
        tip="\n".join(lines),
    )


def _reasons(rows: Sequence[dict[str, Any]]) -> list[Reason]:
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault((row["source"], row["reason"]), []).append(row)
    reasons = [
        Reason(
            source,
            reason,
            sorted({row["operation"] for row in of}),
            ", ".join(sorted({row["algorithm"] for row in of})),
            sum(row["calls"] for row in of),
            sum(row["time_s"] for row in of),
        )
        for (source, reason), of in found.items()
    ]
    return sorted(reasons, key=lambda one: -one.time_s)


def _learned(content: dict[str, Any]) -> str:
    """What trials and their bookkeeping cost, against what they may (the guard's budget)."""
    rows = [row for row in content["learning"] if row["agreements"]]
    if not rows:
        return ""
    loss_s = sum(row["trial_loss_s"] for row in rows)
    overhead_s = sum(row["measuring_overhead_s"] + row["monitoring_overhead_s"] for row in rows)
    left = sum(1 for row in rows if row["chosen"] == "native")
    total_s = content["collective_time_s"]["max"]
    share = f" ({text.percent(loss_s / total_s)} of the time in collectives)" if total_s else ""
    sentence = (
        f"{text.plural(len(rows), 'kind')} of calls learned, {units.count_text(left)} of them left with the MPI's own collective. "
        f"Trials lost {text.seconds(loss_s)}{share}; agreeing, aligning and keeping times took {text.seconds(overhead_s)}."
    )
    if content["options"].get("learn") != "star":
        budget = content["options"].get("learn_budget", "1")
        sentence += f" The guard lets trials begin while they have cost less than {budget} % of the time in collectives."
    return sentence
