# SPDX-License-Identifier: BSD-3-Clause
"""What the suites' runs found: outcomes by case, kept in files, so that a run goes on where another one ended.

A *cell* is one suite on one MPI with one number of ranks, natively or in one of the variants under Unisono. It consists of *parts* (a module of
tests, a program), each of which has *cases* with an outcome. What is to be run is known by part.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

NATIVE = "native"
# What is run under Unisono, as options of `unisono run`. What it decides on serves small calls on one node, as most tests
# make them, nearly all by the fused operations; others are forced. Where an algorithm is not legal, it decides itself.
UNDER_UNISONO: dict[str, list[str]] = {
    "unisono": [],
    "messages": [
        "--algorithm",
        "barrier:dissemination,bcast:binomial(segment=64),reduce:binomial(segment=64),"
        "allreduce:recursive_doubling,gather:binomial,scatter:binomial,allgather:bruck,alltoall:pairwise,"
        "reduce_scatter_block:recursive_halving,reduce_scatter:ring,scan:recursive_doubling,"
        "exscan:recursive_doubling,allgatherv:ring,alltoallv:pairwise,alltoallw:pairwise,gatherv:binomial,"
        "scatterv:binomial",
    ],
    "shared": ["--algorithm", "all:shared"],
    "two_level": [
        "--algorithm",
        "barrier:two_level_dissemination,bcast:two_level_binomial(segment=64),"
        "reduce:two_level_binomial(segment=64),allreduce:two_level_recursive_doubling,gather:two_level_binomial,"
        "scatter:two_level_binomial,allgather:two_level_bruck,alltoall:two_level_pairwise,"
        "reduce_scatter_block:two_level_recursive_halving,reduce_scatter:two_level_reduce_scatter,"
        "scan:two_level_recursive_doubling,exscan:two_level_recursive_doubling,allgatherv:two_level_ring,"
        "gatherv:two_level_flat,scatterv:two_level_flat",
    ],
    # Of a kind of calls that a test makes a few times as many algorithms as can be are tried.
    "learning": ["--learn", "auto", "--learn-iterations", "1", "--learn-budget", "100"],
    # The programs' own messages as well (MPI_Send and its kin).
    "point_to_point": ["--messages", "node"],
    "point_to_point_all": ["--messages", "all"],
}


def options(variant: str, ranks: int) -> list[str]:
    """Return the options of `unisono run` for a variant under Unisono; two levels get two pretended nodes."""
    nodes = ["--nodes", f"{ranks - ranks // 2},{ranks // 2}"]
    return [
        *UNDER_UNISONO[variant],
        *(nodes if variant in ("two_level", "point_to_point_all") and ranks > 1 else []),
    ]


# Outcomes, from good to bad. `died` and `hung` are said of the case in which a job ended early or stood still.
SKIPPED, PASSED, FAILED, DIED, HUNG = "skipped", "passed", "failed", "died", "hung"
ORDER = (SKIPPED, PASSED, FAILED, DIED, HUNG)
BAD = frozenset((FAILED, DIED, HUNG))

Outcomes = dict[str, str]  # of cases


def worse(one: str | None, other: str) -> str:
    """Return the worse of two outcomes, where None is none."""
    return other if one is None else max(one, other, key=ORDER.index)


def ranks_text(ranks: int) -> str:
    return f"{ranks} rank{'' if ranks == 1 else 's'}"


@dataclass(frozen=True)
class Place:
    """Which cell: everything but the variant."""

    suite: str
    mpi: str
    ranks: int

    def __str__(self) -> str:
        return f"{self.suite} {self.mpi} {ranks_text(self.ranks)}"


@dataclass
class Cell:
    """The outcomes of one variant of a place; `versions` are those of the suite and of the MPI when it was run, last on `date`.

    A part that was run several times has each case's worst outcome; `runs` says how many times, `bad_runs` in how many of
    them a case (`part case`) was bad.
    """

    parts: dict[str, Outcomes] = field(default_factory=dict)
    runs: dict[str, int] = field(default_factory=dict)
    bad_runs: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    date: str = ""

    def cases(self, parts: set[str]) -> Outcomes:
        """Return the outcomes of these parts by `part case`."""
        return {
            f"{part} {case}": outcome
            for part, cases in self.parts.items()
            if part in parts
            for case, outcome in cases.items()
        }

    def how(self, case: str) -> str:
        """Return in words how a case (`part case`) ended."""
        part, _, name = case.partition(" ")
        outcome = self.parts[part].get(name, "not there")
        runs, bad = self.runs.get(part, 1), self.bad_runs.get(case, 0)
        return f"{outcome} in {bad} of {runs} runs" if bad > 0 and runs > 1 else outcome


@dataclass(frozen=True)
class Comparison:
    """Native outcomes and those under Unisono side by side, of the parts that were run in both."""

    native: Outcomes
    unisono: Outcomes

    def counts(self, outcomes: frozenset[str]) -> tuple[int, int]:
        """Return how many cases have one of these outcomes, natively and under Unisono."""
        native, unisono = (
            sum(outcome in outcomes for outcome in cases.values()) for cases in (self.native, self.unisono)
        )
        return native, unisono

    @property
    def new_failures(self) -> dict[str, str]:
        """Cases that fail under Unisono and do not natively."""
        return {
            case: outcome
            for case, outcome in self.unisono.items()
            if outcome in BAD and self.native.get(case) not in BAD
        }

    @property
    def lost(self) -> list[str]:
        """Cases that passed natively and under Unisono were not run, or skipped: they would hide a failure."""
        return [
            case
            for case, outcome in self.native.items()
            if outcome == PASSED and self.unisono.get(case, SKIPPED) == SKIPPED
        ]

    @property
    def both_fail(self) -> list[str]:
        return [
            case for case, outcome in self.unisono.items() if outcome in BAD and self.native.get(case) in BAD
        ]

    @property
    def only_native_fails(self) -> list[str]:
        return [
            case
            for case, outcome in self.native.items()
            if outcome in BAD and self.unisono.get(case) not in BAD
        ]


class Store:
    """Cells in files, one for each place and variant; written at once after each job."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)

    def _path(self, place: Place, variant: str) -> Path:
        return self.directory / f"{place.suite}-{place.mpi}-{place.ranks}-{variant}.json"

    def load(self, place: Place, variant: str) -> Cell:
        path = self._path(place, variant)
        return Cell(**json.loads(path.read_text(encoding="utf-8"))) if path.exists() else Cell()

    def add(
        self,
        place: Place,
        variant: str,
        parts: Mapping[str, Outcomes],
        seconds: float,
        versions: Mapping[str, str],
        is_repeat: bool = False,
    ) -> None:
        """Put the outcomes of these parts in the place of older ones, or beside them where it `is_repeat`."""
        cell = self.load(place, variant)
        for part, cases in parts.items():
            if not is_repeat:
                cell.parts[part] = {}
                cell.runs[part] = 0
                cell.bad_runs = {
                    name: count for name, count in cell.bad_runs.items() if name.split(" ")[0] != part
                }
            known = cell.parts.setdefault(part, {})
            cell.runs[part] = cell.runs.get(part, 0) + 1
            for case, outcome in cases.items():
                known[case] = worse(known.get(case), outcome)
                if outcome in BAD:
                    name = f"{part} {case}"
                    cell.bad_runs[name] = cell.bad_runs.get(name, 0) + 1
        cell.seconds += seconds
        cell.versions = dict(versions)
        cell.date = datetime.date.today().isoformat()
        path = self._path(place, variant)
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(vars(cell), indent=1, sort_keys=True), encoding="utf-8")
        partial.replace(path)

    def compare(self, place: Place, variant: str) -> tuple[Comparison, set[str]]:
        """Return both sides of the parts that were run natively and in this variant, and the names of these parts."""
        native, unisono = self.load(place, NATIVE), self.load(place, variant)
        common = native.parts.keys() & unisono.parts.keys()
        return Comparison(native.cases(common), unisono.cases(common)), common
