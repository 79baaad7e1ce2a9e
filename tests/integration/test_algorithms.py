# SPDX-License-Identifier: BSD-3-Clause
"""Every algorithm of the registry, forced, over real MPIs: one that is added is tested without a line here.

A job forces several, one after the other, and tests with each the operations that it forces.
"""

from __future__ import annotations

from itertools import cycle
from typing import NamedTuple

import pytest
from forced import forced_choices
from harness import TOOL, Runner, compile_program, installed
from mpis import BY_NAME

SECTIONS = ["barrier", "counts", "roots", "in_place", "empty_blocks", "user_operators", "random"]
QUICK_SECTIONS = ["roots", "pairs", "user_operators"]


class Place(NamedTuple):
    mpi: str
    ranks: int
    nodes: str  # pretended ones, "" for one node
    sections: list[str]


# `make conformance CONFORMANCE="--suite matrix"` runs everything on every MPI; here, what takes long goes to one place.
PLACES = [
    Place("openmpi5", 4, "", [*SECTIONS, "types", "pairs", "predefined"]),
    Place("mpich5", 5, "2,1,2", [*SECTIONS, "types", "pairs", "derived", "large_counts"]),
    Place("intel", 8, "4x2/cyclic", [*SECTIONS, "types", "pairs"]),
]
OTHER_RANKS = [
    Place("openmpi5", ranks, nodes, QUICK_SECTIONS)
    for ranks, nodes in [(6, ""), (7, "3,2,2"), (9, ""), (6, "3x2"), (7, ""), (9, "3x3"), (16, "4x4")]
]


CHOICES_A_JOB = 4
SECONDS = 250


def spread(places: list[Place]) -> list[tuple[Place, list[str]]]:
    """Return jobs. Each choice runs at one place, all of which come in turn; algorithms of two levels where there are nodes."""
    with_nodes = [place for place in places if place.nodes]
    at: dict[int, list[str]] = {}
    for levels, fit in ((1, places), (2, with_nodes)):
        for place, choice in zip(cycle(fit), forced_choices([levels]), strict=False):
            at.setdefault(places.index(place), []).append(choice)
    return [
        (places[number], choices[first : first + CHOICES_A_JOB])
        for number, choices in sorted(at.items())
        for first in range(0, len(choices), CHOICES_A_JOB)
    ]


def id_of(value: Place | list[str]) -> str | None:
    return f"{value.mpi}-{value.ranks}" if isinstance(value, Place) else ""


def test_the_registry_is_there():
    assert len(spread(PLACES)) > 1, f"{TOOL} lists no algorithms: build first (make build)"


def run_sections(
    request: pytest.FixtureRequest,
    runner: Runner,
    place: Place,
    sections: list[str],
    settings: dict[str, str],
) -> None:
    mpi = installed(BY_NAME[place.mpi], request.config)
    environment = {"COLLECTIVES_NATIVE": "1"} | settings
    if place.nodes:
        environment["UNISONO_NODES"] = place.nodes
    command = [compile_program(mpi, "collectives"), *sections]
    result = runner.unisono(mpi, place.ranks, command, environment, timeout=SECONDS).check()
    assert result.output.startswith("OK "), str(result)
    assert "unknown" not in result.errors, str(result)


def run_forced(request: pytest.FixtureRequest, runner: Runner, place: Place, choices: list[str]) -> None:
    sections = [word for choice in choices for word in ("--force", choice, *place.sections)]
    run_sections(request, runner, place, sections, {})


@pytest.mark.in_turns(5)
@pytest.mark.parametrize(("place", "choices"), spread(PLACES), ids=id_of)
def test_forced(request: pytest.FixtureRequest, runner: Runner, place: Place, choices: list[str]):
    run_forced(request, runner, place, choices)


@pytest.mark.in_turns(2)
@pytest.mark.parametrize(("place", "choices"), spread(OTHER_RANKS), ids=id_of)
def test_forced_with_other_ranks(
    request: pytest.FixtureRequest, runner: Runner, place: Place, choices: list[str]
):
    run_forced(request, runner, place, choices)


def test_what_is_illegal_there_is_refused(request: pytest.FixtureRequest, runner: Runner):
    """Algorithms of two levels on one node: the results are right all the same."""
    settings = {"UNISONO_ALGORITHM": forced_choices([2])[0]}
    run_sections(request, runner, PLACES[0], PLACES[0].sections, settings)
