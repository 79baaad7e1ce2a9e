# SPDX-License-Identifier: BSD-3-Clause
"""By which algorithms agents go between nodes, how they compute, and on which cores they run."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import harness
import job
import pytest
from agent_jobs import WITH_AGENTS
from harness import compile_program
from mpis import ROOT, Mpi
from test_agents import OPERATIONS, calls_by_agents, started
from test_command import environment

pytestmark = [
    pytest.mark.each_library,
    pytest.mark.skipif(not harness.TOOL.is_file(), reason=f"{harness.TOOL} is not built"),
]


def ways(report: Path) -> dict[str, str]:
    """By what the agents went between nodes, for each operation."""
    found = {}
    for served in json.loads(report.read_text())["classes"]:
        if served["algorithm"] == "agents":
            found[served["operation"]] = served["reason"].rpartition(" between nodes by ")[2]
    return found


@pytest.mark.in_turns(3, 1)
@pytest.mark.parametrize(
    "asked",
    [
        {
            "allreduce": "vector_split(splits=2,degree=3)",
            "reduce": "k_nomial(degree=4)",
            "bcast": "k_nomial(degree=3)",
        },
        {
            "allreduce": "rabenseifner",
            "reduce": "vector_split(splits=1,degree=2)",
            "bcast": "chain",
            "barrier": "binary",
        },
    ],
    ids=["trees", "others"],
)
def test_algorithms(mpi: Mpi, tmp_path: Path, asked: dict[str, str]) -> None:
    """Each of four nodes is one rank there."""
    line = mpi.launch(4, [compile_program(mpi, "overlap.c"), "40", "200"])
    words = ",".join(f"{operation}:{algorithm}" for operation, algorithm in asked.items())
    options = ["--agents-algorithm", words, "--nodes", "4x1", "--report", "r.json"]
    result = job.run([*WITH_AGENTS, *options, "--", *line], environment(mpi), directory=tmp_path).check()
    assert result.output.startswith("OK, left to wait: ") and not result.survivors, str(result)
    assert calls_by_agents(tmp_path / "r.json") == OPERATIONS
    found = ways(tmp_path / "r.json")
    assert {operation: found[operation] for operation in asked} == asked


@pytest.mark.in_turns(2)
def test_algorithms_that_do_not_serve(mpi: Mpi, tmp_path: Path) -> None:
    """What needs shared memory is refused with the reason; `native` leaves an operation to others."""
    line = mpi.launch(2, [compile_program(mpi, "overlap.c"), "40", "200"])
    options = ["--agents-algorithm", "reduce:shared,bcast:native", "--nodes", "2x1", "--report", "r.json"]
    result = job.run([*WITH_AGENTS, *options, "--", *line], environment(mpi), directory=tmp_path).check()
    assert "agents do not go by shared for reduce between 2 nodes: " in result.errors, str(result)
    assert ways(tmp_path / "r.json")["reduce"] == "binomial"
    expected = {operation: calls for operation, calls in OPERATIONS.items() if operation != "bcast"}
    assert calls_by_agents(tmp_path / "r.json") == expected


@pytest.mark.skipif(not (ROOT / ".softfloat").is_dir(), reason="tools/setup.sh could not fetch SoftFloat")
@pytest.mark.in_turns(2)
def test_without_floating_point(mpi: Mpi, tmp_path: Path) -> None:
    """The bits are the processor's."""
    found = set()
    for kind in ("hardware", "softfloat"):
        line = mpi.launch(2, [compile_program(mpi, "float_bits.c")])
        options = ["--agents-float", kind, "--nodes", "2x1", "--report", f"{kind}.json"]
        result = job.run([*WITH_AGENTS, *options, "--", *line], environment(mpi), directory=tmp_path).check()
        assert re.fullmatch("bits [0-9a-f]{16}\n", result.output), str(result)
        assert calls_by_agents(tmp_path / f"{kind}.json") == {"allreduce": 64}
        found.add(result.output)
    assert len(found) == 1


@pytest.mark.in_turns(2)
def test_cores(mpi: Mpi, tmp_path: Path) -> None:
    core = max(os.sched_getaffinity(0))
    with started(mpi, tmp_path, options=["--agents-on", f"cores:{core}"]) as running:
        (agent,) = running.agents()
        for thread in Path(f"/proc/{agent}/task").iterdir():
            assert f"Cpus_allowed_list:\t{core}\n" in (thread / "status").read_text()
        running.let_end()
        assert running.process.wait(20) == 0, running.errors()


@pytest.mark.in_turns(3)
def test_cores_that_are_not_there(mpi: Mpi, tmp_path: Path) -> None:
    """The job runs without agents, and says why."""
    line = mpi.launch(2, [compile_program(mpi, "lasting.c"), tmp_path / "end", "0"])
    (tmp_path / "end").touch()
    options = ["--agents-on", "cores:1000", "--agents-deadline", "2"]
    result = job.run([*WITH_AGENTS, *options, "--", *line], environment(mpi), directory=tmp_path).check()
    assert result.output == "begun\nOK\n", str(result)
    own = f"it has {min(os.sched_getaffinity(0))}"
    assert f"an agent cannot run on cores 1000 of its node: {own}" in result.errors, str(result)
