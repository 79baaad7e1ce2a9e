# SPDX-License-Identifier: BSD-3-Clause
"""What MPI promises of starts, ends and errors of the program's own: under Unisono as natively."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import Runner, compile_program
from mpis import Mpi
from test_errors import lines_of


def same_lines(mpi: Mpi, runner: Runner, command: list[str | Path], flags: list[str]) -> list[str]:
    """Run natively and under Unisono; return what both have said."""
    command = [compile_program(mpi, command[0], flags=flags), *command[1:]]
    native = runner.run(mpi, 2, command, timeout=60).check()
    result = runner.unisono(mpi, 2, command, timeout=60).check()
    assert lines_of(result.output) == lines_of(native.output), f"natively: {native}\n{result}"
    return lines_of(result.output)


@pytest.mark.in_turns(2, 1)
def test_error_classes_and_codes_of_the_program(mpi: Mpi, runner: Runner):
    """They are added, raised, handled and removed; handlers of sessions serve before MPI_Init."""
    assert same_lines(mpi, runner, ["user_errors.c"], [])[-1] == "OK"


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("level", ["funneled", "serialized"])
def test_start_threads_and_end(mpi: Mpi, runner: Runner, level: str):
    """States before and after; threads below MPI_THREAD_MULTIPLE; attributes of MPI_COMM_SELF go in reverse order."""
    said = same_lines(mpi, runner, ["start_and_end.c", level], ["-pthread"])
    assert said == ["provided: at least what was asked for", "OK"]


LATE = {
    "node": {},
    "nodes": {"UNISONO_NODES": "2x2"},
    "messages": {"UNISONO_MESSAGES": "node"},
    "threads": {"UNISONO_AGENTS": "thread", "UNISONO_NODES": "2x2"},
}


@pytest.mark.in_turns(4)
@pytest.mark.parametrize("level", [[], ["multiple"]], ids=["single", "multiple"])
@pytest.mark.parametrize("kind", LATE)
def test_calls_under_way_in_finalize(mpi: Mpi, runner: Runner, kind: str, level: list[str]):
    """Delete functions of MPI_COMM_SELF's attributes wait for them, and begin others; no rank waits for another one."""
    command = [compile_program(mpi, "started_ends_late.c"), *level]
    assert runner.run(mpi, 4, command, timeout=60).check().output == "OK\n"
    result = runner.unisono(mpi, 4, command, LATE[kind], timeout=60).check()
    assert result.output == "OK\n" and "unisono" not in result.errors, str(result)


@pytest.mark.in_turns(4, 1)
@pytest.mark.parametrize("way", ["start_and_end.c inside", "start_and_end.c outside", "user_errors.c fatal"])
def test_the_whole_job_ends(mpi: Mpi, runner: Runner, way: str):
    """By MPI_Abort, in an operator too, or by an error under the handler that aborts: as natively, and nothing stays."""
    source, mode = way.split(" ")
    command = [compile_program(mpi, source, flags=["-pthread"]), mode]
    before = set(Path("/dev/shm").iterdir())
    native = runner.run(mpi, 3, command, timeout=60)
    result = runner.unisono(mpi, 3, command, timeout=60)
    assert native.status != 0 != result.status, f"natively: {native}\n{result}"
    # Of several ranks that abort by errors each has a code of its own, which changes from run to run.
    if mode == "outside":
        assert native.status == result.status, f"natively: {native}\n{result}"
    assert "went on" not in result.output and "wrong" not in result.errors, str(result)
    assert not result.is_timed_out and not result.survivors, str(result)
    assert not [path for path in set(Path("/dev/shm").iterdir()) - before if "unisono" in path.name.lower()]
