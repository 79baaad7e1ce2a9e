# SPDX-License-Identifier: BSD-3-Clause
"""Where the rules end that tuning makes of what it has measured, and what is no rule."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_tune import KIB, PLACE, noisy, outcome
from unisono.tuning import results


def test_what_is_not_decided_leaves_its_sizes_to_others():
    """Its neighbours' rules end where they would beside a rule."""
    sizes = (8, 512, 32 * KIB)
    undecided = replace(noisy(0.9, 1.1, "own_choice"), bytes=512)
    found = results.rules(
        [outcome("bcast", 8, ring=2.0), undecided, outcome("bcast", sizes[2], ring=2.0)], PLACE
    )
    assert [rule["bytes"] for rule in found] == [[1, 64], [4 * KIB + 1, 32 * KIB]]
    assert results.rules([replace(undecided, operation="barrier", bytes=0)], PLACE) == []
    assert results.rules([replace(undecided, operation="gatherv")], PLACE) == []


def test_what_is_surely_faster_than_the_own_choice_is_a_rule():
    """Without one the own choice would serve, which is known to be slower."""
    found = outcome("bcast", 8, own=0.5, ring=1.05)
    (ring,) = found.cell.candidates
    open_ = replace(found.cell, candidates=(replace(ring, speedup_low=0.9, speedup_high=1.2),))
    (rule,) = results.rules([replace(found, cell=open_)], PLACE)
    assert rule["algorithm"] == "ring"
    assert rule["note"].startswith("faster than own_choice; not decided: 0.90 to 1.20")


@pytest.mark.parametrize(
    ("size", "winner", "wanted"),
    [
        (8, "ring", [1, 8]),
        (8, "own", [5, 8]),
        (3000, "ring", [2049, 4096]),
        (64 * KIB, "ring", [32 * KIB + 1, None]),
        (64 * KIB, "own", [32 * KIB + 1, 64 * KIB]),
        (1 << 20, "native", [(512 * KIB) + 1, None]),
    ],
)
def test_rules_end_at_the_sizes_that_were_measured(size: int, winner: str, wanted: list):
    """A broadcast of 8 bytes does not go by what was measured at 64 KiB, nor one of 1 MiB by what was at 8 bytes."""
    speedups = {"own": {"own": 2.0}, "native": {"own": 0.5}, "ring": {"ring": 2.0}}[winner]
    (rule,) = results.rules([outcome("bcast", size, **speedups)], PLACE)
    assert (rule["bytes"], rule["measured_bytes"]) == (wanted, size)
