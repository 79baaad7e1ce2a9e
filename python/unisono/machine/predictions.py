# SPDX-License-Identifier: BSD-3-Clause
"""What candidates should take on a machine that is described, asked of the models (docs/guide/models.md)."""

from __future__ import annotations

from collections.abc import Sequence

from unisono.common import tool
from unisono.measuring.candidates import Candidate


def predicted_us(
    machine: str, layout: str, operation: str, size: int, candidates: Sequence[Candidate]
) -> list[float | None]:
    """What the candidates should take on the described machine; None: not known."""
    return predicted_by_size(machine, layout, operation, [size], candidates)[size]


def predicted_by_size(
    machine: str,
    layout: str,
    operation: str,
    sizes: Sequence[int],
    candidates: Sequence[Candidate],
    most_s: float = 0,
) -> dict[int, list[float | None]]:
    """The same at several sizes, in about `most_s` seconds at most (0: no limit); what there is no time for is not known."""
    words = [word for candidate in candidates for word in ("--algorithm", str(candidate))]
    words += [word for size in sizes for word in ("--bytes", str(size))]
    question = ["--operation", operation, "--layout", layout, "--machine", machine]
    question += ["--time-ms", str(max(1, round(1000 * most_s)))] if most_s > 0 else []
    answers = {}
    for answer in tool.ask_lines("predict", *question, *words):
        times = {entry["asked"]: entry["us"] for entry in answer["predictions"]}
        answers[answer["bytes"]] = [times.get(str(candidate)) for candidate in candidates]
    return answers


class Predictions:
    """What candidates should take, asked for at all sizes of an operation at once: each question starts a program. All questions
    of the plan together take about `most_s` seconds at most (0: no limit)."""

    def __init__(self, machine: str, layout: str, plan: Sequence[tuple[str, int]], most_s: float = 0) -> None:
        self._machine, self._layout, self._plan = machine, layout, plan
        self._most_s = most_s / max(1, len({operation for operation, _ in plan}))
        self._known: dict[tuple[str, int], list[float | None]] = {}

    def __call__(self, operation: str, size: int, candidates: Sequence[Candidate]) -> list[float | None]:
        if (operation, size) not in self._known:
            sizes = [s for o, s in self._plan if o == operation]
            found = predicted_by_size(self._machine, self._layout, operation, sizes, candidates, self._most_s)
            self._known |= {(operation, s): times for s, times in found.items()}
        return self._known[operation, size]
