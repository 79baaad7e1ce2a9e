# SPDX-License-Identifier: BSD-3-Clause
"""What one collective's measurements say of another one (A14, section 5.3.3): whether it is worth a search, and which algorithms
are worth a look in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from unisono.measuring.candidates import parse
from unisono.tuning.results import TIE, Outcome

# Of each operation those whose algorithms do the same, or the same turned round.
KINDRED: Mapping[str, Sequence[str]] = {
    "allreduce": ("reduce",),
    "scatter": ("bcast", "gather"),
    "allgatherv": ("allgather",),
    "reduce_scatter": ("reduce_scatter_block",),
    "exscan": ("scan",),
}
# Of each operation one whose algorithm of the same name moves no more, along the same way: its time is a lower bound.
NO_DEARER: Mapping[str, str] = {
    "scatter": "bcast",
    "allgatherv": "allgather",
    "reduce_scatter": "reduce_scatter_block",
    "exscan": "scan",
}
POOR = 2.0  # times as long as the best so far: what a lower bound leaves out


@dataclass
class Kindred:
    """What was tuned before in this run, and what it says."""

    outcomes: dict[tuple[str, int], Outcome] = field(default_factory=dict)
    looks: dict[tuple[str, int], Mapping[str, float]] = field(
        default_factory=dict
    )  # by algorithm, the fastest setting's

    def note(self, outcome: Outcome, looks: Mapping[str, float]) -> None:
        self.outcomes[outcome.operation, outcome.bytes] = outcome
        self.looks[outcome.operation, outcome.bytes] = looks

    def why_not_worth(self, operation: str, size: int, own: str) -> str:
        """Why a search for what is faster than the own choice would find nothing; empty: it may."""
        name = parse(own).algorithm
        for other in KINDRED.get(operation, ()):
            outcome = self.outcomes.get((other, size))
            if outcome is None or parse(outcome.cell.algorithm).algorithm != name:
                continue
            if has_gained_nothing(outcome):
                return f"in {other} nothing was faster than {name}, which is the own choice here too"
        return ""

    def poor(self, operation: str, size: int, best_s: float) -> dict[str, float]:
        """Algorithms that take too long in another operation already, which asks no more of them; and how long. Too long are those
        that are far from the best of either operation: one of both may have been looked at in a bad moment."""
        looks = self.looks.get((NO_DEARER.get(operation, ""), size), {})
        enough_s = POOR * max(best_s, min(looks.values(), default=0.0))
        return {name: seconds for name, seconds in looks.items() if seconds > enough_s}


def has_gained_nothing(outcome: Outcome) -> bool:
    """Was the search not cut short, and did none that it found come near to being faster than the own choice?"""
    if outcome.is_cut_short or outcome.looked < 2 or outcome.judged:
        return False
    own = outcome.cell.algorithm
    others = [name for name in outcome.names() if name not in (own, "native")]
    bounds = [outcome.interval_s(name) for name in others]
    own_s = outcome.time_s(own)
    return outcome.winner() == own and all(bound is not None and bound[0] * TIE > own_s for bound in bounds)
