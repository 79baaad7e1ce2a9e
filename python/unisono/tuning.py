# SPDX-License-Identifier: BSD-3-Clause
"""Off-line tuning (A8, A10): which algorithm, with which parameters, for each operation and size of a job's layout.

What is looked at shrinks in steps. Of the algorithms first one of each group, then the rest of the best groups (S4), as far as they
may run. Of the best of them the parameters, one after the other; of what overlaps two levels the matrix {segment, overlap} by the
filters of section 4.6. What is left is measured in turn with the MPI's own collective, and wins only where it is no slower."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from unisono import bench
from unisono.measuring import Measurer, Place

KIB = 1 << 10
# What a decision may not depend on the size of: ranks have no length in common.
WITHOUT_SIZE = ("alltoallv", "alltoallw", "gatherv", "scatterv")
REDUCTIONS = ("reduce", "allreduce", "reduce_scatter_block", "reduce_scatter", "scan", "exscan")
BEST_GROUPS = 2
REFINED = 2  # algorithms whose parameters are looked at
FINALISTS = 3
AT_A_TIME = 100  # settings that an exhaustive search asks for at once
MOST_LOOKING_S = 600.0  # at those
CLEARLY = 0.97  # of the time before: what is worth another parameter
TIE = 1.02
_SHARE_OF_LOOKING = 0.6  # of a cell's time


@dataclass(frozen=True)
class Candidate:
    """An algorithm with the parameters that are not standard."""

    algorithm: str
    parameters: tuple[tuple[str, int], ...] = ()

    def with_(self, **values: int) -> Candidate:
        return Candidate(self.algorithm, tuple(sorted((dict(self.parameters) | values).items())))

    def __str__(self) -> str:
        inside = ",".join(f"{name}={value}" for name, value in self.parameters)
        return f"{self.algorithm}({inside})" if inside else self.algorithm


def parse(text: str) -> Candidate:
    """What `str` of a candidate gives."""
    name, _, inside = text.rstrip(")").partition("(")
    pairs = (item.split("=") for item in inside.split(",") if item)
    return Candidate(name, tuple(sorted((key, int(value)) for key, value in pairs)))


@dataclass
class Outcome:
    """What was found for one operation at one size. Times are seconds a call, of the slowest rank."""

    operation: str
    bytes: int
    cell: bench.Cell
    looked: int  # how many candidates were looked at
    seconds: float  # that it took

    def speedup(self, name: str) -> float:
        """Times as fast as native."""
        if name == "native":
            return 1.0
        if name == self.cell.algorithm:
            return self.cell.speedup
        return next((c.speedup or 0.0 for c in self.cell.candidates if c.name == name), 0.0)

    def names(self) -> list[str]:
        measured = [c.name for c in self.cell.candidates if c.seconds is not None]
        return list(dict.fromkeys(["native", self.cell.algorithm, *measured]))

    def time_s(self, name: str) -> float:
        return self.cell.native_s / self.speedup(name)

    def interval_s(self, name: str) -> tuple[float, float] | None:
        """The 95 % interval of its median; None: not known."""
        c = self.cell
        known: dict[str, tuple[float | None, float | None]] = {
            t.name: (t.low_s, t.high_s) for t in c.candidates
        }
        known |= {
            c.algorithm: (c.unisono_low_s, c.unisono_high_s),
            "native": (c.native_low_s, c.native_high_s),
        }
        low, high = known.get(name, (None, None))
        return (low, high) if low and high else None

    def winner(self) -> str:
        """The fastest; native where nothing is clearly faster, Unisono's own choice where nothing is faster than it."""
        return choose({name: [self.speedup(name)] for name in self.names()}, self.cell.algorithm)


def choose(speedups: Mapping[str, Sequence[float]], own: str) -> str:
    """Of names with their speed-ups over native at one or several sizes, the best in the mean that is slower than native at
    none of them. Where several are on a level, the own choice, then native, then the first."""
    no_slower = {name: values for name, values in speedups.items() if min(values) >= 1 / TIE}
    mean = {name: float(np.exp(np.mean(np.log(values)))) for name, values in no_slower.items()}
    most = max(mean.values())
    level = [name for name, value in mean.items() if value * TIE >= most]
    return next((name for name in (own, "native") if name in level), level[0])


@dataclass(frozen=True)
class Ranges:
    """What a measured machine says is worth a test (5.3.2 (4), 5.3.3 (2)): segments from `least` to `most` bytes, and of each
    segment how much may overlap, at most; None: not known."""

    least: int = 0
    most: int = 1 << 62
    overlaps: Mapping[int, int] | None = None

    def segments(self, size: int) -> list[int]:
        """Of those that cut a message of `size` bytes the ones in range, or next to it: they are a factor of 4 apart."""
        return [s for s in segments(size) if self.least <= 2 * s and s <= 2 * self.most]

    def overlap(self, segment: int) -> int:
        """The most of it that is worth a test; 0: none is."""
        if self.overlaps is None:
            return segment
        near = [overlap / s for s, overlap in self.overlaps.items() if s // 2 <= segment <= 2 * s]
        return int(segment * max(near, default=0))


def ranges_of(findings: Mapping[str, Any], nodes: int) -> Ranges:
    """From what `unisono tune --only measure` has found (machines.findings); all, where it has not looked."""
    level = "network" if nodes > 1 else "node"
    least, most = findings.get(f"{level}_segment_bytes", (0, 1 << 62))
    listed = findings.get("overlap")
    overlaps = None if listed is None else {one["segment"]: one["overlap"][1] for one in listed}
    return Ranges(least, most, overlaps)


@dataclass
class Tuner:
    """Tunes cells of one job. `expected` says how long a candidate should take, where somebody knows (a model); `ranges`, which
    segments and overlaps are worth a test."""

    algorithms: Sequence[Mapping[str, Any]]
    is_exhaustive: bool = False
    expected: Callable[[str, int, Sequence[Candidate]], Sequence[float | None]] | None = None
    ranges: Ranges = Ranges()
    failed: set[tuple[str, str]] = field(default_factory=set)

    def tune(self, job: Measurer, operation: str, size: int, seconds: float) -> Outcome:
        """Look and compare within about `seconds`, more where a single call takes long."""
        start = time.monotonic()
        if operation in WITHOUT_SIZE:
            # One decision holds for all sizes, so the same candidates are measured at each.
            names = [entry["name"] for entry in self._of(operation)]
            names = [name for name in names if self._is_usable(operation, Candidate(name))]
            cell = job.compare(operation, size, names, seconds)
            return Outcome(operation, size, cell, len(cell.candidates), time.monotonic() - start)
        looking = _Looking(job, operation, size, start + seconds * _SHARE_OF_LOOKING, self.is_exhaustive)
        if self.is_exhaustive:
            looking.at([c for c in self._all(operation, size) if self._is_usable(operation, c)])
        else:
            self._look_in_steps(looking, operation, size)
        finalists = [str(c) for c in looking.best()[:FINALISTS]]
        left_s = max(seconds - (time.monotonic() - start), seconds * 0.2)
        cell = job.decide(operation, size, finalists, left_s)
        return Outcome(operation, size, cell, len(looking.times), time.monotonic() - start)

    def _is_usable(self, operation: str, candidate: Candidate) -> bool:
        return (operation, str(candidate)) not in self.failed

    def _of(self, operation: str) -> list[Mapping[str, Any]]:
        return [a for a in self.algorithms if a["operation"] == operation]

    def _all(self, operation: str, size: int) -> Iterator[Candidate]:
        for algorithm in self._of(operation):
            yield from matrix(algorithm, size)

    def settings(self, operation: str, size: int) -> int:
        """How many an exhaustive search looks at."""
        return sum(1 for _ in self._all(operation, size))

    def _look_in_steps(self, looking: _Looking, operation: str, size: int) -> None:
        entries = self._promising(operation, size)
        groups: dict[str, list[Candidate]] = {}
        for entry in entries:
            candidate = Candidate(entry["name"])
            if self._is_usable(operation, candidate):
                groups.setdefault(entry["group"], []).append(candidate)
        # One of each group that may run here.
        left = {group: iter(members) for group, members in groups.items()}
        times: dict[str, float] = {}
        while tried := {g: c for g, members in left.items() if g not in times and (c := next(members, None))}:
            looking.at(list(tried.values()))
            times |= {group: looking.times[c] for group, c in tried.items() if c in looking.times}
        by_time = sorted(times, key=times.__getitem__)
        looking.at([c for group in by_time[:BEST_GROUPS] for c in left[group]])
        by_name = {entry["name"]: entry for entry in entries}
        for candidate in looking.best()[:REFINED]:
            refine(looking, by_name[candidate.algorithm], candidate, size, self.ranges)

    def _promising(self, operation: str, size: int) -> list[Mapping[str, Any]]:
        """Algorithms, those expected to be fast first; without those that are expected to take three times as long as the
        fastest."""
        entries = self._of(operation)
        if self.expected is None:
            return entries
        times = self.expected(operation, size, [Candidate(entry["name"]) for entry in entries])
        known = [t for t in times if t is not None]
        if not known:
            return entries
        limit = 3 * min(known)
        order = sorted(
            (t if t is not None else limit, i) for i, t in enumerate(times) if t is None or t <= limit
        )
        return [entries[i] for _, i in order]


class _Looking:
    """Quick looks at candidates, and what they gave: seconds a call."""

    def __init__(self, job: Measurer, operation: str, size: int, until: float, is_exhaustive: bool) -> None:
        self._job = job
        self._operation = operation
        self._size = size
        self._until = until
        self._is_exhaustive = is_exhaustive
        self.times: dict[Candidate, float] = {}

    def at(self, candidates: Sequence[Candidate]) -> None:
        new = [c for c in candidates if c not in self.times]
        step = AT_A_TIME if self._is_exhaustive else max(len(new), 1)
        for first in range(0, len(new), step):
            left_s = MOST_LOOKING_S if self._is_exhaustive else self._until - time.monotonic()
            if left_s <= 0:
                return
            names = [str(c) for c in new[first : first + step]]
            for name, seconds in self._job.look(self._operation, self._size, names, left_s):
                self.times[parse(name)] = seconds

    def best(self) -> list[Candidate]:
        return sorted(self.times, key=self.times.__getitem__)


def segments(size: int) -> list[int]:
    """Lengths of pieces that cut a message of `size` bytes, each four times the one before."""
    return [s for s in (2 * KIB * 4**i for i in range(10)) if s <= size // 2]


def refine(
    looking: _Looking, algorithm: Mapping[str, Any], best: Candidate, size: int, ranges: Ranges
) -> None:
    """One parameter after the other, each with the best values found so far."""
    known = {p["name"] for p in algorithm["parameters"]}
    values: dict[str, list[int]] = {
        "degree": [2, 8, 16],
        "segment": ranges.segments(size),
        "piece": segments(size),
        "buffers": [2, 8, 16],
        "window": [1, 4],
        "rounds": [1, 2, 0],
    }
    for name, list_ in values.items():
        if name not in known or (name in ("window", "buffers") and not _is_cut(best)):
            continue
        looking.at([best.with_(**{name: value}) for value in list_])
        if name == "segment" and "overlap" in known:
            filter_overlaps(looking, best, size, ranges)
        family = [c for c in looking.times if c.algorithm == best.algorithm]
        fastest = min(family, key=looking.times.__getitem__)
        if looking.times[fastest] < looking.times[best] * CLEARLY:
            best = fastest


def _is_cut(candidate: Candidate) -> bool:
    return any(name in ("segment", "piece") for name, _ in candidate.parameters)


def filter_overlaps(looking: _Looking, best: Candidate, size: int, ranges: Ranges) -> None:
    """The matrix {segment, overlap} (section 4.6), as far as the machine's ranges go. What is gained without any overlap is the bound that others must beat
    (filter 2). From the smallest segment on (filter 3): as much overlapped as may be, and only where that is below the bound
    a half and a quarter of it, less being too little to gain anything (filter 1). Where it becomes slower from one segment to
    the next, copies and messages are in each other's way, and larger segments are left."""
    columns = ranges.segments(size)
    looking.at([best.with_(segment=s, overlap=0) for s in columns[:: max(1, len(columns) // 3)]])
    bound = min(
        (
            t
            for c, t in looking.times.items()
            if c.algorithm == best.algorithm and dict(c.parameters).get("overlap") == 0
        ),
        default=float("inf"),
    )
    before = float("inf")
    for segment in columns:
        overlap = ranges.overlap(segment)
        if overlap == 0:
            continue
        whole = best.with_(segment=segment, overlap=overlap)
        looking.at([whole])
        now = looking.times.get(whole, float("inf"))
        if now <= bound:
            parts = [segment // part for part in (2, 4) if segment // part < overlap]
            looking.at([best.with_(segment=segment, overlap=part) for part in parts])
        if now > before / CLEARLY:
            break
        before = now


def matrix(algorithm: Mapping[str, Any], size: int) -> Iterator[Candidate]:
    """All settings that an exhaustive search looks at."""
    known = {p["name"] for p in algorithm["parameters"]}
    settings = [Candidate(algorithm["name"])]
    if "degree" in known:
        settings = [c.with_(degree=d) for c in settings for d in (2, 4, 8, 16)]
    if "segment" in known:
        cut = [c.with_(segment=s, window=w) for c in settings for s in segments(size) for w in (1, 2, 4)]
        if "overlap" in known:
            cut += [
                c.with_(segment=s, overlap=o)
                for c in settings
                for s in segments(size)
                for o in (0, s // 4, s // 2, s)
            ]
        settings += cut
    elif "piece" in known:
        settings += [
            c.with_(piece=p, buffers=b) for c in settings for p in segments(size) for b in (2, 4, 8, 16)
        ]
    if "rounds" in known:
        settings += [c.with_(rounds=r) for c in settings for r in (1, 2, 0)]
    yield from settings


# --- What is found, as rules of a table (docs/tables.md) ---


def rules(outcomes: Sequence[Outcome], place: Place) -> list[dict[str, Any]]:
    """One rule for each range of sizes that was tuned alike, for the layout that it was tuned on."""
    found: list[dict[str, Any]] = []
    for operation in dict.fromkeys(o.operation for o in outcomes):
        of = sorted((o for o in outcomes if o.operation == operation), key=lambda o: o.bytes)
        if operation in WITHOUT_SIZE:
            found.append(_rule_for_all_sizes(of, place))
        else:
            found += _rules_by_size(of, place)
    return found


def _conditions(operation: str, place: Place) -> dict[str, Any]:
    conditions: dict[str, Any] = {
        "operation": operation,
        "nodes": [place.nodes, place.nodes],
        "ranks_per_node": [place.ranks_per_node[1], place.ranks_per_node[1]],
    }
    if operation in REDUCTIONS:
        conditions["operator"] = "commutative"
    return conditions


def _rules_by_size(of: Sequence[Outcome], place: Place) -> list[dict[str, Any]]:
    found = []
    for i, outcome in enumerate(of):
        rule = _conditions(outcome.operation, place)
        if outcome.operation != "barrier":
            # Between two sizes the border is half the way in powers of two.
            low = 1 if i == 0 else _between(of[i - 1].bytes, outcome.bytes) + 1
            high = None if i + 1 == len(of) else _between(outcome.bytes, of[i + 1].bytes)
            rule["bytes"] = [low, high]
        found.append(rule | _measured(outcome))
    return found


def _between(low: int, high: int) -> int:
    return 1 << ((low.bit_length() + high.bit_length()) // 2 - 1)


def _measured(outcome: Outcome) -> dict[str, Any]:
    winner = outcome.winner()
    others = sorted((name for name in outcome.names() if name != winner), key=outcome.time_s)
    return {
        **_timed(outcome, winner),
        "others": [_timed(outcome, name) for name in others],
        "origin": "measured",
        "note": f"at {outcome.bytes} bytes" if outcome.operation != "barrier" else "",
    }


def _timed(outcome: Outcome, name: str) -> dict[str, Any]:
    timed: dict[str, Any] = {"algorithm": name, "time_us": _rounded(outcome.time_s(name))}
    interval = outcome.interval_s(name)
    if interval is not None:
        timed["interval_us"] = [_rounded(bound) for bound in interval]
    return timed | {"samples": outcome.cell.samples}


def measured_bytes(rule: Mapping[str, Any]) -> int | None:
    """The message size at which the times of a rule were measured; None: it does not say one size."""
    if rule["operation"] == "barrier":
        return 0
    noted = re.fullmatch(r"at (\d+) bytes", rule.get("note", ""))
    if noted:
        return int(noted[1])
    low, high = rule.get("bytes", (0, None))
    return high if high is not None and low > high // 2 else None  # one size class, as learning writes it


def _rule_for_all_sizes(of: Sequence[Outcome], place: Place) -> dict[str, Any]:
    """Ranks cannot choose by size: what is no slower than the MPI at any of them, and the best in the mean."""
    everywhere = [name for name in of[0].names() if all(name in o.names() for o in of)]
    winner = choose({name: [o.speedup(name) for o in of] for name in everywhere}, of[0].cell.algorithm)
    sizes = ", ".join(f"{o.bytes}: {o.speedup(winner):.2f}" for o in of)
    return _conditions(of[0].operation, place) | {
        "algorithm": winner,
        "samples": sum(o.cell.samples for o in of),
        "origin": "measured",
        "note": f"over native at mean blocks of {sizes}",
    }


def _rounded(seconds: float) -> float:
    return float(f"{seconds * 1e6:.4g}")
