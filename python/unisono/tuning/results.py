# SPDX-License-Identifier: BSD-3-Clause
"""What off-line tuning (A8, A10) has found for an operation at a size of a job's layout: which algorithm wins, and the rules of a
table that say so."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unisono.common.extras import numpy as np
from unisono.common.operations import REDUCTIONS, WITHOUT_SIZE
from unisono.measuring import bench
from unisono.measuring.measurer import Place

TIE = 1.02
# Beyond the sizes that were measured a rule holds where bytes do not count (up to a cache line), or nothing else does.
_FEW_BYTES, _MANY_BYTES = 64, 64 << 10


@dataclass
class Outcome:
    """What was found for one operation at one size. Times are seconds a call, of the slowest rank."""

    operation: str
    bytes: int
    cell: bench.Cell
    looked: int  # how many candidates were looked at
    seconds: float  # that it took
    looking_s: float = 0.0  # of those, until the last candidates were measured in turn
    every: int = 0  # settings that may run there and differ: what an exhaustive search looks at
    is_cut_short: bool = False  # by its share of the time, before it was known which is the fastest
    judged: str = ""  # why less was looked at than else: what another operation's measurements say

    @property
    def exhaustive_s(self) -> float:
        """An estimate of what an exhaustive search takes: as long for each setting as a look took here. Too little where what is
        slow was cut short, as such a search does not."""
        looks_s = self.looking_s / self.looked * max(self.every, self.looked) if self.looked else 0.0
        return looks_s + self.seconds - self.looking_s

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

    def undecided(self, name: str) -> tuple[float, float] | None:
        """The 95 % interval of how many times as fast as native it is, where that leaves open which of both is the faster one."""
        known = {c.name: (c.speedup_low, c.speedup_high) for c in self.cell.candidates}
        known |= {self.cell.algorithm: (self.cell.speedup_low, self.cell.speedup_high), "native": (1.0, 1.0)}
        low, high = known.get(name, (None, None))
        is_open = low is not None and high is not None and low * TIE < 1 < high / TIE
        return (low, high) if is_open and low is not None and high is not None else None

    @property
    def is_decided(self) -> bool:
        """Whether it is known what serves here. The own choice serves without a rule too. So a rule is made
        of it where it is known to be faster, or slower, than native. What replaces the own choice is surely
        faster than it."""
        winner = self.winner()
        return winner != self.cell.algorithm or self.undecided(winner) is None

    def winner(self) -> str:
        """The fastest; Unisono's own choice where nothing is faster than it beyond noise, and clearly so; else native where nothing
        is clearly faster than that."""
        own = self.cell.algorithm
        faster = [name for name in self.names() if name != own and self._is_surely_faster(name)]
        names = list(dict.fromkeys(["native", own, *faster]))
        return choose({name: [self.speedup(name)] for name in names}, own) if faster else own

    def _is_surely_faster(self, name: str) -> bool:
        """Than the own choice, with the whole interval."""
        if name == "native":
            return self.cell.speedup_high < 1
        return any((c.gain_low or 0) > 1 for c in self.cell.candidates if c.name == name)


def choose(speedups: Mapping[str, Sequence[float]], own: str) -> str:
    """Of names with their speed-ups over native at one or several sizes, the best in the mean that is slower than native at
    none of them. Where several are on a level, the own choice, then native, then the first."""
    no_slower = {name: values for name, values in speedups.items() if min(values) >= 1 / TIE}
    mean = {name: float(np.exp(np.mean(np.log(values)))) for name, values in no_slower.items()}
    most = max(mean.values())
    level = [name for name, value in mean.items() if value * TIE >= most]
    return next((name for name in (own, "native") if name in level), level[0])


# --- What is found, as rules of a table (docs/guide/tables.md) ---


# The largest message that an algorithm of an operation takes, as a job of so many ranks counts messages; None: any.
Limits = Callable[[str, str, int], int | None]


def limits_of(algorithms: Sequence[Mapping[str, Any]]) -> Limits:
    """As the registry has them."""
    by_name = {(a["operation"], a["name"]): a for a in algorithms}

    def limit(operation: str, algorithm: str, ranks: int) -> int | None:
        entry = by_name.get((operation, algorithm.partition("(")[0]), {})
        whole, total = entry.get("most_bytes", 0), entry.get("most_total_bytes", 0)
        return min(([whole] if whole else []) + ([total // ranks] if total else []), default=None)

    return limit


def no_limits(_operation: str, _algorithm: str, _ranks: int) -> int | None:
    return None


def rules(
    outcomes: Sequence[Outcome], place: Place, limits: Limits = no_limits, shares_cores: bool | None = None
) -> list[dict[str, Any]]:
    """One rule for each range of sizes that was tuned alike, for the layout that it was tuned on. What is not decided is no rule.
    `shares_cores`: whether ranks of a node share cores; None: not known."""
    found: list[dict[str, Any]] = []
    for operation in dict.fromkeys(o.operation for o in outcomes):
        of = sorted((o for o in outcomes if o.operation == operation), key=lambda o: o.bytes)
        conditions = _conditions(operation, place, shares_cores)
        if operation in WITHOUT_SIZE:
            found += [conditions | rule for rule in _for_all_sizes(of)]
        else:
            found += [conditions | rule for rule in _by_size(of, limits, place.ranks)]
    least, most = place.ranks_per_node
    if least != most:
        for rule in found:
            rule["note"] = "; ".join(filter(None, [rule["note"], f"measured on {place.layout}"]))
    return found


def _conditions(operation: str, place: Place, shares_cores: bool | None) -> dict[str, Any]:
    """Of an uneven layout the ranges have all its nodes: a rule for one number of ranks would pass for what was measured with as
    many on each."""
    conditions: dict[str, Any] = {
        "operation": operation,
        "nodes": [place.nodes, place.nodes],
        "ranks_per_node": list(place.ranks_per_node),
        "placement": "consecutive" if place.is_consecutive else "scattered",
        "mpi": place.mpi.partition(".")[0],
    }
    if shares_cores is not None:
        conditions["oversubscribed"] = shares_cores
    if operation in REDUCTIONS:
        conditions["operator"] = "commutative"
    return conditions


def _by_size(of: Sequence[Outcome], limits: Limits, ranks: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    low = _first_byte(of[0])
    for i, outcome in enumerate(of):
        measured = _measured(outcome)
        # Between two sizes the border is half the way in powers of two, or where the algorithm may not run
        # any more. What has won at the next size serves the sizes beyond.
        high = _between(outcome.bytes, of[i + 1].bytes) if i + 1 < len(of) else _last_byte(outcome)
        limit = limits(outcome.operation, measured["algorithm"], ranks)
        if limit is not None and (high is None or limit < high):
            high = max(limit, outcome.bytes)
        if outcome.is_decided:
            is_sized = outcome.operation != "barrier"
            sizes = {"bytes": [low, high], "measured_bytes": outcome.bytes} if is_sized else {}
            found.append(measured | sizes)
        low = (high or 0) + 1
    return found


# Outside of the sizes that were measured the first rule and the last one end with their own size class (and
# serve sizes near to it, as rules do). An exception is where what holds for that class holds for all beyond.
# The own choice is made anew for each size.


def _first_byte(outcome: Outcome) -> int:
    is_for_all_below = outcome.bytes <= _FEW_BYTES and outcome.winner() != outcome.cell.algorithm
    return 1 if is_for_all_below else _class_end(outcome.bytes) // 2 + 1


def _last_byte(outcome: Outcome) -> int | None:
    is_for_all_above = outcome.bytes >= _MANY_BYTES and outcome.winner() != outcome.cell.algorithm
    return None if is_for_all_above else _class_end(outcome.bytes)


def _class_end(size: int) -> int:
    """The largest size of its class, by which rules go: a power of two."""
    return 1 << (size - 1).bit_length() if size > 0 else 0


def _between(low: int, high: int) -> int:
    return 1 << ((low.bit_length() + high.bit_length()) // 2 - 1)


def _measured(outcome: Outcome) -> dict[str, Any]:
    winner = outcome.winner()
    others = sorted((name for name in outcome.names() if name != winner), key=outcome.time_s)
    return {
        **_timed(outcome, winner),
        "others": [_timed(outcome, name) for name in others],
        "origin": "measured",
        "note": _undecided_text(outcome, winner),
    }


def _undecided_text(outcome: Outcome, name: str) -> str:
    between = outcome.undecided(name)
    if between is None:
        return ""
    low, high = between
    return (
        f"faster than {outcome.cell.algorithm}; not decided: {low:.2f} to {high:.2f} times as fast as native"
    )


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
    if "measured_bytes" in rule:
        return int(rule["measured_bytes"])
    low, high = rule.get("bytes", (0, None))
    return high if high is not None and low > high // 2 else None  # one size class, as learning writes it


def winner_at_all(of: Sequence[Outcome]) -> str:
    """Of an operation's sizes together."""
    everywhere = [name for name in of[0].names() if all(name in o.names() for o in of)]
    return choose({name: [o.speedup(name) for o in of] for name in everywhere}, of[0].cell.algorithm)


def _for_all_sizes(of: Sequence[Outcome]) -> list[dict[str, Any]]:
    """Ranks cannot choose by size: what is no slower than the MPI at any of them, and the best in the mean. None where that is
    decided at no size."""
    winner = winner_at_all(of)
    if all(o.undecided(winner) and o.cell.algorithm == winner for o in of):
        return []
    sizes = ", ".join(f"{o.bytes}: {o.speedup(winner):.2f}" for o in of)
    return [
        {
            "algorithm": winner,
            "samples": sum(o.cell.samples for o in of),
            "origin": "measured",
            "note": f"over native at mean blocks of {sizes}",
        }
    ]


def _rounded(seconds: float) -> float:
    return float(f"{seconds * 1e6:.4g}")
