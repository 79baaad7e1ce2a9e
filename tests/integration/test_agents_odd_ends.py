# SPDX-License-Identifier: BSD-3-Clause
"""Agents of programs that do not end in MPI_Finalize, and agents that stand still for a while."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import harness
import job
import pytest
from agent_jobs import WITH_AGENTS, calling
from harness import compile_program
from mpis import Mpi
from test_agents import calls_by_agents
from test_command import COMMAND, environment

pytestmark = [
    pytest.mark.each_library,
    pytest.mark.skipif(not harness.TOOL.is_file(), reason=f"{harness.TOOL} is not built"),
]


@pytest.mark.in_turns(2)
@pytest.mark.parametrize("how", ["return", "exit", "abort", "under_way"])
def test_without_finalize(mpi: Mpi, tmp_path: Path, how: str) -> None:
    """Whatever the launcher makes of it: agents end with the job, and nobody starts them again."""
    line = mpi.launch(2, [compile_program(mpi, "odd_ends.c"), how])
    options = ["--nodes", "2x1", "--agents-deadline", "30"]
    result = job.run([*WITH_AGENTS, *options, "--", *line], environment(mpi), directory=tmp_path)
    assert result.output.startswith("OK\n") and not result.survivors, str(result)
    assert "runs without agents" not in result.errors and "started again" not in result.errors, str(result)
    assert how != "abort" or result.status != 0, str(result)
    assert result.seconds < 25, str(result)


@pytest.mark.dear
@pytest.mark.in_turns(2)
def test_ranks_end_before_their_launcher(mpi: Mpi, tmp_path: Path) -> None:
    """With a call under way on one rank: what its agent has sent nobody receives. They have not died."""
    program = compile_program(mpi, "odd_ends.c")
    line = mpi.launch(2, ["sh", "-c", f"{program} under_way; exec sleep 3"])
    result = job.run(
        [*WITH_AGENTS, "--nodes", "2x1", "--", *line], environment(mpi), directory=tmp_path, timeout=60
    )
    assert result.output.startswith("OK\n") and not result.survivors, str(result)
    assert "agents" not in result.errors, str(result)


@pytest.mark.in_turns(2)
@pytest.mark.parametrize("kind", ["1", "thread"])
def test_calls_under_way_in_finalize(mpi: Mpi, tmp_path: Path, kind: str) -> None:
    """Delete functions of MPI_COMM_SELF's attributes wait for them."""
    line = mpi.launch(4, [compile_program(mpi, "started_ends_late.c")])
    options = ["--agents", kind, "--nodes", "2x2", "--report", "r.json"]
    result = job.run([*COMMAND, *options, "--", *line], environment(mpi), directory=tmp_path).check()
    assert result.output == "OK\n" and not result.survivors, str(result)
    assert "unisono" not in result.errors, str(result)
    assert "allreduce" in calls_by_agents(tmp_path / "r.json"), str(result)


@pytest.mark.dear
@pytest.mark.in_turns(2)
def test_an_agent_stands_still(mpi: Mpi, tmp_path: Path) -> None:
    """Its calls wait for it, nobody takes it for dead, and all results are right."""
    with calling(mpi, tmp_path, 6) as running:
        agent = running.agents()[0]
        os.kill(agent, signal.SIGSTOP)
        time.sleep(3)
        os.kill(agent, signal.SIGCONT)
        assert running.process.wait(40) == 0, running.errors()
        job.wait_until(running.is_over, 5)
    assert (tmp_path / "output").read_text().startswith("OK, "), running.errors()
    assert "started again" not in running.errors(), running.errors()
