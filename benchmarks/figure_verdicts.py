# SPDX-License-Identifier: BSD-3-Clause
"""What the cells of figures.py say about the aims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import mpis
from unisono.common import units
from unisono.common.operations import OPERATIONS
from unisono.machine.host import usable_cores
from unisono.measuring import bench

MIB = 1 << 20
SYNCHRONISING = ("barrier", "allreduce", "allgather", "alltoall")
SIZED = tuple(name for name in OPERATIONS if name != "barrier")
EVERY_MPI = [mpi.name for mpi in mpis.ALL if mpi.name != "mpich5_abi"]
FIRST_LOOK = "first_look"  # the section's name
LEAST_SPEEDUP = 0.95
NOISE = 0.02  # behind: the interval's upper end is below 1 - this


@dataclass(frozen=True)
class Measured:
    """One cell, where it was measured, and what the machine was like then (seconds; None: not known)."""

    section: str
    mpi: str
    cell: bench.Cell
    round_trip_s: float | None = None
    switch_s: float | None = None
    wire_s: float | None = None

    @property
    def is_behind(self) -> bool:
        return self.cell.speedup_high < 1 - NOISE

    @property
    def place(self) -> str:
        size = "" if self.cell.operation == "barrier" else f" {units.bytes_text(self.cell.bytes)}"
        return f"{self.mpi}, {self.cell.ranks} ranks, {self.cell.operation}{size}"


@dataclass
class Figures:
    """All that was measured."""

    cells: list[Measured] = field(default_factory=list)
    looks: list[dict[str, Any]] = field(default_factory=list)  # as first_look.summary() has them

    def of(self, section: str, *operations: str) -> list[Measured]:
        return [
            m
            for m in self.cells
            if m.section == section and (not operations or m.cell.operation in operations)
        ]


@dataclass(frozen=True)
class Verdict:
    aim: str
    is_met: bool
    text: str


def over_best(cells: Sequence[Measured]) -> dict[str, float]:
    """How many times faster Unisono is on each MPI than the fastest native among all of them."""
    best = min(m.cell.native_s for m in cells)
    return {m.mpi: best / m.cell.unisono_s for m in cells}


def best_of(cells: Sequence[Measured]) -> str:
    """What over_best() compares with, by name where that is not all that there are."""
    measured = list(dict.fromkeys(m.mpi for m in cells))
    if set(measured) == set(EVERY_MPI):
        return "the best MPI"
    return f"the best of {', '.join(measured)}" if len(measured) > 1 else f"native {measured[0]}"


def shown(factors: dict[str, float]) -> str:
    return ", ".join(f"{mpi} {factor:.2f}" for mpi, factor in factors.items())


def behind(cells: Sequence[Measured]) -> str:
    late = [f"{m.place} ({m.cell.speedup:.2f})" for m in cells if m.is_behind]
    return "; ".join(late) or "none behind"


def every_verdicts(run: Figures) -> Iterator[Verdict]:
    cells = run.of("every")
    low = [m for m in cells if m.cell.speedup_high < LEAST_SPEEDUP]
    text = "; ".join(f"{m.place} ({m.cell.speedup:.2f})" for m in low)
    yield Verdict(
        f"2 ranks, 8 B to 1 MiB: no cell below {LEAST_SPEEDUP} of native",
        not low,
        text or f"none of {len(cells)}",
    )


def pair_verdicts(run: Figures) -> Iterator[Verdict]:
    four = run.of("pair", "barrier", "bcast", "allreduce", "allgather")
    ahead = all(m.cell.speedup_low > 1 for m in four)
    not_ahead = "; ".join(f"{m.place} ({m.cell.speedup:.2f})" for m in four if m.cell.speedup_low <= 1)
    yield Verdict(
        "2 ranks, 8 B: barrier, bcast, allreduce, allgather ahead everywhere", ahead, not_ahead or "all ahead"
    )
    allreduces = run.of("pair", "allreduce")
    trips = {m.mpi: m.cell.unisono_s / m.round_trip_s for m in allreduces if m.round_trip_s}
    yield Verdict(
        "allreduce within one cache-line round trip",
        bool(trips) and max(trips.values()) <= 1,
        f"round trips: {shown(trips)}",
    )
    factors = over_best(allreduces)
    yield Verdict(f"allreduce 1.7x over {best_of(allreduces)}", min(factors.values()) >= 1.7, shown(factors))
    times = {m.mpi: m.cell.unisono_s * 1e9 for m in run.of("pair", "bcast")}
    yield Verdict("bcast at most 60 ns", max(times.values()) <= 60, f"ns: {shown(times)}")


def large_verdicts(run: Figures) -> Iterator[Verdict]:
    for operation, aim in (("bcast", 1.2), ("allreduce", 1.3)):
        cells = [m for m in run.of("large", operation) if m.cell.bytes == MIB]
        factors = over_best(cells)
        yield Verdict(
            f"2 ranks, 1 MiB: {operation} {aim}x over {best_of(cells)}",
            min(factors.values()) >= aim,
            shown(factors),
        )
    low = [m for m in run.of("large") if m.cell.speedup_high < LEAST_SPEEDUP]
    text = "; ".join(f"{m.place} ({m.cell.speedup:.2f})" for m in low)
    yield Verdict(
        f"2 ranks, 1 and 8 MiB: no cell below {LEAST_SPEEDUP} of native", not low, text or "none below"
    )


def many_verdicts(run: Figures) -> Iterator[Verdict]:
    cores = usable_cores()
    over = [
        f"{m.place}: {m.cell.unisono_s / bound:.2f}"
        for m in run.of("many")
        if m.switch_s and m.cell.unisono_s > (bound := 1.3 * m.cell.ranks / cores * m.switch_s)
    ]
    yield Verdict(
        "4 to 64 ranks, 8 B: at most 1.3 x ranks/cores x switch time",
        not over,
        "; ".join(over) or "all within",
    )
    for ranks, aim in ((4, 2.0), (8, 2.3), (16, 3.5), (32, 3.5), (64, 3.5)):
        for operation in SYNCHRONISING:
            cells = [m for m in run.of("many", operation) if m.cell.ranks == ranks]
            if not cells:
                continue
            factors = over_best(cells)
            yield Verdict(
                f"{ranks} ranks, {operation}: {aim}x over {best_of(cells)}",
                min(factors.values()) >= aim,
                shown(factors),
            )
    # MPICH does not yield.
    spinning = [m for m in run.of("many") if m.mpi.startswith("mpich")]
    factors = {m.place: m.cell.speedup for m in spinning if m.cell.speedup < 50}
    if spinning:
        yield Verdict("50x over MPICH as it comes", not factors, shown(factors) or "everywhere")


def crowd_verdicts(run: Figures) -> Iterator[Verdict]:
    for operation in SIZED:
        cells = run.of("crowd", operation)
        factors = over_best(cells)
        yield Verdict(
            f"8 ranks, 1 MiB: {operation} 1.5x over {best_of(cells)}",
            min(factors.values()) >= 1.5,
            shown(factors),
        )


def first_look_verdicts(run: Figures) -> Iterator[Verdict]:
    for aim, over, least in (
        ("1.4x over native without learning", "off over native", 1.4),
        ("1.4x over native as it comes", "auto over native", 1.4),
        ("learning within 5 % of none", "auto over off", 0.95),
    ):
        factors = {f"{m['mpi']}, {m['ranks']} ranks": m["ratios"]["all"][over]["ratio"] for m in run.looks}
        yield Verdict(f"a first look: {aim}", min(factors.values()) >= least, shown(factors))


def cluster_verdicts(run: Figures) -> Iterator[Verdict]:
    if not run.of("cluster"):
        return
    small = [m for m in run.of("cluster", "barrier", "allreduce") if m.cell.bytes <= 8]
    text = "; ".join(f"{m.place} ({m.cell.speedup:.2f})" for m in small)
    yield Verdict(
        "4 nodes x 4: barrier and allreduce of 8 B ahead", all(m.cell.speedup_low > 1 for m in small), text
    )
    for m in run.of("cluster", "bcast"):
        if m.cell.bytes != 4 * MIB or m.wire_s is None:
            continue
        limit_s = m.cell.bytes * m.wire_s
        excess = m.cell.unisono_s / limit_s - 1
        yield Verdict(
            f"{m.mpi}: bcast of 4 MiB within 5 % of the wire's limit, 3x native",
            excess <= 0.05 and m.cell.speedup >= 3,
            f"{excess:+.1%} ({m.cell.unisono_s * 1e3:.1f} ms, limit {limit_s * 1e3:.1f} ms), {m.cell.speedup:.2f}x",
        )
    for mpi in dict.fromkeys(m.mpi for m in run.of("cluster")):
        for operation in OPERATIONS:
            cells = [m for m in run.of("cluster", operation) if m.mpi == mpi]
            if cells:
                mean = bench.geometric_mean([m.cell for m in cells])
                yield Verdict(
                    f"{mpi}: {operation} not behind on geometric mean",
                    mean >= 1,
                    f"{mean:.2f}; {behind(cells)}",
                )


VERDICTS = {
    "every": every_verdicts,
    "pair": pair_verdicts,
    "large": large_verdicts,
    "many": many_verdicts,
    "crowd": crowd_verdicts,
    FIRST_LOOK: first_look_verdicts,
    "cluster": cluster_verdicts,
}
