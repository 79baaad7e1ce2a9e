# SPDX-License-Identifier: BSD-3-Clause
"""Measured values as a machine's file has them: numbers and curves with their intervals, in microseconds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from unisono.common.extras import numpy as np
from unisono.machine import line_fit
from unisono.machine.costs import Costs, Estimate, Question, resampled

US = 1e6
_TAIL = 0.025

Document = dict[str, Any]


def rounded(number: float) -> float:
    return float(f"{max(0.0, number):.4g}")


def number(of: Any) -> float:
    """A file's value, with or without its interval."""
    return float(of["value"] if isinstance(of, dict) else of)


def value(estimate: Estimate) -> Document:
    return {name: rounded(getattr(estimate, name) * US) for name in ("value", "low", "high")}


def from_draws(point: float, draws: np.ndarray) -> Document:
    """A value that follows from several measured ones, with what it is in draws of all of them."""
    low, high = np.quantile(draws, [_TAIL, 1 - _TAIL])
    return {"value": rounded(point), "low": rounded(min(low, point)), "high": rounded(max(high, point))}


def curve(
    costs: Costs, questions: Sequence[Question], name: str = "time", sizes: Sequence[int] | None = None
) -> Document | None:
    """Times over bytes, of what was measured; `sizes` where they are not the questions'."""
    points = [
        (size, estimate)
        for size, question in zip(sizes or [q.bytes for q in questions], questions, strict=True)
        if (estimate := costs.estimate(question, name)) is not None
    ]
    if not points:
        return None
    columns = {column: [rounded(getattr(e, column) * US) for _, e in points] for column in ("low", "high")}
    return {"bytes": [size for size, _ in points], "us": [rounded(e.value * US) for _, e in points]} | columns


class Draws:
    """Medians of several series in microseconds: as measured, and drawn anew from their samples."""

    def __init__(self, costs: Costs, seed: int = 1) -> None:
        self._costs = costs
        self._random = np.random.default_rng(seed)
        self._known: dict[tuple[Question, str], tuple[float, np.ndarray]] = {}

    def of(self, question: Question, name: str = "time") -> tuple[float, np.ndarray] | None:
        if (question, name) not in self._known:
            samples = self._costs.samples(question, name)
            if samples is None or len(samples) == 0:
                return None
            medians = np.median(resampled(samples, self._random), axis=1)
            self._known[question, name] = (float(np.median(samples)) * US, medians * US)
        return self._known[question, name]

    def value(self, formula: Callable[..., Any], *of: tuple[Question, str]) -> Document | None:
        """What a formula makes of medians."""
        known = [self.of(*one) for one in of]
        if any(one is None for one in known):
            return None
        points, draws = zip(*[one for one in known if one is not None], strict=True)
        return from_draws(float(formula(*points)), np.maximum(0.0, formula(*draws)))

    def line(self, questions: Sequence[Question], name: str) -> tuple[Document, Document] | None:
        """alpha and beta of alpha + beta * bytes, as line_fit has it. The draws keep the break that the medians have."""
        known = [(q.bytes, one) for q in questions if (one := self.of(q, name)) is not None]
        if len(known) < 2:
            return None
        sizes = np.array([size for size, _ in known], dtype=float)
        point = line_fit.fit(sizes, np.array([one[0] for _, one in known]))
        rows = np.array([one[1] for _, one in known]).T
        draws = [line_fit.fit(sizes, row, point.break_at) for row in rows]
        alpha = from_draws(point.alpha, np.array([draw.alpha for draw in draws]))
        return alpha, from_draws(point.beta, np.array([draw.beta for draw in draws]))


def at(points: Mapping[str, Any], size: float) -> float:
    """A curve's time: linear between its points, constant before, as steep as at its end beyond."""
    sizes, times = points["bytes"], points["us"]
    if size > sizes[-1] and len(sizes) > 1:
        slope = max(0.0, (times[-1] - times[-2]) / (sizes[-1] - sizes[-2]))
        return float(times[-1] + slope * (size - sizes[-1]))
    return float(np.interp(size, sizes, times))
