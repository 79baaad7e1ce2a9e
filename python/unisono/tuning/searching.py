# SPDX-License-Identifier: BSD-3-Clause
"""The search of off-line tuning (A8, A10): which algorithms, with which parameters, are looked at for an operation and a size.

What is looked at shrinks in steps. First come Unisono's own choice and what has won at the size before. Then
comes one algorithm of each group, and the rest of the best groups (S4), as far as they may run. Of the best
of them the parameters follow, one after the other. Of what overlaps two levels it is the matrix {segment,
overlap} by the filters of section 4.6. What is left is measured in turn with the MPI's own collective, and
wins only where it is no slower. Where a kindred operation says that nothing is to be found, or that
an algorithm takes too long, there is no such search, or no such look (A14)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from unisono.common.operations import ON_ONE_VECTOR, WITHOUT_SIZE
from unisono.measuring.candidates import Candidate, parse
from unisono.measuring.measurer import Measurer, Place
from unisono.tuning.kindred import NO_DEARER, POOR, Kindred
from unisono.tuning.results import Outcome
from unisono.tuning.search_space import PACES, Ranges, has_own_pace, has_own_window, matrix, segments

BEST_GROUPS = 2
REFINED = 2  # algorithms whose parameters are looked at
WITHIN_REACH = 1.5  # of the best so far: what parameters, or others of its group, may still make the fastest
FINALISTS = 4
NEAR = 1.25  # of the best look: what may still turn out to be the fastest, looks being few
LEAST_DECIDING_S = 0.06  # a little more than the own choice takes part for in any case
AT_A_TIME = 100  # settings that an exhaustive search asks for at once
MOST_LOOKING_S = 600.0  # at those
CLEARLY = 0.97  # of the time before: what is worth another parameter
TOO_FAR = 1.25  # times as long as another value of a parameter: those beyond are left
_SHARE_OF_LOOKING = 0.6  # of a cell's time
LOOKING_CALLS = 60  # that looking may take in any case, where single calls take long


@dataclass
class Tuner:
    """Tunes cells of one job. `expected` says how long a candidate should take, where somebody knows (a
    model). `ranges` says which segments and overlaps are worth a test. `before` has what has won at each
    operation's size before."""

    algorithms: Sequence[Mapping[str, Any]]
    is_exhaustive: bool = False
    expected: Callable[[str, int, Sequence[Candidate]], Sequence[float | None]] | None = None
    ranges: Ranges = field(default_factory=Ranges)
    failed: set[tuple[str, str]] = field(default_factory=set)
    before: dict[str, Candidate] = field(default_factory=dict)
    is_judging: bool = True  # by kindred operations
    kindred: Kindred = field(default_factory=Kindred)

    def tune(self, job: Measurer, operation: str, size: int, seconds: float) -> Outcome:
        """Look and compare within about `seconds`, more where a single call takes long."""
        start = time.monotonic()
        if operation in WITHOUT_SIZE:
            # One decision holds for all sizes, so the same candidates are measured at each.
            names = [entry["name"] for entry in self._of(operation)]
            names = [name for name in names if self._is_usable(operation, Candidate(name))]
            cell = job.compare(operation, size, names, seconds)
            count, took_s = len(cell.candidates), time.monotonic() - start
            return Outcome(operation, size, cell, count, took_s, every=count, is_cut_short=took_s >= seconds)
        choice = job.choice(operation, size)
        own = self._candidate(operation, size, choice)
        judged = self._why_no_search(operation, size, choice)
        looking = _Looking(job, operation, size, seconds * _SHARE_OF_LOOKING, self.is_exhaustive)
        every = self._all(job, operation, size)
        if self.is_exhaustive:
            looking.at(every)
        elif not judged:
            judged = self._look_in_steps(looking, own)
        looking_s = time.monotonic() - start
        left_s = max(seconds - looking_s, seconds * 0.2, LEAST_DECIDING_S)
        cell = job.decide(operation, size, [str(c) for c in looking.finalists(own)], left_s)
        took_s = time.monotonic() - start
        is_cut_short = took_s - looking_s >= left_s
        outcome = Outcome(
            operation, size, cell, len(looking.times), took_s, looking_s, len(every), is_cut_short, judged
        )
        self._remember(operation, size, outcome.winner())
        self.kindred.note(outcome, {c.algorithm: looking.times[c] for c in looking.best_of_each()})
        return outcome

    def _remember(self, operation: str, size: int, winner: str) -> None:
        candidate = self._candidate(operation, size, winner)
        if candidate is not None:
            self.before[operation] = candidate

    def _candidate(self, operation: str, size: int, text: str) -> Candidate | None:
        """Without the parameters that say nothing, so that the same has one name; None: native."""
        named = parse(text)
        entry = next((e for e in self._of(operation) if e["name"] == named.algorithm), None)
        if entry is None:
            return None
        return named.without({p["name"]: p["default"] for p in entry["parameters"]}).without_cuts(size)

    def _is_usable(self, operation: str, candidate: Candidate) -> bool:
        return (operation, str(candidate)) not in self.failed

    def _of(self, operation: str) -> list[Mapping[str, Any]]:
        return [a for a in self.algorithms if a["operation"] == operation]

    def _all(self, job: Measurer, operation: str, size: int) -> list[Candidate]:
        """What an exhaustive search looks at: the settings of algorithms that may run, each program once."""
        able = set(job.able(operation, size, [entry["name"] for entry in self._of(operation)]))
        most = _total_bytes(job, operation, size)
        found: dict[Candidate, None] = {}
        for entry in self._of(operation):
            standards = {p["name"]: p["default"] for p in entry["parameters"]}
            for candidate in matrix(entry, size, job.place) if entry["name"] in able else ():
                plain = candidate.without(standards)
                if "window" not in dict(plain.parameters) or has_own_window(plain, standards, most):
                    found[plain] = None
        return [candidate for candidate in found if self._is_usable(operation, candidate)]

    def _why_no_search(self, operation: str, size: int, own: str) -> str:
        if self.is_exhaustive or not self.is_judging:
            return ""
        return self.kindred.why_not_worth(operation, size, own)

    def _poor(self, looking: _Looking) -> dict[str, float]:
        if not self.is_judging or not looking.times:
            return {}
        return self.kindred.poor(looking.operation, looking.size, min(looking.times.values()))

    def _look_in_steps(self, looking: _Looking, own: Candidate | None) -> str:
        """What was left out because of a kindred operation, in words."""
        operation, size = looking.operation, looking.size
        before = self.before.get(operation)
        known = [own, before.without_cuts(size) if before else None]
        looking.at([c for c in known if c is not None and self._is_usable(operation, c)])
        poor = self._poor(looking)
        entries = [entry for entry in self._promising(operation, size) if entry["name"] not in poor]
        groups: dict[str, list[Candidate]] = {}
        for entry in entries:
            candidate = Candidate(entry["name"])
            if self._is_usable(operation, candidate):
                groups.setdefault(entry["group"], []).append(candidate)
        self._look_at_groups(looking, groups)
        by_name = {entry["name"]: entry for entry in self._of(operation)}
        for candidate in looking.best_of_each()[:REFINED]:
            if looking.is_within_reach(candidate):
                refine(looking, by_name[candidate.algorithm], candidate, self.ranges)
        return left_out_text(operation, [name for name in poor if name in by_name])

    def _look_at_groups(self, looking: _Looking, groups: Mapping[str, Sequence[Candidate]]) -> None:
        # One of each group that may run here.
        left = {group: iter(members) for group, members in groups.items()}
        times: dict[str, Candidate] = {}
        while tried := {g: c for g, members in left.items() if g not in times and (c := next(members, None))}:
            looking.at(list(tried.values()))
            times |= {group: c for group, c in tried.items() if c in looking.times}
        best = sorted(times, key=lambda group: looking.times[times[group]])[:BEST_GROUPS]
        looking.at([c for g in best if g == best[0] or looking.is_within_reach(times[g]) for c in left[g]])

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

    def __init__(
        self, job: Measurer, operation: str, size: int, seconds: float, is_exhaustive: bool = False
    ) -> None:
        self._job = job
        self.operation = operation
        self.size = size
        self._seconds = seconds
        self._start = time.monotonic()
        self._is_exhaustive = is_exhaustive
        self.times: dict[Candidate, float] = {}

    @property
    def place(self) -> Place:
        return self._job.place

    @property
    def total_bytes(self) -> int:
        """Of all blocks: no message is longer."""
        return _total_bytes(self._job, self.operation, self.size)

    def _left_s(self) -> float:
        if self._is_exhaustive:
            return MOST_LOOKING_S
        in_any_case = LOOKING_CALLS * min(self.times.values(), default=0.0)
        return max(self._seconds, in_any_case) - (time.monotonic() - self._start)

    def at(self, candidates: Sequence[Candidate]) -> None:
        new = [c for c in dict.fromkeys(candidates) if c not in self.times]
        step = AT_A_TIME if self._is_exhaustive else max(len(new), 1)
        for first in range(0, len(new), step):
            left_s = self._left_s()
            if left_s <= 0 and self.times:
                return
            names = [str(c) for c in new[first : first + step]]
            looked = self._job.look(
                self.operation, self.size, names, max(left_s, 0.0), is_alike=self._is_exhaustive
            )
            for name, seconds in looked:
                self.times[parse(name)] = seconds

    def along(self, candidates: Sequence[Candidate]) -> None:
        """One after the other, as long as they do not become much slower."""
        least = float("inf")
        for candidate in candidates:
            self.at([candidate])
            now = self.times.get(candidate, float("inf"))
            if now > least * TOO_FAR:
                return
            least = min(least, now)

    def best(self) -> list[Candidate]:
        return sorted(self.times, key=self.times.__getitem__)

    def best_of_each(self) -> list[Candidate]:
        """The fastest setting of each algorithm."""
        first: dict[str, Candidate] = {}
        for candidate in self.best():
            first.setdefault(candidate.algorithm, candidate)
        return list(first.values())

    def is_within_reach(self, candidate: Candidate) -> bool:
        return self.times[candidate] <= WITHIN_REACH * min(self.times.values())

    def finalists(self, own: Candidate | None) -> list[Candidate]:
        """What may be the fastest, beside the own choice, which takes part in any case."""
        best = self.best()
        near = [c for c in best if self.times[c] <= NEAR * self.times[best[0]]]
        return [c for c in near if c != own][:FINALISTS]


def _total_bytes(job: Measurer, operation: str, size: int) -> int:
    """Of all blocks, where messages are of `size` bytes."""
    return size * (1 if operation in ON_ONE_VECTOR else job.place.ranks)


def left_out_text(operation: str, poor: Sequence[str]) -> str:
    if not poor:
        return ""
    return f"{', '.join(poor)} not looked at, since {NO_DEARER[operation]} by the same takes more than {POOR:.0f} times as long"


def refine(looking: _Looking, algorithm: Mapping[str, Any], best: Candidate, ranges: Ranges) -> None:
    """One parameter after the other, each with the best values found so far; without those that change nothing."""
    standards = {p["name"]: p["default"] for p in algorithm["parameters"]}
    highest = {p["name"]: p["high"] for p in algorithm["parameters"]}
    size = looking.size
    values: dict[str, list[int]] = {
        "degree": [2, 4, 8, 16],
        "segment": ranges.segments(size)[::-1],
        "piece": segments(size)[::-1],
        "buffers": [2, 4, 8, 16] if size else [],
        "window": [1, 2, 4],
        "rounds": [1, 2, 8, 0],
        "blocking": [0, 1],
        "pace": [value for value in PACES if has_own_pace(algorithm, value, looking.place)],
        "bundle_up_to": [0, size],
        "of_nodes": [0, 1],
        "cell": [size],
    }
    for name in [name for name in values if name in standards]:
        within = [value for value in values[name] if value <= highest[name]]
        tried = [best.with_(**{name: value}).without(standards) for value in within]
        if name in ("segment", "piece"):
            looking.along(tried)
        else:
            looking.at(
                [c for c in tried if name != "window" or has_own_window(c, standards, looking.total_bytes)]
            )
        if name == "segment" and "overlap" in standards:
            filter_overlaps(looking, best, size, ranges)
        family = [c for c in looking.times if c.algorithm == best.algorithm]
        fastest = min(family, key=looking.times.__getitem__)
        if looking.times[fastest] < looking.times[best] * CLEARLY:
            best = fastest


def filter_overlaps(looking: _Looking, best: Candidate, size: int, ranges: Ranges) -> None:
    """The matrix {segment, overlap} (section 4.6), as far as the machine's ranges go. What is gained without
    any overlap is the bound that others must beat (filter 2). From the smallest segment on (filter 3) as much
    is overlapped as may be. Only where that is below the bound, a half and a quarter of the segment follow;
    less is too little to gain anything (filter 1). Where it becomes slower from one segment to the next,
    copies and messages are in each other's way, and larger segments are left."""
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
