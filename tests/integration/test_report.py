# SPDX-License-Identifier: BSD-3-Clause
"""What a report says of a run is what the run did."""

from __future__ import annotations

import json
from typing import Any

import pytest
from harness import Cluster, Runner, compile_program
from job import Result
from mpis import BY_NAME, Layout, Mpi

pytestmark = pytest.mark.each_library


def reported(
    runner: Runner, mpi: Mpi, what: str, ranks: int = 2, **settings: Any
) -> tuple[Result, dict[str, Any]]:
    """Run programs/report.c; its output and its report."""
    file = runner.scratch / "report.json"
    environment = {"UNISONO_REPORT": str(file), **settings.pop("environment", {})}
    command = [compile_program(mpi, "report.c"), what]
    result = runner.unisono(mpi, ranks, command, environment, **settings).check()
    return result, json.loads(file.read_text())


def rows(report: dict[str, Any], operation: str) -> list[dict[str, Any]]:
    return [row for row in report["classes"] if row["operation"] == operation]


@pytest.mark.in_turns(2)
def test_a_rank_that_comes_late(mpi: Mpi, runner: Runner):
    """Most of these calls are not timed, but the time that a rank waits in them is all there, once."""
    result, report = reported(runner, mpi, "late")
    inside_s = float(result.output.split()[1])
    told = report["collective_time_s"]
    assert told["max"] <= report["wall_s"]
    assert 0.5 * inside_s < told["max"] + told["error"] and told["max"] - told["error"] < 1.5 * inside_s


@pytest.mark.in_turns(2, 1)
def test_calls_under_way_together(mpi: Mpi, runner: Runner):
    _, report = reported(runner, mpi, "overlapping")
    assert report["under_way_time_s"]["max"] <= report["wall_s"]
    assert report["collective_time_s"]["max"] < report["under_way_time_s"]["max"], "the wait is no collective"


@pytest.mark.in_turns(2, 1)
def test_starts_of_persistent_calls(mpi: Mpi, runner: Runner):
    _, report = reported(runner, mpi, "persistent")
    for operation in ("allreduce", "gatherv"):
        (row,) = [row for row in rows(report, operation) if row["form"] == "persistent"]
        assert row["calls"] == 50


@pytest.mark.in_turns(2)
@pytest.mark.parametrize("operation", ["allreduce", "gatherv"])
def test_starts_of_persistent_calls_that_are_left_to_the_mpi(mpi: Mpi, runner: Runner, operation: str):
    environment = {"UNISONO_ALGORITHM": f"{operation}:native"}
    _, report = reported(runner, mpi, "persistent", environment=environment)
    (row,) = [row for row in rows(report, operation) if row["form"] == "persistent"]
    assert (row["calls"], row["algorithm"]) == (50, "native")


@pytest.mark.in_turns(2)
def test_checks(mpi: Mpi, runner: Runner):
    _, report = reported(runner, mpi, "started", environment={"UNISONO_VERIFY": "sample:4"})
    assert sum(row["checks"] for row in rows(report, "allreduce")) == 5
    assert sum(row["mismatches"] for row in rows(report, "allreduce")) == 0


@pytest.mark.in_turns(2)
@pytest.mark.cluster
def test_messages_that_cannot_go_on(cluster_mpi: Mpi, runner: Runner, cluster: Cluster):
    """Without MPI_THREAD_MULTIPLE, between nodes."""
    layout = Layout((2, 2))
    _, report = reported(runner, cluster_mpi, "started", ranks=4, cluster=cluster, layout=layout)
    (row,) = rows(report, "allreduce")
    assert row["algorithm"] == "native" and "MPI_THREAD_MULTIPLE" in row["reason"]
    assert any("--progress everywhere" in hint for hint in report["hints"])
    environment = {"UNISONO_PROGRESS": "everywhere"}
    _, report = reported(
        runner, cluster_mpi, "started", ranks=4, cluster=cluster, layout=layout, environment=environment
    )
    assert rows(report, "allreduce")[0]["algorithm"] != "native" and report["hints"] == []


@pytest.mark.parametrize("name", ["openmpi4", "openmpi5", "mpich4", "mpich5", "intel"])
def test_cancelling(runner: Runner, name: str):
    """Is an error as it is natively: in the eyes of the same error handler, while the call goes on."""
    command = [compile_program(BY_NAME[name], "cancel.c")]
    natively = runner.run(BY_NAME[name], 2, command).check().output
    ours = runner.unisono(BY_NAME[name], 2, command).check().output
    assert ours.split(", ", 1)[1] == natively.split(", ", 1)[1]
    # MPICH 4 and Intel call a request that they cannot cancel another kind of error than one that is none.
    known = {"MPI_ERR_REQUEST", "another error"}
    assert ours.split(", ")[0] in (known if natively.split(", ")[0] in known else {natively.split(", ")[0]})


@pytest.mark.dear
@pytest.mark.in_turns(3, 1)
def test_a_misspelt_info_key(mpi: Mpi, runner: Runner):
    program = compile_program(mpi, "reproducible.c")
    for value, is_told in (("TRUE", False), ("maybe", True)):
        result = runner.unisono(mpi, 2, [program, f"hint={value}"], timeout=100).check()
        assert ("info key unisono_reproducible has the value 'maybe'" in result.errors) == is_told


@pytest.mark.in_turns(3)
def test_an_old_report_goes_where_no_new_one_comes(mpi: Mpi, runner: Runner):
    """Without `unisono run` as well. What is no report stays until the job's end."""
    old, letter = runner.scratch / "report.json", runner.scratch / "letter.json"
    reported(runner, mpi, "late")
    letter.write_text("Dear Sir")
    command = [compile_program(mpi, "profile.c"), str(runner.scratch / "written"), "abort"]
    for file in (old, letter):
        assert file.exists()
        assert runner.unisono(mpi, 2, command, {"UNISONO_REPORT": str(file)}).status != 0
    assert not old.exists() and letter.exists()
