# SPDX-License-Identifier: BSD-3-Clause
"""Requests of calls that agents go on with, in each way in which MPI completes them, among those of messages."""

from __future__ import annotations

from pathlib import Path

import harness
import job
import pytest
from agent_jobs import WITH_AGENTS
from harness import compile_program
from mpis import Mpi
from test_agents import calls_by_agents
from test_command import COMMAND, environment

pytestmark = [
    pytest.mark.each_library,
    pytest.mark.skipif(not harness.TOOL.is_file(), reason=f"{harness.TOOL} is not built"),
]

AGENTS = {"processes": WITH_AGENTS, "threads": [*COMMAND, "--agents", "thread"]}


@pytest.mark.in_turns(3, 1)
@pytest.mark.parametrize("messages", ["off", "node"])
@pytest.mark.parametrize("kind", list(AGENTS))
@pytest.mark.parametrize("layout", ["2x1", "2x2"])
def test_in_each_way(mpi: Mpi, tmp_path: Path, layout: str, kind: str, messages: str) -> None:
    """Each ends once, with its result, and what has ended is the program's from then on."""
    nodes, ranks = map(int, layout.split("x"))
    line = mpi.launch(nodes * ranks, [compile_program(mpi, "agent_requests.c"), "300"])
    options = ["--nodes", layout, "--messages", messages, "--report", "r.json"]
    result = job.run([*AGENTS[kind], *options, "--", *line], environment(mpi), directory=tmp_path).check()
    assert result.output == "OK\n" and not result.survivors, str(result)
    assert "unisono" not in result.errors, str(result)
    assert set(calls_by_agents(tmp_path / "r.json")) == {"allreduce", "bcast", "barrier"}
