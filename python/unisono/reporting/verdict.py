# SPDX-License-Identifier: BSD-3-Clause
"""What a run has gained: its report's last line. It is known where the MPI's own collectives were timed in the same run."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from unisono.common import units
from unisono.common.operations import BY_AGENTS, called_as

_LITTLE = 0.005  # of the run: nobody would see it if that took no time
_COARSE = 0.25  # how uncertain a comparison is of which the report does not say it
_OF_MESSAGES = (
    "`unisono match report` says what queues cost, of a trace (`unisono run --record-messages FILE`), and "
    "`unisono match bench` measures the MPI's."
)
_ALIKE = 0.01  # of the time in collectives: no difference worth a word


@dataclass(frozen=True)
class Verdict:
    """A sentence, and its numbers where there are any: seconds saved with their interval, and what native would have taken."""

    text: str
    saved_s: float | None = None
    low_s: float | None = None
    high_s: float | None = None
    native_s: float | None = None


@dataclass(frozen=True)
class _Saving:
    """On calls of one kind."""

    best_s: float
    low_s: float
    high_s: float


def of_report(report: Mapping[str, Any]) -> Verdict:
    found = _of_collectives(report)
    if not report.get("messages", {}).get("sent"):
        return found
    if found.saved_s is None and report["messages"]["sent"] > sum(row["calls"] for row in report["classes"]):
        return Verdict(
            f"How much was saved is not known: the MPI's own messages were not timed. {_OF_MESSAGES}"
        )
    return replace(found, text=f"{found.text} Messages are not in it. {_OF_MESSAGES}")


def _of_collectives(report: Mapping[str, Any]) -> Verdict:
    spent_s, wall_s = report["collective_time_s"]["max"], report["wall_s"]
    if not report["classes"] and report["native"]:
        return Verdict("Nothing gained: the MPI served all collective calls; the table above says why.")
    if not report["classes"]:
        return Verdict("Nothing to gain: the program made no collective call that Unisono could serve.")
    if wall_s > 0 and spent_s + report["collective_time_s"]["error"] < _LITTLE * wall_s:
        return Verdict(_of_started(report) or "Nothing to gain: 0 % of the time was spent in collectives.")
    blocking = [row for row in report["classes"] if row["form"] == "blocking"]
    if blocking and all(row["algorithm"] == "native" for row in blocking):
        return Verdict(
            "Nothing gained: the MPI's own collectives served all calls; the table above says why."
        )
    savings = list(_savings(report["learning"]))
    if not savings:
        return Verdict(_unknown(report))
    return _compared(report, savings, spent_s)


def _of_started(report: Mapping[str, Any]) -> str:
    """Of calls that do not block: what was not counted, and what shows it. Empty: there were none."""
    started = [row for row in report["classes"] if row["form"] != "blocking"]
    if not started:
        return ""
    most = max(started, key=lambda row: row["calls"])
    may_go_on = [row for row in started if row["form"] == "non-blocking" and row["operation"] in BY_AGENTS]
    agents = "; between nodes `--agents 1` goes on with such calls while the program computes"
    has_use = len(report["nodes"]) > 1 and "agents" not in report and may_go_on
    return (
        "How much was saved is not known: only blocking collectives were counted, and waits (MPI_Wait, MPI_Test) for "
        f"calls that do not block ({called_as(most['operation'], most['form'])}) were not. "
        f"`unisono profile` counts waits{agents if has_use else ''}."
    )


def _savings(learning: list[dict[str, Any]]) -> Iterator[_Saving]:
    """Of each kind of calls in which native and others were timed: what its calls took less than native, trials included."""
    for row in learning:
        native_s = _time_of(row, "native")
        others = [c for c in row["candidates"] if c["algorithm"] != "native" and c["time_s"]]
        if native_s is None or not any(c["calls"] for c in others):
            continue
        error = row.get("uncertainty", _COARSE)
        spent_s = row["measuring_overhead_s"] + row["monitoring_overhead_s"]

        native_all_s = native_s * sum(c["calls"] for c in others)
        saved_s = native_all_s - sum(c["calls"] * c["time_s"] for c in others) - spent_s
        yield _Saving(saved_s, saved_s - error * native_all_s, saved_s + error * native_all_s)


def _time_of(row: Mapping[str, Any], algorithm: str) -> float | None:
    times = [c["time_s"] for c in row["candidates"] if c["algorithm"] == algorithm]
    return times[0] if times and times[0] else None


def _compared(report: Mapping[str, Any], savings: list[_Saving], spent_s: float) -> Verdict:
    saved_s, low_s, high_s = (
        sum(getattr(one, name) for one in savings) for name in ("best_s", "low_s", "high_s")
    )
    native_s = spent_s + saved_s
    interval = f"(between {_signed_text(low_s)} and {_signed_text(high_s)})"
    if low_s < 0 < high_s or abs(saved_s) < _ALIKE * spent_s:
        text = (
            f"No clear difference from the MPI's own collectives: {_signed_text(saved_s)} saved {interval}."
        )
    elif saved_s > 0:
        times = f"{native_s / spent_s:.2g}" if native_s > 1.1 * spent_s else f"{native_s / spent_s:.2f}"
        text = (
            f"About {times} times as fast in collectives as the MPI alone: "
            f"{units.seconds_text(saved_s)} of {units.seconds_text(native_s)} saved {interval}."
        )
    else:
        text = (
            f"Slower in collectives than the MPI alone: {units.seconds_text(-saved_s)} lost (between "
            f"{_signed_text(-high_s)} and {_signed_text(-low_s)}). `--algorithm all:native` leaves all calls to the MPI."
        )
    left = _not_compared(report)
    if left:
        text += f" Not in it, as the MPI's time of them is not known: {left}."
    return Verdict(text, saved_s, low_s, high_s, native_s)


def _not_compared(report: Mapping[str, Any]) -> str:
    """Kinds of calls that Unisono served and of which nothing was timed natively: `bcast 4 KiB, barrier`."""
    known = {_kind(row) for row in report["learning"] if _time_of(row, "native") is not None}
    seconds: dict[str, float] = {}
    for row in report["classes"]:
        if row["form"] == "blocking" and row["algorithm"] != "native" and _kind(row) not in known:
            seconds[row["operation"]] = seconds.get(row["operation"], 0.0) + row["time_s"]
    return ", ".join(sorted(seconds, key=lambda name: -seconds[name]))


def _kind(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return row["operation"], row["layout"], row["bytes_high"]


def _unknown(report: Mapping[str, Any]) -> str:
    """Why nobody can say what was gained."""
    slower = {
        row["operation"]
        for row in report["learning"]
        if row["chosen"] != "native"
        and any(c["algorithm"] == "native" and c["measured_calls"] for c in row["candidates"])
    }
    if slower:
        return (
            f"Faster than the MPI's own collectives, which were tried ({', '.join(sorted(slower))}) and given up after few calls: by how "
            f"much was not measured. {_advice(report)}"
        )
    if report["options"].get("learn") == "off":
        why = "with `learn` off the MPI's own collectives are not timed"
    else:
        why = "the run had too few collective calls to time the MPI's own as well"
    return f"How much was saved is not known: {why}. {_advice(report)}"


def _advice(report: Mapping[str, Any]) -> str:
    return f"`unisono bench -- mpirun -n {report['ranks']}` compares both."


def _signed_text(seconds: float) -> str:
    return units.seconds_text(seconds) if seconds >= 0 else f"-{units.seconds_text(-seconds)}"
