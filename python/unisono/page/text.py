# SPDX-License-Identifier: BSD-3-Clause
"""How a page writes numbers: as tables do, with a browser's letters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from unisono.common import units


def seconds(value: float | None) -> str:
    """0.0000123 -> `12.3 µs`; None: `?`."""
    return "?" if value is None else units.seconds_text(value).replace(" us", " µs")


def times(value: float) -> str:
    """A ratio with three digits: `2.31`, `0.98`, `390`."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def percent(value: float) -> str:
    """0.0123 -> `1.2 %`. What is not all is not 100 %."""
    share = 100 * value
    if 99.5 <= share < 100:
        return "> 99 %"
    return f"{share:.0f} %" if share >= 10 or share == 0 else f"{share:.2g} %"


def algorithm(name: str, parameters: Mapping[str, Any]) -> str:
    """`ring(segment=65536,window=2)`, as the option `algorithm` takes it."""
    inside = ",".join(f"{key}={value}" for key, value in parameters.items())
    return f"{name}({inside})" if inside else name


def bare(name: str) -> str:
    """An algorithm without its parameters."""
    return name.partition("(")[0]


def sizes(low: int, high: int | None) -> str:
    """`17 B to 256 B`, `8 B`, `from 1 MiB`, `all sizes`."""
    if high is None:
        return f"from {units.bytes_text(low)}" if low > 1 else "all sizes"
    if low == high:
        return units.bytes_text(high)
    return f"{units.bytes_text(low)} to {units.bytes_text(high)}"


def plural(number: int, word: str) -> str:
    """`1 rule`, `3,000 rules`."""
    return f"{units.count_text(number)} {word}{'' if number == 1 else 's'}"


def geometric_mean(values: Sequence[float]) -> float:
    return math.exp(sum(math.log(value) for value in values) / len(values))
