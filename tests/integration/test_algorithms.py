# SPDX-License-Identifier: BSD-3-Clause
"""Every algorithm of the registry, forced, over real MPIs: one that is added is tested without a line here."""

from __future__ import annotations

import pytest
from forced import forced_choices
from harness import TOOL, Runner, compile_program, installed
from mpis import BY_NAME

SECTIONS = ["barrier", "counts", "roots", "in_place", "empty_blocks", "user_operators", "random"]
# What takes long goes to one place each; `make conformance CONFORMANCE="--suite matrix"` runs all of it everywhere.
PLACES = [
    ("openmpi5", 4, "", ["types", "pairs", "predefined"]),
    ("mpich5", 5, "2,1,2", ["types", "pairs", "derived", "large_counts"]),
    ("intel", 8, "4x2/cyclic", ["types", "pairs"]),
]
# Of these each choice gets one, and nodes where there are some; the few sections are quick ones.
OTHER_RANKS = [(6, ""), (7, "3,2,2"), (9, ""), (6, "3x2"), (7, ""), (9, "3x3"), (16, "4x4")]
QUICK_SECTIONS = ["roots", "pairs", "user_operators"]

CHOICES = forced_choices()


def test_the_registry_is_there():
    assert len(CHOICES) > 1, f"{TOOL} lists no algorithms: build first (make build)"


def run_forced(
    request: pytest.FixtureRequest,
    runner: Runner,
    place: tuple[str, int, str],
    choice: str,
    sections: list[str],
) -> None:
    name, ranks, nodes = place
    mpi = installed(BY_NAME[name], request.config)
    environment = {"UNISONO_ALGORITHM": choice, "COLLECTIVES_NATIVE": "1"} | (
        {"UNISONO_NODES": nodes} if nodes else {}
    )
    command = [compile_program(mpi, "collectives"), *sections]
    result = runner.unisono(mpi, ranks, command, environment, timeout=180).check()
    assert result.output.startswith("OK "), str(result)
    assert "unknown" not in result.errors, str(result)


@pytest.mark.parametrize("turn", range(len(CHOICES)))
@pytest.mark.parametrize(("name", "ranks", "nodes", "more"), PLACES, ids=[place[0] for place in PLACES])
def test_forced(
    request: pytest.FixtureRequest,
    runner: Runner,
    name: str,
    ranks: int,
    nodes: str,
    more: list[str],
    turn: int,
):
    """One node, and pretended ones: what is illegal there is refused, and the results are right all the same."""
    run_forced(request, runner, (name, ranks, nodes), CHOICES[turn], SECTIONS + more)


@pytest.mark.parametrize("turn", range(len(CHOICES)))
def test_forced_with_other_ranks(request: pytest.FixtureRequest, runner: Runner, turn: int):
    ranks, nodes = OTHER_RANKS[turn % len(OTHER_RANKS)]
    run_forced(request, runner, ("openmpi5", ranks, nodes), CHOICES[turn], QUICK_SECTIONS)
