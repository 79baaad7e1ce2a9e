# SPDX-License-Identifier: BSD-3-Clause
"""Agents die with calls under way: they are started again, and take over; nothing is lost, wrong or left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import harness
import job
import pytest
from agent_jobs import WITH_AGENTS, Running, calling, is_at_work
from harness import Cluster, compile_program
from mpis import Layout, Mpi
from test_agents import started
from test_command import environment

pytestmark = [
    pytest.mark.each_library,
    pytest.mark.skipif(not harness.TOOL.is_file(), reason=f"{harness.TOOL} is not built"),
]


def kill_agents(running: Running, victim: str) -> None:
    """One of them, or their launcher; returns when others are there."""
    before = set(running.agents())
    process = min(before) if victim == "agent" else running.launcher_of_agents()
    os.kill(process, signal.SIGKILL)

    def are_back() -> bool:
        now = set(running.agents())
        with suppress(OSError):
            return len(now) == len(before) and not now & before and all(map(is_at_work, now))
        return False

    job.wait_until(are_back, 15)


@pytest.mark.in_turns(4)
@pytest.mark.parametrize(("layout", "victim"), [("2x1", "agent"), ("2x2", "agent"), ("2x1", "launcher")])
def test_calls_go_on(mpi: Mpi, tmp_path: Path, layout: str, victim: str) -> None:
    """Twice in a job. Each result is right, and the user is told."""
    with calling(mpi, tmp_path, 4, layout, ["--report", "r.json"]) as running:
        for pause in (0.3, 0.7):
            time.sleep(pause)
            kill_agents(running, victim)
        assert running.process.wait(60) == 0, running.errors()
        job.wait_until(running.is_over, 5)
    assert (tmp_path / "output").read_text().startswith("OK, "), running.errors()
    for number in (1, 2):
        assert f"take over what was under way ({number} of 5 times)" in running.errors()
    # On a busy machine agents whose launcher was killed may end once more.
    most = 2 if victim == "agent" else 3
    assert 2 <= json.loads((tmp_path / "r.json").read_text())["agents"]["started_again"] <= most, (
        running.errors()
    )


@pytest.mark.dear
@pytest.mark.in_turns(4, 1)
@pytest.mark.parametrize("signals", ["", "trap '' TERM; "])
def test_a_launcher_that_does_not_end(mpi: Mpi, tmp_path: Path, signals: str) -> None:
    """It is ended where an agent of this host has died, at worst by SIGKILL, and agents are started again."""
    launcher = tmp_path / mpi.launcher.name
    launcher.write_text(f'#!/bin/sh\n"{mpi.launcher}" "$@" && exit\n{signals}exec sleep 1000\n')
    launcher.chmod(0o755)
    with calling(mpi, tmp_path, 6, launcher=launcher) as running:
        kill_agents(running, "agent")
        assert running.process.wait(60) == 0, running.errors()
        job.wait_until(running.is_over, 5)
    assert (tmp_path / "output").read_text().startswith("OK, "), running.errors()
    assert f"one of this host is gone, and {launcher} did not end" in running.errors(), running.errors()


@pytest.mark.in_turns(3, 1)
def test_ranks_that_have_no_calls(mpi: Mpi, tmp_path: Path) -> None:
    """New agents live as long as they."""
    with started(mpi, tmp_path) as running:
        kill_agents(running, "agent")
        time.sleep(1)
        assert len(running.agents()) == 1, running.errors()
        running.let_end()
        assert running.process.wait(20) == 0, running.errors()
        job.wait_until(running.is_over, 5)


@pytest.mark.dear
@pytest.mark.in_turns(5)
def test_they_die_too_often(mpi: Mpi, tmp_path: Path) -> None:
    """Then calls that wait for them end the job: ranks of this host hear that no others come."""
    with calling(mpi, tmp_path, 60, options=["--agents-deadline", "20"]) as running:
        for _ in range(5):
            kill_agents(running, "agent")
            time.sleep(0.2)
        os.kill(running.agents()[0], signal.SIGKILL)
        assert running.process.wait(30) != 0, running.errors()
        job.wait_until(running.is_over, 5)
    assert "the job's agents are gone" in running.errors(), running.errors()
    assert "the agent of this node has died" in running.errors(), running.errors()


@pytest.mark.in_turns(3)
def test_a_rank_is_killed(mpi: Mpi, tmp_path: Path) -> None:
    """The agents end, and are not started again."""
    with calling(mpi, tmp_path, 60) as running:
        time.sleep(0.5)
        os.kill(running.processes(compile_program(mpi, "many_started.c"))[0], signal.SIGKILL)
        assert running.process.wait(20) != 0, running.errors()
        job.wait_until(lambda: not running.agents(), 2)
        job.wait_until(running.is_over, 5)
    assert "started again" not in running.errors(), running.errors()


@pytest.mark.dear
@pytest.mark.in_turns(2)
@pytest.mark.cluster
def test_calls_between_nodes_go_on(cluster_mpi: Mpi, cluster: Cluster, tmp_path: Path) -> None:
    """On a cluster, where each node has processes of its own."""
    program = compile_program(cluster_mpi, "many_started.c")
    line = cluster_mpi.launch(3, [program, "4"], {}, Layout((2, 1)))
    process = subprocess.Popen(
        cluster.on_head([*WITH_AGENTS, "--", *line]),
        env=environment(cluster_mpi),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        find = "grep -l unisono-agent- /proc/[0-9]*/maps | wc -l"
        job.wait_until(lambda: int(cluster.on_node(1, "sh", "-c", find)) == 2, 40)
        time.sleep(0.5)
        cluster.on_node(1, "sh", "-c", "kill -9 $(pgrep -x unisono-agent)")
        output, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0 and output.startswith(b"OK, "), errors.decode()
    assert b"take over what was under way (1 of 5 times)" in errors, errors.decode()
