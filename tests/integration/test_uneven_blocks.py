# SPDX-License-Identifier: BSD-3-Clause
"""Uneven blocks of one node, in lines, through streams, by the kernel and as messages, over real MPIs."""

from __future__ import annotations

import json

import pytest
from harness import Runner, compile_program
from mpis import Mpi

OPERATIONS = ["gatherv", "scatterv", "alltoallv", "alltoallw"]

# Three channels of 4 MiB find room there, streams, which would take 4 MiB more, do not.
WITHOUT_ROOM_FOR_STREAMS = {"UNISONO_POOL_BYTES": "13M"}

WAYS = {
    "streams": {"UNISONO_SINGLE_COPY": "0"},
    "streams-and-kernel": {},
    "futex": {"UNISONO_WAIT": "futex"},
    "short-streams": {"UNISONO_SINGLE_COPY": "0", "UNISONO_CHANNEL_BYTES": "256K"},
    "kernel": WITHOUT_ROOM_FOR_STREAMS,
    "messages": {"UNISONO_SINGLE_COPY": "0"} | WITHOUT_ROOM_FOR_STREAMS,
}


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ranks", [2, 5])
def test_long_and_short_blocks(mpi: Mpi, runner: Runner, ranks: int, way: str):
    report = runner.scratch / "report.json"
    environment = WAYS[way] | {
        "UNISONO_ALGORITHM": ",".join(f"{operation}:fused" for operation in OPERATIONS),
        "UNISONO_REPORT": str(report),
    }
    command = [compile_program(mpi, "uneven_blocks.c")]
    assert runner.unisono(mpi, ranks, command, environment, timeout=90).check().output == "OK\n"
    chosen = {(e["operation"], e["algorithm"], e["calls"]) for e in json.loads(report.read_text())["classes"]}
    assert chosen >= {(operation, "fused", 15) for operation in OPERATIONS}


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("ranks", [2, 3])
def test_what_was_known_of_the_call_before(mpi: Mpi, runner: Runner, ranks: int):
    """Datatypes, operators, counts and MPI_IN_PLACE change from call to call."""
    report = runner.scratch / "report.json"
    operations = ["alltoallw", "neighbor_alltoallw", "reduce_scatter"]
    environment = {
        "UNISONO_ALGORITHM": ",".join(f"{operation}:fused" for operation in operations),
        "UNISONO_REPORT": str(report),
    }
    command = [compile_program(mpi, "like_before.c")]
    assert runner.unisono(mpi, ranks, command, environment, timeout=90).check().output == "OK\n"
    classes = json.loads(report.read_text())["classes"]
    assert {e["operation"] for e in classes if e["algorithm"] == "fused"} == set(operations)
