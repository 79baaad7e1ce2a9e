# SPDX-License-Identifier: BSD-3-Clause
"""What one operation's measurements say of another one: is it worth a search, and which algorithms are worth a look in it?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from test_tune import Machine, entry
from unisono.commands.tune_run import judged_lines
from unisono.measuring import bench
from unisono.measuring.candidates import Candidate
from unisono.tuning.searching import Tuner

ALGORITHMS = [
    entry(operation, name, name)
    for operation in ("bcast", "gather", "scatter")
    for name in ("flat", "tree", "chain")
]
SIZE = 64


class Steady(Machine):
    """Intervals of 1 % around each time."""

    def decide(self, operation: str, size: int, names: Sequence[str], seconds: float) -> bench.Cell:
        cell = super().decide(operation, size, names, seconds)
        around = {"unisono_low_s": cell.unisono_s * 0.99, "unisono_high_s": cell.unisono_s * 1.01}
        candidates = tuple(
            replace(c, low_s=c.tried_s * 0.99, high_s=c.tried_s * 1.01) for c in cell.candidates
        )
        return replace(cell, candidates=candidates, **around)


def steady(time_us: Callable[[Candidate, int], float], own: str = "flat") -> Steady:
    return Steady(time_us, own=own)


def by_name(**times_us: float) -> Callable[[Candidate, int], float]:
    return lambda candidate, _: times_us[candidate.algorithm]


NOTHING_FASTER = by_name(flat=10, tree=12, chain=30)


def test_what_gained_nothing_says_so_of_its_kindred():
    tuner = Tuner(ALGORITHMS)
    assert not tuner.tune(steady(NOTHING_FASTER), "gather", SIZE, 1).judged
    machine = steady(NOTHING_FASTER)
    outcome = tuner.tune(machine, "scatter", SIZE, 1)
    assert machine.looks == []
    assert (outcome.looked, outcome.winner()) == (0, "flat"), (
        "the own choice is measured beside native all the same"
    )
    assert outcome.judged == "in gather nothing was faster than flat, which is the own choice here too"
    another_size = steady(NOTHING_FASTER)
    assert not tuner.tune(another_size, "scatter", 2 * SIZE, 1).judged
    assert len(another_size.looks) == 3


def test_what_was_judged_itself_says_nothing():
    algorithms = [entry(operation, "flat", "flat") for operation in ("bcast", "scatter", "gather")]
    tuner = Tuner(algorithms)
    tuner.tune(steady(NOTHING_FASTER), "gather", SIZE, 1)
    assert not tuner.kindred.why_not_worth("scatter", SIZE, "flat"), "one look says nothing of others"


@pytest.mark.parametrize(
    ("of_gather", "own", "options"),
    [
        (by_name(flat=10, tree=8, chain=30), "flat", {}),
        (by_name(flat=10, tree=9.9, chain=30), "flat", {}),
        (NOTHING_FASTER, "tree", {}),
        (NOTHING_FASTER, "flat", {"is_judging": False}),
        (NOTHING_FASTER, "flat", {"is_exhaustive": True}),
    ],
    ids=["a gain", "perhaps a gain", "another own choice", "asked for", "exhaustive"],
)
def test_what_is_searched_all_the_same(
    of_gather: Callable[[Candidate, int], float], own: str, options: dict[str, bool]
):
    tuner = Tuner(ALGORITHMS, **options)
    tuner.tune(steady(of_gather), "gather", SIZE, 1)
    machine = steady(NOTHING_FASTER, own)
    assert not tuner.tune(machine, "scatter", SIZE, 1).judged
    assert {c.algorithm for c in machine.looks} == {"flat", "tree", "chain"}


@pytest.mark.parametrize("is_judging", [True, False])
def test_an_algorithm_that_takes_too_long_where_it_moves_less_is_not_looked_at(is_judging: bool):
    """Section 5.3.3: a chain's broadcast against the fastest scatter."""
    tuner = Tuner(ALGORITHMS, is_judging=is_judging)
    tuner.tune(steady(by_name(flat=10, tree=9, chain=21)), "bcast", SIZE, 1)
    machine = steady(by_name(flat=10, tree=5, chain=50))
    outcome = tuner.tune(machine, "scatter", SIZE, 1)
    assert ("chain" in {c.algorithm for c in machine.looks}) is not is_judging
    assert outcome.winner() == "tree"
    said = "chain not looked at, since bcast by the same takes more than 2 times as long"
    assert outcome.judged == (said if is_judging else "")


def test_what_was_looked_at_in_a_bad_moment_leaves_nothing_out():
    tuner = Tuner(ALGORITHMS)
    tuner.tune(steady(by_name(flat=30, tree=28, chain=40)), "bcast", SIZE, 1)
    machine = steady(by_name(flat=10, tree=12, chain=13))
    assert not tuner.tune(machine, "scatter", SIZE, 1).judged
    assert {c.algorithm for c in machine.looks} == {"flat", "tree", "chain"}


def test_reasons_are_told_once_for_all_their_sizes():
    tuner = Tuner(ALGORITHMS)
    outcomes = [
        tuner.tune(steady(NOTHING_FASTER), operation, size, 1)
        for operation in ("gather", "scatter")
        for size in (8, 64)
    ]
    assert judged_lines(outcomes) == [
        "scatter of 8 B, 64 B: in gather nothing was faster than flat, which is the own choice here too "
        "(--search-all looks all the same)"
    ]
