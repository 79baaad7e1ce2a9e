# SPDX-License-Identifier: BSD-3-Clause
"""`unisono run --agents thread`: agents that are threads of the nodes' first ranks."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import time
import uuid
from pathlib import Path

import harness
import job
import pytest
from agent_jobs import Running, are_met
from harness import Cluster, Runner, compile_program
from mpis import Layout, Mpi
from test_agents import OPERATIONS, STAND_INS, calls_by_agents, with_stand_ins
from test_command import COMMAND, environment

pytestmark = [
    pytest.mark.each_library,
    pytest.mark.skipif(not harness.TOOL.is_file(), reason=f"{harness.TOOL} is not built"),
]

THREADS = [*COMMAND, "--agents", "thread"]


def agents_of_ranks(output: str) -> list[int]:
    """How many agents each rank has said that it has."""
    found = dict(re.findall(r"^rank (\d+): (\d+)$", output, re.MULTILINE))
    return [int(found[str(rank)]) for rank in range(len(found))]


def run_threads(
    mpi: Mpi, folder: Path, layout: str, how: tuple[str, str], options: tuple[str, ...] = ()
) -> job.Result:
    nodes, ranks = map(int, layout.split("x"))
    line = mpi.launch(nodes * ranks, [compile_program(mpi, "agent_threads.c"), *how])
    command = [*THREADS, "--nodes", layout, *options, "--", *line]
    return job.run(command, environment(mpi), directory=folder)


@pytest.mark.in_turns(3, 1)
@pytest.mark.parametrize("level", ["init", "0", "1", "2", "3"])
def test_each_thread_level(mpi: Mpi, tmp_path: Path, level: str) -> None:
    """The program gets the level that it asks for, at least; results are right, and nobody waits for who sleeps."""
    result = run_threads(mpi, tmp_path, "4x1", (level, "finalize"), ("--report", "r.json")).check()
    assert result.output.endswith("OK\n") and not result.survivors, str(result)
    assert agents_of_ranks(result.output) == [1, 1, 1, 1]
    assert "unisono" not in result.errors, str(result)
    assert set(calls_by_agents(tmp_path / "r.json")) == set(OPERATIONS)


@pytest.mark.in_turns(2)
def test_one_for_each_node(mpi: Mpi, tmp_path: Path) -> None:
    """The first rank has it."""
    result = run_threads(mpi, tmp_path, "2x2", ("init", "finalize")).check()
    assert result.output.endswith("OK\n") and agents_of_ranks(result.output) == [1, 0, 1, 0], str(result)


@pytest.mark.in_turns(2)
@pytest.mark.parametrize("layout", ["2x1", "2x2"])
def test_messages_in_finalize(mpi: Mpi, tmp_path: Path, layout: str) -> None:
    """They have ended before MPI_Finalize, where delete functions still send, receive and sum."""
    nodes, ranks = map(int, layout.split("x"))
    line = mpi.launch(nodes * ranks, [compile_program(mpi, "message_ends_late.c")])
    command = [*THREADS, "--nodes", layout, "--messages", "all", "--", *line]
    result = job.run(command, environment(mpi), directory=tmp_path).check()
    assert result.output == "OK\n" and not result.survivors, str(result)
    assert "unisono" not in result.errors, str(result)


@pytest.mark.in_turns(2, 1)
def test_without_unisono_run(runner: Runner, mpi: Mpi) -> None:
    program = compile_program(mpi, "agent_threads.c")
    settings = {"UNISONO_AGENTS": "thread", "UNISONO_NODES": "2x2"}
    result = runner.unisono(mpi, 4, [program, "init", "finalize"], settings).check()
    assert result.output.endswith("OK\n") and agents_of_ranks(result.output) == [1, 0, 1, 0], str(result)


@pytest.mark.in_turns(3, 1)
def test_a_single_node_has_none(mpi: Mpi, tmp_path: Path) -> None:
    result = run_threads(mpi, tmp_path, "1x2", ("init", "finalize")).check()
    assert result.output.endswith("OK\n") and agents_of_ranks(result.output) == [0, 0], str(result)
    assert "unisono" not in result.errors, str(result)


@pytest.mark.in_turns(2, 1)
def test_without_any_thread_level(mpi: Mpi, tmp_path: Path) -> None:
    line = mpi.launch(4, [compile_program(mpi, "overlap.c"), "40", "200"])
    command = [*THREADS, "--nodes", "2x2", "--report", "r.json", "--", *line]
    result = job.run(command, environment(mpi), directory=tmp_path).check()
    assert result.output.startswith("OK, left to wait: ") and not result.survivors, str(result)
    assert calls_by_agents(tmp_path / "r.json") == OPERATIONS


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("end", ["exit", "abort"])
def test_a_job_that_does_not_end_well(mpi: Mpi, tmp_path: Path, end: str) -> None:
    """A call is under way, which one rank has not made: all end at once."""
    result = run_threads(mpi, tmp_path, "2x1", ("init", end))
    assert not result.is_timed_out and not result.survivors and result.seconds < 20, str(result)
    assert end == "exit" or result.status != 0, str(result)
    assert "Segmentation" not in result.errors and "terminate called" not in result.errors, str(result)


@pytest.mark.in_turns(3, 1)
def test_a_rank_is_killed(mpi: Mpi, tmp_path: Path) -> None:
    """With calls under way: the job ends, and nothing is left."""
    program = compile_program(mpi, "many_started.c")
    mark = uuid.uuid4().hex
    with (tmp_path / "output").open("wb") as output, (tmp_path / "errors").open("wb") as errors:
        process = subprocess.Popen(
            [*THREADS, "--nodes", "2x1", "--", *mpi.launch(2, [program, "60"])],
            env={**environment(mpi), job.MARK: mark},
            cwd=tmp_path,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
        )
    running = Running(process, mark, tmp_path)
    try:
        job.wait_until(lambda: are_met(running, program, 2))
        time.sleep(0.5)
        os.kill(running.processes(program)[1], signal.SIGKILL)
        assert process.wait(20) != 0, running.errors()
        job.wait_until(running.is_over, 5)
    finally:
        process.kill()
        process.wait()
        job.sweep(mark)


@pytest.mark.in_turns(3)
def test_algorithms_and_cores(mpi: Mpi, tmp_path: Path) -> None:
    """What is said of agents holds for threads."""
    core = max(os.sched_getaffinity(0))
    options = ("--agents-on", f"cores:{core}", "--agents-algorithm", "allreduce:rabenseifner,bcast:native")
    result = run_threads(mpi, tmp_path, "4x1", ("init", "finalize"), (*options, "--report", "r.json")).check()
    assert result.output.endswith("OK\n"), str(result)
    served = json.loads((tmp_path / "r.json").read_text())["classes"]
    reasons = {row["operation"]: row["reason"] for row in served if row["algorithm"] == "agents"}
    assert reasons["allreduce"].endswith("by rabenseifner") and "bcast" not in reasons


@pytest.mark.in_turns(3, 1)
def test_cores_that_are_not_there(mpi: Mpi, tmp_path: Path) -> None:
    """The job runs without agents, and does not wait for them."""
    result = run_threads(mpi, tmp_path, "2x1", ("init", "finalize"), ("--agents-on", "cores:1000")).check()
    assert "the job runs without agents: an agent cannot run on cores 1000 of its node" in result.errors
    assert agents_of_ranks(result.output) == [0, 0] and result.seconds < 9, str(result)


@pytest.mark.in_turns(3, 1)
@pytest.mark.parametrize(("fails", "says"), [("", ""), ("init", "not by ucc: ucc_init: Out of memory")])
def test_ucc(mpi: Mpi, tmp_path: Path, fails: str, says: str) -> None:
    line = with_stand_ins(mpi.launch(2, [compile_program(mpi, "overlap.c"), "40", "200"]))
    options = ["--agents-carrier", "ucc", "--nodes", "2x1", "--report", "r.json"]
    ucc = {"LD_LIBRARY_PATH": STAND_INS, "UCC_STAND_IN_FAILS": fails}
    result = job.run(
        [*THREADS, *options, "--", *line], {**environment(mpi), **ucc}, directory=tmp_path
    ).check()
    assert result.output.startswith("OK, left to wait: ") and says in result.errors, str(result)
    assert calls_by_agents(tmp_path / "r.json") == OPERATIONS


@pytest.mark.in_turns(2, 1)
@pytest.mark.cluster
def test_between_nodes(cluster_mpi: Mpi, cluster: Cluster, tmp_path: Path) -> None:
    program = compile_program(cluster_mpi, "overlap.c")
    line = cluster_mpi.launch(3, [program, "40", "200"], {}, Layout((2, 1)))
    command = cluster.on_head([*THREADS, "--report", "r.json", "--", *line])
    result = job.run(command, environment(cluster_mpi), directory=tmp_path).check()
    assert result.output.startswith("OK, left to wait: "), str(result)
    assert calls_by_agents(tmp_path / "r.json") == OPERATIONS
