# SPDX-License-Identifier: BSD-3-Clause
"""Reproducible reductions: one hash of all bits for a number of ranks, over MPIs, layouts, algorithms and segments."""

from __future__ import annotations

import json
import re
import subprocess
from functools import cache
from itertools import zip_longest

import pytest
from harness import TOOL, Runner, compile_program, installed
from mpis import ALL, BY_NAME, Mpi

ON = {"UNISONO_REPRODUCIBLE": "1"}
TIMEOUT = 100
REDUCTIONS = ["reduce", "allreduce", "reduce_scatter_block", "reduce_scatter", "scan", "exscan"]
LAYOUTS = {4: ["2,2", "1,3", "4x1"], 5: ["3,2", "5x1"], 8: ["4x2", "2x4", "2x4/cyclic", "1,3,4", "8x1"]}


def outcomes(
    runner: Runner, mpi: Mpi, ranks: int, environment: dict[str, str], *runs: str
) -> list[tuple[str, int]]:
    """Return of each run of one job the hash of all results, and how many elements of sums are not what the documented order gives."""
    command = [compile_program(mpi, "reproducible.c"), *runs]
    if environment.get("NATIVE"):
        result = runner.run(mpi, ranks, command, timeout=TIMEOUT).check()
    else:
        result = runner.unisono(mpi, ranks, command, environment, timeout=TIMEOUT).check()
    found = re.findall(r"HASH (\w+) DIFFERENCES (\d+)", result.output)
    assert len(found) == len(runs), str(result)
    return [(hashed, int(differences)) for hashed, differences in found]


def outcome(
    runner: Runner, mpi: Mpi, ranks: int, environment: dict[str, str], how: str = "plain"
) -> tuple[str, int]:
    return outcomes(runner, mpi, ranks, environment, how)[0]


@cache
def algorithms() -> list[dict]:
    """Return the descriptors of all reductions, as the tool lists them."""
    listed = json.loads(subprocess.run([TOOL, "list"], check=True, capture_output=True, text=True).stdout)
    return [entry for entry in listed if entry["operation"] in REDUCTIONS]


@pytest.mark.dear
@pytest.mark.in_turns(2)
@pytest.mark.parametrize("ranks", [2, 3, 4, 7])
def test_same_bits_under_all_mpis(request: pytest.FixtureRequest, runner: Runner, ranks: int):
    hashes = {}
    for mpi in ALL:
        hashes[mpi.name], differences = outcome(runner, installed(mpi, request.config), ranks, ON)
        assert differences == 0, mpi.name
    assert len(set(hashes.values())) == 1, hashes


@pytest.mark.dear
@pytest.mark.in_turns(4)
@pytest.mark.parametrize("name", ["openmpi5", "mpich5"])
@pytest.mark.parametrize("ranks", LAYOUTS)
def test_same_bits_on_all_layouts(request: pytest.FixtureRequest, runner: Runner, ranks: int, name: str):
    mpi = installed(BY_NAME[name], request.config)
    how = "plain" if ranks < 8 else "short"
    settings = {"one node": {}} | {layout: {"UNISONO_NODES": layout} for layout in LAYOUTS[ranks]}
    settings["no shared memory"] = {"UNISONO_SHARED_MEMORY": "0"}
    settings["small channels"] = {"UNISONO_CHANNEL_BYTES": "64K"}
    hashes = {setting: outcome(runner, mpi, ranks, ON | values, how) for setting, values in settings.items()}
    assert {differences for _, differences in hashes.values()} == {0}, hashes
    assert len(set(hashes.values())) == 1, hashes


def forced(entry: dict) -> str:
    has_segment = any(parameter["name"] == "segment" for parameter in entry["parameters"])
    return f"{entry['operation']}:{entry['name']}" + ("(segment=4K)" if has_segment else "")


@pytest.mark.parametrize("nodes", ["", "2,2"])
def test_same_bits_whatever_is_forced(request: pytest.FixtureRequest, runner: Runner, nodes: str):
    """Every reproducible algorithm, one of each operation at a time; and others, whose refusal must not show."""
    mpi = installed(BY_NAME["openmpi5"], request.config)
    environment = {**ON, "UNISONO_LOG": "quiet", **({"UNISONO_NODES": nodes} if nodes else {})}
    of_operations = [
        [
            forced(entry)
            for entry in algorithms()
            if entry["operation"] == operation
            and entry["reproducible"]
            and entry["levels"] == (2 if nodes else 1)
        ]
        for operation in REDUCTIONS
    ]
    choices = [",".join(filter(None, together)) for together in zip_longest(*of_operations)]
    choices += ["all:native", "all:ring", "allreduce:rab2_ring_direct_ring,reduce:chain"]
    found = outcomes(runner, mpi, 4, environment, *(f"force={choice}" for choice in choices))
    hashes = dict(zip(choices, found, strict=True))
    assert len(set(hashes.values())) == 1, hashes


@pytest.mark.dear
@pytest.mark.in_turns(3)
def test_info_key(mpi: Mpi, runner: Runner):
    """The key on a communicator is enough, under every MPI; without it the bits are others."""
    (_, without), (_, by_hint), (_, by_set) = outcomes(runner, mpi, 4, {}, "plain", "hint", "set")
    assert without > 0 and by_hint == 0 and by_set == 0


@pytest.mark.in_turns(3)
def test_otherwise_bits_differ(mpi: Mpi, runner: Runner):
    """The inputs tell orders apart: natively every MPI gives other bits than the one order for some call."""
    assert outcome(runner, mpi, 8, {"NATIVE": "1"}, "apart")[1] > 0
