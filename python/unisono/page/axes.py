# SPDX-License-Identifier: BSD-3-Clause
"""Axes of the page's charts: where on them a value lies, and their ticks. Each chart has a linear and a logarithmic one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Tick:
    share: float  # of the axis, from its beginning
    label: str


@dataclass(frozen=True)
class Axis:
    share: Callable[[float], float]  # where a value lies, from 0 to 1
    ticks: Sequence[Tick]


def linear(most: float, text: Callable[[float], str]) -> Axis:
    """From 0 to a little above `most`, with ticks at 1, 2 or 5 times a power of ten."""
    most = most if most > 0 else 1.0
    step = next(
        step
        for exponent in (math.floor(math.log10(most)) - 1, math.floor(math.log10(most)))
        for step in (10.0**exponent * digit for digit in (1, 2, 5, 10))
        if most / step <= 5
    )
    end = max(most, step)
    ticks = [Tick(i * step / end, text(i * step)) for i in range(int(end / step * (1 + 1e-9)) + 1)]
    return Axis(lambda value: min(max(value / end, 0.0), 1.0), ticks)


def logarithmic(least: float, most: float, text: Callable[[float], str], is_to_decades: bool = True) -> Axis:
    """From `least` to `most`, rounded outward to powers of ten, with ticks at these."""
    least = least if least > 0 else 1.0
    low = math.floor(math.log10(least) + 1e-9)
    top = math.log10(max(most, least))
    high = max(float(math.ceil(top - 1e-9)) if is_to_decades else top, low + 1e-3)
    span = high - low
    step = max(1, math.ceil(span / 8))
    ticks = [Tick((i - low) / span, text(10.0**i)) for i in range(low, math.floor(high + 1e-9) + 1, step)]

    def share(value: float) -> float:
        return min(max((math.log10(value) - low) / span, 0.0), 1.0) if value > 0 else 0.0

    return Axis(share, ticks)


@dataclass(frozen=True)
class Both:
    """The two axes that the page's switch changes between."""

    linear: Axis
    logarithmic: Axis

    def style(self, **values: float) -> str:
        """Where values lie on both, as properties of a style: `--from-lin:0.5;--from-log:0.81`."""
        return ";".join(
            f"--{name}-{kind}:{axis.share(value):.5g}"
            for name, value in values.items()
            for kind, axis in (("lin", self.linear), ("log", self.logarithmic))
        )
