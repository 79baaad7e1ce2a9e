# SPDX-License-Identifier: BSD-3-Clause
"""Are the results the same, and how do the times compare?"""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Result = dict[str, Any]


@dataclass(frozen=True)
class QuantityComparison:
    """One number of the results: the largest distance between any native run and any run under Unisono."""

    name: str
    native: float | None
    unisono: float | None
    difference: float  # infinite where a run gave no number
    tolerance: float

    @property
    def is_same(self) -> bool:
        return self.difference <= self.tolerance


@dataclass(frozen=True)
class DigestComparison:
    """Something that must be the same bit for bit in all runs."""

    name: str
    native: str
    unisono: str
    is_same: bool


@dataclass(frozen=True)
class Comparison:
    quantities: list[QuantityComparison]
    digests: list[DigestComparison]
    failed_checks: list[str]

    @property
    def is_same(self) -> bool:
        return not self.failed_checks and all(row.is_same for row in [*self.quantities, *self.digests])


def compare(native: Sequence[Result], unisono: Sequence[Result]) -> Comparison:
    """Native runs also have to agree among themselves, or the comparison would say nothing."""
    quantities = [
        QuantityComparison(
            row["name"],
            row["value"],
            unisono[0]["quantities"][i]["value"],
            _spread([run["quantities"][i]["value"] for run in [*native, *unisono]]),
            row["tolerance"],
        )
        for i, row in enumerate(native[0]["quantities"])
    ]
    digests = [
        DigestComparison(
            row["name"],
            row["value"],
            unisono[0]["digests"][i]["value"],
            len({run["digests"][i]["value"] for run in [*native, *unisono]}) == 1,
        )
        for i, row in enumerate(native[0]["digests"])
    ]
    failed = {
        check["name"] for run in [*native, *unisono] for check in run["checks"] if not check["is_passed"]
    }
    return Comparison(quantities, digests, sorted(failed))


def _spread(values: Sequence[float | None]) -> float:
    numbers = [value for value in values if value is not None and math.isfinite(value)]
    return max(numbers) - min(numbers) if len(numbers) == len(values) else math.inf


@dataclass(frozen=True)
class Times:
    """Median and range of one time over the runs, seconds."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Times:
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class TimeComparison:
    """One time natively and under Unisono. `ratio` is that of the medians, above 1 where Unisono is faster,
    with its 95 % bootstrap interval. The interval has no numbers where there is one run each, since nothing
    is known of its spread."""

    name: str
    native: Times
    unisono: Times | None
    ratio: float = math.nan
    ratio_low: float = math.nan
    ratio_high: float = math.nan


def compare_times(name: str, native: Sequence[float], unisono: Sequence[float]) -> TimeComparison:
    if not unisono:
        return TimeComparison(name, Times.of(native), None)
    first, second = Times.of(native), Times.of(unisono)
    ratio = first.median / max(second.median, 1e-12)
    if min(len(native), len(unisono)) < 2:
        return TimeComparison(name, first, second, ratio)
    generator = np.random.default_rng(1)
    draws = [
        np.median(generator.choice(np.asarray(values), (4000, len(values))), axis=1)
        for values in (native, unisono)
    ]
    low, high = np.quantile(draws[0] / np.maximum(draws[1], 1e-12), [0.025, 0.975])
    return TimeComparison(name, first, second, ratio, float(low), float(high))


def all_times(
    native: Sequence[tuple[Result, float]], unisono: Sequence[tuple[Result, float]]
) -> list[TimeComparison]:
    """Time in all collectives first, then each operation, then the program and the whole job.

    Runs are pairs of a program's result and the time of its whole job.
    """

    def rows(name: str, pick: Any) -> TimeComparison:
        return compare_times(name, [pick(*run) for run in native], [pick(*run) for run in unisono])

    def operation_time(number: int) -> Any:
        return lambda result, job_s: result["collectives"][number]["time_s"]

    operations = native[0][0]["collectives"]
    return [
        rows("all collectives", lambda result, job_s: result["collectives_s"]),
        *(
            rows(f"{row['operation']}: {row['purpose']}", operation_time(i))
            for i, row in enumerate(operations)
        ),
        rows("whole program", lambda result, job_s: result["elapsed_s"]),
        rows("whole job, with its start", lambda result, job_s: job_s),
    ]
