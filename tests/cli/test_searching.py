# SPDX-License-Identifier: BSD-3-Clause
"""What tuning looks at, and what it leaves out, on machines with made-up times."""

from __future__ import annotations

import pytest
from test_tune import KIB, PLACE, Machine, entry
from unisono.measuring import bench
from unisono.measuring.candidates import Candidate, parse
from unisono.tuning import results
from unisono.tuning.search_space import matrix
from unisono.tuning.searching import FINALISTS, LOOKING_CALLS, Tuner

CUT = {"segment": 0, "window": 2}
ALGORITHMS = [
    entry("bcast", "flat", "tree"),
    entry("bcast", "chain", "chain", **CUT),
    entry("bcast", "ring", "ring", **CUT),
    entry("bcast", "shared", "shared", piece=0, buffers=4),
]


def looked(machine: Machine, algorithm: str) -> list[str]:
    return [str(c) for c in machine.looks if c.algorithm == algorithm]


def test_own_choice_and_what_won_before_are_looked_at_first():
    size = 64 * KIB
    best = Candidate("chain").with_(segment=8 * KIB)
    machine = Machine(
        lambda c, _: 10 if c == best else {"chain": 40}.get(c.algorithm, 50), own="shared(buffers=2,piece=0)"
    )
    tuner = Tuner(ALGORITHMS)
    assert tuner.tune(machine, "bcast", size, 1).winner() == str(best)
    assert str(machine.looks[0]) == "shared(buffers=2)", "without what is standard"
    machine.looks.clear()
    tuner.tune(machine, "bcast", 4 * size, 1)
    assert list(map(str, machine.looks[:2])) == ["shared(buffers=2)", str(best)]
    machine.looks.clear()
    tuner.tune(machine, "bcast", 4 * KIB, 1)
    assert str(machine.looks[1]) == "chain", "segments that cut nothing are none"


def test_own_choice_takes_part_once():
    machine = Machine(lambda c, _: {"flat": 10, "chain": 11}.get(c.algorithm, 90), own="flat")
    Tuner(ALGORITHMS).tune(machine, "bcast", 8, 1)
    assert machine.finalists == ["chain"], "what is far behind in looks takes no part"


def test_blocking_messages_are_looked_at():
    """Table 3.1 of the source has them where messages are short."""
    algorithms = [entry("bcast", "flat", "tree"), entry("bcast", "binomial", "tree", **CUT, blocking=0)]
    machine = Machine(lambda c, _: 5 if dict(c.parameters).get("blocking") else 10, own="flat")
    assert Tuner(algorithms).tune(machine, "bcast", 8, 1).winner() == "binomial(blocking=1)"
    looks = [str(c) for c in matrix(algorithms[1], 8 * KIB, PLACE)]
    assert looks.count("binomial(blocking=1)") == 1 and len(set(looks)) == len(looks)


def test_paces_of_fewer_sends_than_there_are():
    """A14: a rank of 16 sends to 15 others, a leader of 4 nodes to 3."""
    algorithms = [
        entry("alltoall", "simple", "flat", pace=0),
        entry("alltoall", "two_level_simple", "two levels", pace=0),
    ]
    machine = Machine(lambda c, _: 8 if dict(c.parameters).get("pace") == 4 else 10, own="simple")
    assert Tuner(algorithms).tune(machine, "alltoall", 8, 1).winner() == "simple(pace=4)"
    looks = {str(look) for look in machine.looks}
    assert {"simple(pace=1)", "two_level_simple(pace=1)"} <= looks
    assert not any(name in looks for name in ("simple(pace=16)", "two_level_simple(pace=4)"))
    assert [str(c) for c in matrix(algorithms[1], 8, PLACE)] == [
        "two_level_simple",
        "two_level_simple(pace=1)",
    ]


def test_many_on_a_level_are_told_apart_in_turns():
    machine = Machine(lambda c, _: 10, own="flat")
    Tuner(ALGORITHMS).tune(machine, "bcast", 64 * KIB, 1)
    assert len(machine.finalists) == FINALISTS


def test_settings_that_change_nothing_are_left_out():
    machine = Machine(lambda c, _: 10 if c.algorithm == "chain" else 90)
    Tuner(ALGORITHMS).tune(machine, "bcast", 2 * KIB, 1)
    assert looked(machine, "chain") == ["chain"], "one piece has no use for windows"
    best = "chain(segment=2048)"
    machine = Machine(lambda c, _: {best: 5, "chain": 10}.get(str(c).replace(",window=1", ""), 90))
    Tuner(ALGORITHMS).tune(machine, "bcast", 4 * KIB, 1)
    assert looked(machine, "chain") == ["chain", best, "chain(segment=2048,window=1)"], "of two pieces, two"


def test_an_exhaustive_search_counts_programs_that_may_run_once_each():
    """Two pieces have no use for a window of 4, and the standard settings need no words; what may not run does not count."""
    machine = Machine(lambda c, _: 10)
    machine.unable = {"ring", "shared"}
    outcome = Tuner(ALGORITHMS, is_exhaustive=True).tune(machine, "bcast", 4 * KIB, 1)
    expected = ["flat", "chain", "chain(segment=2048,window=1)", "chain(segment=2048)"]
    assert [str(c) for c in machine.looks] == expected
    assert outcome.looked == outcome.every == len(expected)
    machine = Machine(lambda c, _: 10)
    machine.unable = {"ring", "shared"}
    pruned = Tuner(ALGORITHMS).tune(machine, "bcast", 4 * KIB, 1)
    assert pruned.every == len(expected), "the same, however many were looked at"


def test_the_time_of_an_exhaustive_search_is_estimated_by_looks():
    cell = bench.Cell("bcast", 8, 4, 1, 9, 1, 1, 1, 1, 1, True, "flat")
    outcome = results.Outcome("bcast", 8, cell, looked=4, seconds=3, looking_s=2, every=20)
    assert outcome.exhaustive_s == 20 * 0.5 + 1
    assert results.Outcome("gatherv", 8, cell, looked=4, seconds=3, every=4).exhaustive_s == 3
    assert results.Outcome("bcast", 8, cell, looked=0, seconds=3, looking_s=1, every=20).exhaustive_s == 2


def test_values_beyond_one_that_is_too_slow_are_left_out():
    pieces = {512 * KIB: 10, 128 * KIB: 8, 32 * KIB: 11, 8 * KIB: 7}
    machine = Machine(
        lambda c, _: pieces.get(dict(c.parameters).get("piece", 0), 12) if c.algorithm == "shared" else 90
    )
    Tuner(ALGORITHMS).tune(machine, "bcast", 1024 * KIB, 1)
    tried = {dict(parse(name).parameters).get("piece") for name in looked(machine, "shared")}
    assert tried == {None, 512 * KIB, 128 * KIB, 32 * KIB}, "32 KiB is more than a quarter behind 128 KiB"


def test_parameters_of_what_is_far_behind_are_not_looked_at():
    machine = Machine(lambda c, _: {"flat": 10, "chain": 14, "ring": 16}.get(c.algorithm, 90))
    Tuner(ALGORITHMS).tune(machine, "bcast", 64 * KIB, 1)
    assert len(looked(machine, "chain")) > 1
    assert looked(machine, "ring") == ["ring"]


@pytest.mark.parametrize(("call_us", "is_over"), [(1e7, False), (1e-3, True)])
def test_where_calls_take_long_looking_may_take_longer(call_us: float, is_over: bool):
    machine = Machine(lambda c, _: call_us)
    outcome = Tuner(ALGORITHMS).tune(machine, "bcast", 64 * KIB, 1e-9)
    assert (outcome.looked == 1) == is_over, f"{LOOKING_CALLS} calls' time is there in any case"
    assert 0 <= outcome.looking_s <= outcome.seconds


def compared(native: float, gain: float, gain_low: float) -> str:
    """The winner where native is so many times as fast as the own choice, and a candidate with the interval from `gain_low` on."""
    own = 1 / native
    ring = bench.Candidate("ring", 1, 1 / gain, own * gain, 1, 1, gain_low=gain_low)
    cell = bench.Cell(
        "bcast", 8, 4, 1, 9, own, 1, own, own * 0.9, own * 1.1, True, "flat", candidates=(ring,)
    )
    return results.Outcome("bcast", 8, cell, 2, 0.1).winner()


@pytest.mark.parametrize(
    ("native", "gain", "gain_low", "winner"),
    [
        (0.5, 1.3, 1.1, "ring"),
        (0.5, 1.3, 0.9, "flat"),
        (0.5, 1.015, 1.01, "flat"),
        (1.05, 1.0, 0.9, "flat"),
        (1.3, 1.0, 0.9, "native"),
        (1.3, 1.2, 1.1, "native"),
    ],
    ids=["faster", "noise", "level", "native-by-noise", "native", "native-before-faster"],
)
def test_own_choice_stays_unless_another_is_faster_beyond_noise(
    native: float, gain: float, gain_low: float, winner: str
):
    assert compared(native, gain, gain_low) == winner
