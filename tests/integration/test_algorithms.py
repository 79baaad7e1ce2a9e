# SPDX-License-Identifier: BSD-3-Clause
"""Every algorithm of the registry, forced, over real MPIs: one that is added is tested without a line here."""

from __future__ import annotations

import pytest
from harness import TOOL, Runner, compile_program, installed, registry
from mpis import BY_NAME

SECTIONS = ["barrier", "counts", "roots", "in_place", "empty_blocks", "user_operators", "random"]


def forced_choices() -> list[str]:
    """Return values of UNISONO_ALGORITHM that together force each algorithm of each operation once.

    Algorithms with segments are cut into small ones, so that pieces, slots and windows are all in use; where
    two levels overlap they do so once as they do by themselves, and once in part.
    """
    by_operation: dict[str, list[str]] = {}
    for entry in registry():
        name = f"{entry['operation']}:{entry['name']}"
        parameters = {parameter["name"] for parameter in entry["parameters"]}
        choices = by_operation.setdefault(entry["operation"], [])
        choices.append(name + ("(segment=4K)" if "segment" in parameters else ""))
        if "overlap" in parameters:
            choices.append(name + "(segment=4K,overlap=1K)")
    rounds = max(map(len, by_operation.values()), default=0)
    return [
        ",".join(choices[turn] for choices in by_operation.values() if turn < len(choices))
        for turn in range(rounds)
    ]


CHOICES = forced_choices()


def test_the_registry_is_there():
    assert len(CHOICES) > 1, f"{TOOL} lists no algorithms: build first (make build)"


@pytest.mark.parametrize("choice", CHOICES, ids=[str(turn) for turn in range(len(CHOICES))])
@pytest.mark.parametrize(
    ("name", "ranks", "nodes"), [("openmpi5", 4, ""), ("mpich5", 5, "2,1,2"), ("intel", 8, "4x2/cyclic")]
)
def test_forced(
    request: pytest.FixtureRequest, runner: Runner, name: str, ranks: int, nodes: str, choice: str
):
    """One node, and pretended ones: what is illegal there is refused, and the results are right all the same."""
    mpi = installed(BY_NAME[name], request.config)
    command = [compile_program(mpi, "collectives"), *SECTIONS]
    environment = {"UNISONO_ALGORITHM": choice, "COLLECTIVES_NATIVE": "1"} | (
        {"UNISONO_NODES": nodes} if nodes else {}
    )
    result = runner.unisono(mpi, ranks, command, environment, timeout=120).check()
    assert result.output.startswith("OK "), str(result)
    assert "unknown" not in result.errors, str(result)
