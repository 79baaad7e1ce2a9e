# SPDX-License-Identifier: BSD-3-Clause
"""Blocking calls by agents under real launchers: right where they are forced, whoever dies, and tried by learning."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

import harness
import job
import pytest
from agent_jobs import WITH_AGENTS, calling
from harness import Cluster, compile_program
from mpis import Layout, Mpi
from test_agents_again import kill_agents
from test_command import COMMAND, environment

pytestmark = [
    pytest.mark.each_library,
    pytest.mark.skipif(not harness.TOOL.is_file(), reason=f"{harness.TOOL} is not built"),
]

SERVED = ("allreduce", "barrier", "bcast", "reduce")
FORCED = ["--algorithm", ",".join(f"{operation}:agents" for operation in SERVED)]
PROGRAM = "agents_blocking.c"


def read(report: Path) -> Any:
    return json.loads(report.read_text())


def blocking_by_agents(report: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    for row in read(report)["classes"]:
        if (row["algorithm"], row["form"]) == ("agents", "blocking"):
            counts[row["operation"]] += row["calls"]
    return counts


@pytest.mark.in_turns(2, 1)
@pytest.mark.parametrize("kind", ["1", "thread"])
def test_forced(mpi: Mpi, tmp_path: Path, kind: str) -> None:
    """Of all operators, types, lengths and roots, with started calls under way; what they do not serve is right too."""
    line = mpi.launch(4, [compile_program(mpi, PROGRAM), "0"])
    options = ["--agents", kind, "--nodes", "2x2", "--report", "r.json", *FORCED]
    result = job.run([*COMMAND, *options, "--", *line], environment(mpi), directory=tmp_path).check()
    assert result.output == "OK, 400 calls\n" and not result.survivors, str(result)
    counts = blocking_by_agents(tmp_path / "r.json")
    # One call in forty rounds asks whether to go on.
    assert counts == {"allreduce": 160, "reduce": 160, "barrier": 40, "bcast": 41}
    reasons = {row["reason"] for row in read(tmp_path / "r.json")["classes"] if row["algorithm"] != "agents"}
    assert any("its operator or its type is none that they compute with" in reason for reason in reasons)


@pytest.mark.dear
@pytest.mark.in_turns(3, 2)
@pytest.mark.parametrize("layout", ["2x1", "2x2"])
def test_an_agent_dies(mpi: Mpi, tmp_path: Path, layout: str) -> None:
    """Twice, with calls that wait for it: others take over, and each result is right."""
    options = ["--report", "r.json", *FORCED]
    with calling(mpi, tmp_path, 4, layout, options, source=PROGRAM) as running:
        for pause in (0.3, 0.7):
            time.sleep(pause)
            kill_agents(running, "agent")
        assert running.process.wait(60) == 0, running.errors()
        job.wait_until(running.is_over, 5)
    assert (tmp_path / "output").read_text().startswith("OK, "), running.errors()
    assert read(tmp_path / "r.json")["agents"]["started_again"] == 2
    assert blocking_by_agents(tmp_path / "r.json")["barrier"] > 0


@pytest.mark.in_turns(3)
def test_learning(mpi: Mpi, tmp_path: Path) -> None:
    """Agents are tried as other algorithms are, and serve only where they were about as fast as the fastest."""
    line = mpi.launch(2, [compile_program(mpi, PROGRAM), "1"])
    options = ["--nodes", "2x1", "--report", "r.json", "--learn", "star", "--learn-iterations", "5"]
    result = job.run([*WITH_AGENTS, *options, "--", *line], environment(mpi), directory=tmp_path).check()
    assert result.output.startswith("OK, ") and not result.survivors, str(result)
    tried = {}
    for learned in read(tmp_path / "r.json")["learning"]:
        times = {
            row["algorithm"]: row
            for row in learned["candidates"]
            if row["measured_calls"] >= 5 and row["time_s"]
        }
        if "agents" in times:
            tried[learned["operation"]] = learned["chosen"]
            least = min(row["time_s"] for row in times.values())
            assert learned["chosen"] != "agents" or times["agents"]["time_s"] <= 1.5 * least
    assert set(tried) <= set(SERVED) and "barrier" in tried, str(result)


@pytest.mark.in_turns(2)
@pytest.mark.cluster
def test_between_nodes(cluster_mpi: Mpi, cluster: Cluster, tmp_path: Path) -> None:
    line = cluster_mpi.launch(3, [compile_program(cluster_mpi, PROGRAM), "0"], {}, Layout((2, 1)))
    command = cluster.on_head([*WITH_AGENTS, *FORCED, "--report", "r.json", "--", *line])
    result = job.run(command, environment(cluster_mpi), directory=tmp_path).check()
    assert result.output == "OK, 400 calls\n", str(result)
    assert blocking_by_agents(tmp_path / "r.json")["barrier"] == 40
