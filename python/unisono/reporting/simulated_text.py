# SPDX-License-Identifier: BSD-3-Clause
"""Simulated calls as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unisono.common import printing, units
from unisono.reporting.machines import filled_text
from unisono.reporting.simulated import Row

_WIDTH = 40


def title(answer: Mapping[str, Any]) -> str:
    of_bytes = "" if answer["operation"] == "barrier" else f" of {units.bytes_text(answer['bytes'])}"
    nodes = f"{units.count_text(answer['nodes'])} node{'' if answer['nodes'] == 1 else 's'}"
    by = "agents" if answer["is_on_agents"] else "hosts"
    return (
        f"{answer['operation']}{of_bytes} on {units.count_text(answer['ranks'])} ranks, {nodes}, by {by}; "
        f"machine {answer['machine']}"
    )


def facts(answer: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What was run, and what came out beside the histogram."""
    said = [
        ("algorithm", answer["algorithm"]),
        ("noise", ", ".join(answer["noise"]) or "none"),
        *_slow_cores(answer["slow"]),
        ("calls", units.count_text(answer["calls"])),
    ]
    return said + (_one_time(answer) if is_one_time(answer) else _spread(answer))


def is_one_time(answer: Mapping[str, Any]) -> bool:
    """All calls have taken the same time, as they do where nothing disturbs them."""
    return bool(answer["distribution"]["least_us"] == answer["distribution"]["most_us"])


def _slow_cores(slow: Mapping[str, float]) -> list[tuple[str, str]]:
    if not slow["share"]:
        return []
    return [("slow cores", f"{100 * slow['share']:g} % of the cores take {slow['factor']:g} times as long")]


def _one_time(answer: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [
        ("without noise", _us(answer["quiet_us"])),
        ("every call takes", _us(answer["distribution"]["least_us"])),
    ]


def _spread(answer: Mapping[str, Any]) -> list[tuple[str, str]]:
    found = answer["distribution"]
    trimmed = found["trimmed"]
    return [
        ("without noise", _us(answer["quiet_us"])),
        ("mean", _us(found["mean_us"])),
        ("standard deviation", _us(found["deviation_us"])),
        (
            f"without the longest {100 * trimmed['share']:g} %",
            f"mean {_us(trimmed['mean_us'])}, standard deviation {_us(trimmed['deviation_us'])}",
        ),
        ("least, most", f"{_us(found['least_us'])}, {_us(found['most_us'])}"),
        *((f"{100 * one['share']:g} % take at most", _us(one["us"])) for one in found["percentiles"]),
        *(
            (
                f"within {one['us']:g} us of each other",
                f"{100 * one['share']:.1f} %, from {_us(one['from_us'])} on",
            )
            for one in found["windows"]
        ),
    ]


def how(answer: Mapping[str, Any]) -> str:
    """By replay, or why not."""
    if answer["by_events"] is None:
        recorded = f"One call of {units.count_text(answer['steps'])} steps was recorded, and replayed."
        return f"{recorded} {_checked(answer['replay_check'])}"
    return f"Every call was run event by event: {answer['by_events']}."


def _checked(check: Mapping[str, Any]) -> str:
    """How far replays are from the same calls by events."""
    run = f"{units.count_text(check['calls'])} of the calls were run event by event as well"
    if check["differing"] == 0:
        return f"{run}, and took the same times."
    longer = "longer" if check["mean_error"] >= 0 else "shorter"
    return (
        f"{run}: {units.count_text(check['differing'])} took other times, since messages overtook each other. "
        f"By replay the mean is {abs(check['mean_error']):.2%} {longer}, and single calls are up to {check['most_error']:.1%} off."
    )


def show(answer: Mapping[str, Any]) -> None:
    console = printing.console()
    table = printing.table(title(answer), "what", "how much")
    for name, value in facts(answer):
        table.add_row(name, value)
    console.print(table)
    bins = [] if is_one_time(answer) else answer["distribution"]["histogram"]
    most = max((count for _, _, count in bins), default=0)
    for low, high, count in bins:
        if count:
            bar = "#" * max(1, round(_WIDTH * count / most))
            console.print(f"{_us(low):>10} to {_us(high):>10}  {count:>8}  {bar}", soft_wrap=True)
    console.print(how(answer), soft_wrap=True)
    if answer["machine_filled"]:
        console.print(filled_text(answer["machine"], answer["machine_filled"]), soft_wrap=True)


def number(value: float | None, unit: str) -> str:
    """Of a figure of the source, or ours."""
    if value is None:
        return ""
    return f"{value:.4g}{' ' if unit else ''}{unit}"


def verdict(row: Row) -> str:
    if row.is_met is None:
        return "not to be met" if row.source is not None else ""
    return "met" if row.is_met else "not met"


def show_published(rows: Sequence[Row]) -> None:
    console = printing.console()
    table = printing.table(
        "NIC-based reduction (2003), beside virtual time",
        *("place", "figure", "source", "here", "error", "allowed", ""),
        right=("source", "here", "error", "allowed"),
    )
    for row in rows:
        error = "" if row.error is None else f"{row.error:+.1%}"
        allowed = "" if row.nearness is None else f"{row.nearness:.0%}"
        table.add_row(
            row.place,
            row.what,
            number(row.source, row.unit),
            number(row.ours, row.unit),
            error,
            allowed,
            verdict(row),
        )
    console.print(table)
    for row in rows:
        if row.remark:
            console.print(f"{row.place}, {row.what}: {row.remark}.", soft_wrap=True)


def _us(value: float) -> str:
    return units.seconds_text(value * 1e-6)
