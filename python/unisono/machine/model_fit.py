# SPDX-License-Identifier: BSD-3-Clause
"""How well predictions fit what was measured: the distribution of errors, and what it costs to choose by the model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unisono.common.extras import numpy as np

CLOSE = 0.2  # ATCOM's predictions are mostly so near


@dataclass(frozen=True)
class Fit:
    """One algorithm at one size: both times in seconds a call. The error is predicted over measured, less one."""

    operation: str
    bytes: int
    algorithm: str
    measured_s: float
    predicted_s: float

    @property
    def error(self) -> float:
        return self.predicted_s / self.measured_s - 1


@dataclass(frozen=True)
class Errors:
    """Of several fits: the median of errors, quantiles of their size, and how many are near."""

    count: int
    median: float
    lower_quartile: float  # of the size
    middle: float
    upper_quartile: float
    worst_tenth: float
    close: float  # share below CLOSE
    within_factor_2: float


def measured_times(cell: Mapping[str, Any]) -> dict[str, float]:
    """Native and every candidate of a cell of `unisono bench --try ... --json`: the median of the alternation, or of the tries."""
    times = {"native": float(cell["native_s"])}
    for candidate in cell.get("candidates", ()):
        seconds = candidate.get("seconds")
        times[candidate["name"]] = float(candidate["tried_s"] if seconds is None else seconds)
    return times


def fits(
    cells: Sequence[Mapping[str, Any]], ask: Callable[[str, int, list[str]], Mapping[str, Any]]
) -> list[Fit]:
    """`ask(operation, bytes, algorithms)` gives the tool's predictions."""
    found = []
    for cell in cells:
        times = measured_times(cell)
        answer = ask(cell["operation"], int(cell["bytes"]), list(times))
        for one in answer["predictions"]:
            name = one.get("asked", one["algorithm"])
            if one["us"] is not None and times.get(name, 0) > 0:
                found.append(Fit(cell["operation"], int(cell["bytes"]), name, times[name], one["us"] * 1e-6))
    return found


def errors(some: Sequence[Fit]) -> Errors:
    signed = np.array([fit.error for fit in some])
    size = np.abs(signed)
    ratio = signed + 1
    low, middle, high, worst = np.quantile(size, [0.25, 0.5, 0.75, 0.9])
    return Errors(
        count=len(some),
        median=float(np.median(signed)),
        lower_quartile=float(low),
        middle=float(middle),
        upper_quartile=float(high),
        worst_tenth=float(worst),
        close=float(np.mean(size <= CLOSE)),
        within_factor_2=float(np.mean((ratio >= 0.5) & (ratio <= 2))),
    )


def regret(some: Sequence[Fit]) -> float:
    """What was measured of the algorithm that is predicted fastest, over the fastest measured: geometric mean over cells.
    1 is none."""
    cells: dict[tuple[str, int], list[Fit]] = {}
    for fit in some:
        cells.setdefault((fit.operation, fit.bytes), []).append(fit)
    ratios = [
        min(cell, key=lambda fit: fit.predicted_s).measured_s / min(fit.measured_s for fit in cell)
        for cell in cells.values()
    ]
    return float(np.exp(np.mean(np.log(ratios))))
