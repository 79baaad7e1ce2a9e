# SPDX-License-Identifier: BSD-3-Clause
"""`unisono run --agents` under real launchers: where agents run, and that nothing of them is left whoever dies."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import harness
import job
import mpis
import pytest
from agent_jobs import AGENT, WITH_AGENTS, Running, is_at_work
from harness import Cluster, compile_program
from mpis import Layout, Mpi
from test_command import COMMAND, environment

pytestmark = [
    pytest.mark.each_library,
    pytest.mark.skipif(not harness.TOOL.is_file(), reason=f"{harness.TOOL} is not built"),
]


@contextmanager
def started(mpi: Mpi, folder: Path, status: int = 0, options: Sequence[str] = ()) -> Iterator[Running]:
    """Two ranks and their agent, both at work. Whatever is left of them is killed."""
    line = mpi.launch(2, [compile_program(mpi, "lasting.c"), folder / "end", str(status)])
    mark = uuid.uuid4().hex
    temporary(folder).mkdir()
    with (folder / "output").open("wb") as output, (folder / "errors").open("wb") as errors:
        process = subprocess.Popen(
            [*WITH_AGENTS, *options, "--", *line],
            env={**environment(mpi), job.MARK: mark, "TMPDIR": str(temporary(folder))},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
        )
    running = Running(process, mark, folder)
    try:
        job.wait_until(lambda: (folder / "output").read_text() == "begun\n")
        job.wait_until(lambda: len(running.agents()) == 1 and is_at_work(running.agents()[0]))
        yield running
    finally:
        process.kill()
        process.wait()
        job.sweep(mark)


def temporary(folder: Path) -> Path:
    """Where the job's processes leave what is theirs for a while."""
    return folder / "t"


@pytest.mark.in_turns(2)
@pytest.mark.parametrize("status", [0, 3])
def test_the_job_is_as_ever(mpi: Mpi, tmp_path: Path, status: int) -> None:
    """Its output and its exit status are its own, and its agents end with it."""
    with started(mpi, tmp_path, status) as running:
        running.let_end()
        found = running.process.wait(20)
        assert (found == 0) == (status == 0), running.errors()
        job.wait_until(running.is_over, 3)
    assert (tmp_path / "output").read_text().startswith("begun\nOK\n")
    said = [line for line in running.errors().splitlines() if "unisono" in line]
    assert said == ["unisono: the job's agents have no work, as all of its ranks are on one node"], said
    assert not list(temporary(tmp_path).iterdir())


def calls_by_agents(report: Path) -> dict[str, int]:
    """How many calls of each operation agents have served."""
    counts: Counter[str] = Counter()
    for served in json.loads(report.read_text())["classes"]:
        if served["algorithm"] == "agents":
            counts[served["operation"]] += served["calls"]
    return dict(counts)


def said_of_agents(report: Path) -> tuple[int, dict[tuple[str, str], int]]:
    """How often they were started again, and how many calls they served of which operation, by which carrier."""
    said = json.loads(report.read_text())["agents"]
    return said["started_again"], {(row["carrier"], row["operation"]): row["calls"] for row in said["calls"]}


OPERATIONS = {"allreduce": 10, "bcast": 10, "reduce": 10, "barrier": 10}


def test_started_calls_go_by_agents(mpi: Mpi, tmp_path: Path) -> None:
    """Without any thread level, on two nodes of two ranks that are pretended."""
    line = mpi.launch(4, [compile_program(mpi, "overlap.c"), "40", "200"])
    options = ["--agents", "1", "--nodes", "2x2", "--report", "r.json"]
    result = job.run([*COMMAND, *options, "--", *line], environment(mpi), directory=tmp_path).check()
    assert result.output.startswith("OK, left to wait: ") and not result.survivors, str(result)
    assert calls_by_agents(tmp_path / "r.json") == OPERATIONS
    assert said_of_agents(tmp_path / "r.json") == (0, {("mpi", name): n for name, n in OPERATIONS.items()})
    # Of all ranks; now and then a result is there before the start has returned, and nobody waits for it.
    timed = json.loads((tmp_path / "r.json").read_text())["agents"]["timed"]
    assert 80 <= timed["calls"] <= 160 and timed["under_way_s"] > 0 and timed["waited_s"] >= 0, timed


# A libucc.so.1 that computes over the allgather that it is given (tests/stand_ins/ucc.cc).
STAND_INS = str(harness.BUILD / "tests/stand_ins")


def with_stand_ins(line: Sequence[str | Path]) -> list[str]:
    """Where a launcher's command line says itself where libraries are, it says so of the stand-ins too."""
    words = [str(word) for word in line]
    return [
        f"{word}:{STAND_INS}" if before == "LD_LIBRARY_PATH" else word
        for before, word in zip(["", *words], words, strict=False)
    ]


@pytest.mark.in_turns(4)
@pytest.mark.parametrize(
    ("has_ucc", "fails", "says"),
    [
        (True, "", ""),
        (False, "", "not by ucc: libucc.so.1: cannot open shared object file"),
        (True, "init", "not by ucc: ucc_init: Out of memory"),
        (True, "context@1", "not by ucc: ucc_context_create: "),
        (True, "collective_init", ""),
    ],
)
def test_ucc_between_nodes(mpi: Mpi, tmp_path: Path, has_ucc: bool, fails: str, says: str) -> None:
    """Where there is none, or it refuses, the agents' messages serve, and the user is told."""
    line = mpi.launch(2, [compile_program(mpi, "overlap.c"), "40", "200"])
    options = ["--agents", "1", "--agents-carrier", "ucc", "--nodes", "2x1", "--report", "r.json"]
    ucc = {"LD_LIBRARY_PATH": STAND_INS, "UCC_STAND_IN_FAILS": fails} if has_ucc else {}
    line = with_stand_ins(line) if has_ucc else line
    result = job.run(
        [*COMMAND, *options, "--", *line], {**environment(mpi), **ucc}, directory=tmp_path
    ).check()
    assert result.output.startswith("OK, left to wait: ") and not result.survivors, str(result)
    assert calls_by_agents(tmp_path / "r.json") == OPERATIONS
    told = [line for line in result.errors.splitlines() if "agents go by mpi between nodes" in line]
    assert len(told) == (1 if says else 0) and says in "".join(told), str(result)


@pytest.mark.in_turns(2, 1)
@pytest.mark.cluster
def test_started_calls_between_nodes(cluster_mpi: Mpi, cluster: Cluster, tmp_path: Path) -> None:
    line = cluster_mpi.launch(3, [compile_program(cluster_mpi, "overlap.c"), "40", "200"], {}, Layout((2, 1)))
    command = cluster.on_head([*WITH_AGENTS, "--report", "r.json", "--", *line])
    result = job.run(command, environment(cluster_mpi), directory=tmp_path).check()
    assert result.output.startswith("OK, left to wait: "), str(result)
    assert calls_by_agents(tmp_path / "r.json") == OPERATIONS


@pytest.mark.in_turns(2)
@pytest.mark.cluster
def test_one_on_each_node(cluster_mpi: Mpi, cluster: Cluster, tmp_path: Path) -> None:
    end = tmp_path / "end"
    program = compile_program(cluster_mpi, "lasting.c")
    line = cluster_mpi.launch(5, [program, end, "0"], {}, Layout((2, 1, 2)))
    command = cluster.on_head([*WITH_AGENTS, "--", *line])
    process = subprocess.Popen(
        command,
        env=environment(cluster_mpi),
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )

    def counts(name: str) -> list[int]:
        lines = [cluster.on_node(node, "ps", "-eo", "cmd").splitlines() for node in range(4)]
        return [sum(line.startswith(name) for line in of_node) for of_node in lines]

    try:
        job.wait_until(lambda: counts(str(AGENT)) == [1, 1, 1, 0], 40)
        job.wait_until(lambda: counts(str(program)) == [2, 1, 2, 0])
        end.touch()
        output, errors = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, output) == (0, b"begun\nOK\n"), errors.decode()
    job.wait_until(lambda: counts(str(AGENT)) == [0, 0, 0, 0])


@pytest.mark.in_turns(3, 2)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_command_is_ended(mpi: Mpi, tmp_path: Path, number: signal.Signals) -> None:
    """Job and agents end, also where the command itself can do nothing about it."""
    with started(mpi, tmp_path) as running:
        running.process.send_signal(number)
        running.process.wait(20)
        job.wait_until(running.is_over, 15)


@pytest.mark.in_turns(2)
def test_the_jobs_launcher_is_killed(mpi: Mpi, tmp_path: Path) -> None:
    with started(mpi, tmp_path) as running:
        agents = running.launcher_of_agents()
        (launcher,) = [number for number in running.launchers() if number != agents]
        os.kill(launcher, signal.SIGKILL)
        assert running.process.wait(20) == 128 + signal.SIGKILL
        job.wait_until(lambda: not running.agents(), 5)


@pytest.mark.in_turns(2)
def test_a_job_without_mpi(mpi: Mpi, tmp_path: Path) -> None:
    """It is over before its agents have begun, and does not wait for them."""
    line = mpi.launch(2, ["sh", "-c", "echo one"])
    result = job.run([*WITH_AGENTS, "--", *line], environment(mpi), directory=tmp_path).check()
    assert result.output == "one\none\n" and not result.survivors, str(result)
    assert result.seconds < 15, str(result)


@pytest.mark.in_turns(2)
def test_a_job_on_one_node(mpi: Mpi, tmp_path: Path) -> None:
    """There is no work for its agents, which one line says; where nodes are pretended there is."""
    (tmp_path / "end").touch()
    line = mpi.launch(2, [compile_program(mpi, "lasting.c"), tmp_path / "end", "0"])
    for options, said in ([], 1), (["--nodes", "2x1"], 0):
        result = job.run([*WITH_AGENTS, *options, "--", *line], environment(mpi), directory=tmp_path).check()
        assert result.output == "begun\nOK\n" and not result.survivors, str(result)
        assert result.errors.count("agents have no work, as all of its ranks are on one node") == said, str(
            result
        )


@pytest.mark.in_turns(2)
def test_agents_that_cannot_start(mpi: Mpi, tmp_path: Path) -> None:
    """The job runs without them, and does not wait for them."""
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    (home / "lib").symlink_to(harness.BUILD / "lib")
    for name in ("unisono-exec", "unisono-tool"):
        (home / "bin" / name).symlink_to(harness.BUILD / "bin" / name)
    (home / "bin/unisono-agent").write_text("#!/bin/sh\necho no agent on this host >&2\nexit 3\n")
    (home / "bin/unisono-agent").chmod(0o755)
    line = mpi.launch(2, [compile_program(mpi, "lasting.c"), tmp_path / "end", "0"])
    (tmp_path / "end").touch()
    begin = time.monotonic()
    result = job.run(
        [*WITH_AGENTS, "--agents-deadline", "60", "--", *line],
        {**environment(mpi), "UNISONO_HOME": str(home)},
        directory=tmp_path,
    ).check()
    assert result.output == "begun\nOK\n" and time.monotonic() - begin < 30, str(result)
    assert "the job runs without agents: they have ended before" in result.errors, str(result)
    assert not result.survivors, str(result)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize(
    ("layout", "words", "learn", "first_ranks", "served"),
    [
        ("2x1", ["80"], "off", 1, (63, 64)),
        # Two communicators are made at a time, on ranks of which none is in both.
        ("2x2", ["40", "pairs"], "off", 2, (62, 64)),
        # Those that take half of all places have two, one for blocking calls.
        ("2x1", ["80"], "auto", 1, (47, 49)),
    ],
    ids=["copies", "pairs", "learning"],
)
def test_more_communicators_than_agents_have_room_for(
    mpi: Mpi,
    tmp_path: Path,
    layout: str,
    words: list[str],
    learn: str,
    first_ranks: int,
    served: tuple[int, int],
) -> None:
    """Those that come too late go without agents, with right results and a message of each rank that is their first."""
    rules = {**harness.RULES_ALONE, "UNISONO_LEARN": learn}
    nodes, ranks = map(int, layout.split("x"))
    line = mpi.launch(nodes * ranks, [compile_program(mpi, "agents_many.c"), *words], rules)
    options = ["--nodes", layout, "--report", "r.json"]
    result = job.run([*WITH_AGENTS, *options, "--", *line], environment(mpi), directory=tmp_path).check()
    assert result.output == "OK\n" and not result.survivors, str(result)
    assert result.errors.count("agents have no room for a communicator") == first_ranks, str(result)
    # Each communicator that has a channel makes three calls by it.
    least, most = served
    calls = said_of_agents(tmp_path / "r.json")[1][("mpi", "allreduce")]
    assert least <= calls / 3 <= most, str(result)


@pytest.mark.parametrize("kind", ["1", "thread"])
def test_srun(tmp_path: Path, kind: str) -> None:
    """A second step of the same job of Slurm's, on as many nodes; threads need none."""
    mpi = mpis.BY_NAME["mpich5"]
    stand_in = tmp_path / "srun"
    stand_in.symlink_to(Path(__file__).with_name("srun.sh"))
    slurm = {"SLURM_JOB_ID": "7", "SLURM_JOB_NUM_NODES": "1", "SRUN_LAUNCHER": str(mpi.launcher)}
    options = ["--agents", kind, "--nodes", "2x1", "--report", "r.json", "-v"]
    command = [*COMMAND, *options, "--", stand_in, "-n", "2", compile_program(mpi, "overlap.c"), "40", "200"]
    result = job.run(command, {**environment(mpi), **slurm}, directory=tmp_path).check()
    is_beside = "beside it " in result.errors and "--overlap" in result.errors
    assert is_beside == (kind == "1"), str(result)
    assert calls_by_agents(tmp_path / "r.json") == OPERATIONS, str(result)
    assert not result.survivors, str(result)
