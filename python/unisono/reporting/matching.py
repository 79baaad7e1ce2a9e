# SPDX-License-Identifier: BSD-3-Clause
"""Queues of messages, as the compiled tool knows them: what each structure costs, and whether that matters to a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from unisono.common import tool

WORTH_IT = 0.05  # of a rank's time: less than that is not worth a change
Progress = Callable[[float, str], None]


def ask(question: str, words: Sequence[str], progress: Progress) -> list[dict[str, Any]]:
    """The lines that the tool answers with."""
    lines = []
    for line in tool.ask_lines(question, "--progress", *words):
        if "progress" in line:
            progress(line["progress"], line["now"])
        else:
            lines.append(line)
    return lines


@dataclass(frozen=True)
class Share:
    """What looking through queues has cost a rank, of its time in the run, low and high, and what Unisono's own would take."""

    rank: int
    low: float
    high: float
    own: float


def shares(answer: dict[str, Any]) -> list[Share]:
    """Of all ranks whose run was timed, most first."""
    found = []
    for one in answer["of_ranks"]:
        if not one["run_ns"]:
            continue
        costs = sorted((one["low"]["present_ns"], one["high"]["present_ns"]))
        own = max(one["low"]["own_ns"], one["high"]["own_ns"])
        low, high, own = (cost / one["run_ns"] for cost in (*costs, own))
        found.append(Share(one["rank"], low, high, own))
    return sorted(found, key=lambda share: (-share.high, share.rank))


def range_text(low: float, high: float, text: Callable[[Any], str]) -> str:
    """`low - high`, or one of them where they look alike."""
    first, last = text(min(low, high)), text(max(low, high))
    return first if first == last else f"{first} - {last}"


def percent_text(share: float) -> str:
    return f"{100 * share:.1f} %" if share < 0.0995 else f"{100 * share:.0f} %"


def verdict(answer: dict[str, Any]) -> str:
    """One sentence: leave it, or turn it on."""
    if answer["present"] == "own":
        return "Leave it: the run had Unisono's own queues (`--messages`) already."
    timed = shares(answer)
    if not timed:
        return "The trace does not say how long the run took, so that shares of it are not known."
    worst = timed[0]
    said = f"{range_text(worst.low, worst.high, percent_text)} of rank {worst.rank}'s time"
    if worst.high < WORTH_IT:
        return f"Leave it: queues take {said}, and less of the others'."
    if worst.own >= worst.low:
        return f"Leave it: queues take {said}, and Unisono's own would take as much."
    if worst.low < WORTH_IT:
        return f"Try it: queues take between little and much, {said}. Compare a run with `--messages node`."
    if answer["several_nodes"]:
        return (
            f"Queues take {said}. `--messages node` helps on communicators inside a node; "
            "this run's ranks are on several."
        )
    return f"Turn it on: {said}. Run with `--messages node`."
