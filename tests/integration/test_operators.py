# SPDX-License-Identifier: BSD-3-Clause
"""Reductions whose operator and type only some MPIs take together are served where the MPI takes them, with
its bits. What goes to the MPI is counted, with the reason."""

from __future__ import annotations

import json
from typing import Any

import pytest
from harness import HEADER, Runner, compile_program
from mpis import Mpi

pytestmark = pytest.mark.each_library


def run(runner: Runner, mpi: Mpi, ranks: int, *arguments: str) -> tuple[dict[str, int], dict[str, Any]]:
    """The numbers that programs/operators.c prints, and its report."""
    file = runner.scratch / "report.json"
    environment = {"UNISONO_REPORT": str(file), "UNISONO_LEARN": "off"}
    command = [compile_program(mpi, "operators.c", flags=[HEADER]), *arguments]
    result = runner.unisono(mpi, ranks, command, environment, timeout=60).check()
    lines = result.output.splitlines()
    assert lines[-1] == "OK", str(result)
    return {name: int(number) for name, number in map(str.split, lines[:-1])}, json.loads(file.read_text())


@pytest.mark.in_turns(2, 1)
def test_pairs_beyond_the_standard(mpi: Mpi, runner: Runner):
    told, report = run(runner, mpi, 3)
    assert told["SERVED"] > 30 and told["UNDEFINED"] > 10
    for operation in ("allreduce", "reduce", "scan", "exscan", "reduce_scatter", "reduce_scatter_block"):
        served = sum(
            row["calls"]
            for row in report["classes"]
            if (row["operation"], row["form"]) == (operation, "blocking") and row["algorithm"] != "native"
        )
        assert served == told["SERVED"]
    undefined = "an operator that the MPI does not apply to the datatype"
    left = {(row["operation"], row["reason"]): row["calls"] for row in report["native"]}
    assert left["scan", undefined] == told["UNDEFINED"]
    assert left["allreduce", undefined] >= 2 * told["UNDEFINED"] + 1, (
        "started ones are counted too, and one of nothing"
    )


@pytest.mark.in_turns(2)
def test_calls_that_the_mpi_has_to_judge(mpi: Mpi, runner: Runner):
    told, report = run(runner, mpi, 2, "left")
    reasons = {
        ("bcast", "arguments that"),
        ("allreduce", "arguments that"),
        ("allgather", "arguments that"),
        ("bcast", "intercommunicators"),
        ("allreduce", "intercommunicators"),
        ("scan", "Unisono was switched off"),
    }
    for operation, reason in reasons:
        (calls,) = [
            row["calls"]
            for row in report["native"]
            if row["operation"] == operation and row["reason"].startswith(reason)
        ]
        assert calls == told["LEFT"], (operation, reason)
