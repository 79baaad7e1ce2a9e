# SPDX-License-Identifier: BSD-3-Clause
"""A table over real MPIs: all ranks follow it, what is wrong in it is said once, and the results are right."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import harness
import mpis
import pytest
from harness import Runner, compile_program, installed

# On 2 nodes with 2 ranks each: one algorithm with parameters, one of two levels, the MPI's own; then wrong ones.
RULES: list[dict[str, Any]] = [
    {"operation": "allreduce", "bytes": [9, None], "nodes": [2, 2], "algorithm": "ring(segment=4K,window=3)"},
    {"operation": "bcast", "algorithm": "two_level_chain", "ranks_per_node": [2, 2]},
    {"operation": "alltoall", "algorithm": "native"},
    {"operation": "allgather", "nodes": [3, 4], "ranks_per_node": [2, 2], "algorithm": "bruck"},
    {"operation": "allgather", "algorithm": "frob"},
    {"operation": "barrier", "algorithm": "fused", "nodes": [2, 2]},
]


@pytest.mark.parametrize("name", ["openmpi5", "mpich5"])
def test_followed(request: pytest.FixtureRequest, runner: Runner, name: str):
    mpi = installed(mpis.BY_NAME[name], request.config)
    table, report = runner.scratch / "table.json", runner.scratch / "report.json"
    table.write_text(json.dumps({"schema": "unisono-table", "version": 1, "rules": RULES}))
    environment = {
        "UNISONO_NODES": "2x2",
        "UNISONO_TABLE": str(table),
        "UNISONO_SITE_TABLE": "",
        "UNISONO_CACHE": "",
        "UNISONO_REPORT": str(report),
        "COLLECTIVES_NATIVE": "1",
    }
    command = [compile_program(mpi, "collectives"), "counts", "in_place", "roots"]
    result = runner.unisono(mpi, 4, command, environment, timeout=120).check()
    assert result.output.startswith("OK "), str(result)
    assert result.errors.count("rule 5 is disabled: there is no algorithm 'frob' for allgather") == 1
    assert result.errors.count("rule 6 is disabled: fused needs all ranks on one node") == 1
    written = json.loads(report.read_text())
    served = [entry for entry in written["classes"] if entry["layout"] == "2x2"]
    assert {
        (entry["operation"], entry["algorithm"], entry["source"])
        for entry in served
        if entry["operation"] in ("bcast", "alltoall")
        or (entry["operation"] == "allreduce" and entry["bytes_high"] > 8 and not is_ordered(entry))
    } == {
        ("allreduce", "ring", "application table"),
        ("bcast", "two_level_chain", "application table"),
        ("alltoall", "native", "application table"),
    }
    ring = next(entry for entry in served if entry["algorithm"] == "ring")
    assert (ring["parameters"]["segment"], ring["parameters"]["window"]) == (4096, 3)
    near = [entry for entry in served if entry["operation"] == "allgather"]
    assert near and all("rule 4, tuned at 3-4x2, used at 2x2" in entry["reason"] for entry in near)
    followed = [
        (entry["choice"], row)
        for entry in explain(str(report), "allreduce")
        for row in entry["recorded"]["classes"]
        if row["algorithm"] == "ring"
    ]
    assert followed
    for choice, row in followed:
        assert choice["source"] == row["source"] == "application table"
        assert choice["reason"] == row["reason"]


def is_ordered(entry: dict[str, Any]) -> bool:
    """Whether the operator did not commute, so that the table's ring could not serve it."""
    return "needs a commutative operator" in entry["reason"]


def explain(*words: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "unisono", "explain", *words, "--json"]
    environment = {**mpis.launcher_environment(mpis.BY_NAME["openmpi5"]), "UNISONO_HOME": str(harness.BUILD)}
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert answer.returncode == 0, answer.stderr
    return json.loads(answer.stdout)
