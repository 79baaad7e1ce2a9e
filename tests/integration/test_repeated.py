# SPDX-License-Identifier: BSD-3-Clause
"""What Unisono does when a kind of calls comes again and again: tests next to a table's entries, set-ups that pay."""

from __future__ import annotations

import json
from typing import Any

import mpis
import pytest
from harness import Runner, compile_program, installed

# Tuned with 4 ranks on a node, and used with 2.
RULES = [
    {
        "operation": operation,
        "nodes": [1, 1],
        "ranks_per_node": [4, 4],
        "bytes": [17, 65536],
        "algorithm": name,
    }
    for operation, name in (("allreduce", "ring"), ("bcast", "chain"))
]


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5", "mpich4", "mpich5", "intel"])
def test_start_up(request: pytest.FixtureRequest, runner: Runner, name: str):
    """The first job tests once for each kind, the next one goes by what it has kept."""
    mpi = installed(mpis.BY_NAME[name], request.config)
    table, report = runner.scratch / "table.json", runner.scratch / "report.json"
    table.write_text(json.dumps({"schema": "unisono-table", "version": 1, "rules": RULES}))
    environment = {
        "UNISONO_TABLE": str(table),
        "UNISONO_CACHE": str(runner.scratch / "cache"),
        "UNISONO_STARTUP_AFTER": "0",
        "UNISONO_REPORT": str(report),
    }
    command = [compile_program(mpi, "repeated.c"), "200"]
    jobs: list[list[dict[str, Any]]] = []
    for _ in range(2):
        assert runner.unisono(mpi, 2, command, environment).check().output == "OK\n"
        classes = json.loads(report.read_text())["classes"]
        jobs.append([entry for entry in classes if entry["calls"] == 200])
    tested, kept = jobs
    assert len(tested) == len(kept) == 8
    assert {entry["reason"] for entry in tested} == {"tested at the first calls of their kind"}
    assert all(entry["source"] == "learned" and "tested" in entry["reason"] for entry in kept)
    chosen = [{(e["operation"], e["bytes_high"]): e["algorithm"] for e in entries} for entries in jobs]
    assert chosen[0] == chosen[1]


@pytest.mark.parametrize("name", ["openmpi5", "mpich5", "intel"])
def test_few_calls(request: pytest.FixtureRequest, runner: Runner, name: str):
    """A duplicate's first calls go to the MPI, those of a duplicate that ends soon all do."""
    mpi = installed(mpis.BY_NAME[name], request.config)
    report = runner.scratch / "report.json"
    program = compile_program(mpi, "repeated.c")
    left: dict[int, dict[str, int]] = {}
    for calls in (2, 50):
        environment = {"UNISONO_SET_UP_AFTER": "60", "UNISONO_REPORT": str(report)}
        command = [program, str(calls), "duplicate"]
        assert runner.unisono(mpi, 2, command, environment).check().output == "OK\n"
        left[calls] = {
            entry["operation"]: entry["calls"]
            for entry in json.loads(report.read_text())["native"]
            if "set_up_after" in entry["reason"]
        }
    # 2 of each size: 16 calls, of which those of 16 KiB count for 5 each.
    assert left[2] == {"allreduce": 8, "bcast": 8}
    # Of 50 the 60th is the first that is taken.
    assert left[50] == {"allreduce": 30, "bcast": 29}
