# SPDX-License-Identifier: BSD-3-Clause
"""Errors, and the ends of communicators and of the world: a program ends under Unisono as it does without it."""

from __future__ import annotations

import pytest
from harness import HEADER, Runner, compile_program, installed
from mpis import BY_NAME, Mpi


def lines_of(output: str) -> list[str]:
    """Return what the program itself has said: UCX complains of messages that nobody came for."""
    return [line for line in output.splitlines() if line and "UCX" not in line]


@pytest.mark.in_turns(2, 1)
def test_errors_as_natively(mpi: Mpi, runner: Runner):
    """What the MPI rejects on a rank is rejected there, of the same class; whoever goes on natively does so."""
    # MPICH 4 aborts where it should reject an operator on a type.
    modes = ["aliases", "uncommitted", *(["pairs"] if mpi.name != "mpich4" else []), "alone"]
    # Intel MPI stands still after a gatherv that its root has rejected.
    modes += ["blocks"] if mpi.family != "intel" else []
    # Open MPI does not look whether there is a buffer.
    modes += ["nowhere"] if mpi.family == "mpich" else []
    command = [compile_program(mpi, "errors.c"), *modes]
    native = runner.run(mpi, 2, command, timeout=60).check()
    result = runner.unisono(mpi, 2, command, timeout=60)
    assert lines_of(result.check().output) == lines_of(native.output), f"natively: {native}\n{result}"
    assert lines_of(native.output)[-1] == "OK", str(native)


@pytest.mark.in_turns(3)
def test_failures_of_several_requests(mpi: Mpi, runner: Runner):
    """Calls that have failed behind requests, beside the MPI's own failures, in all functions that complete requests."""
    # By messages, so that the call fails when the data come, as the MPI's own.
    environment = {"UNISONO_NODES": "1,1", "UNISONO_PROGRESS": "calls"}
    environment["UNISONO_ALGORITHM"] = "bcast:binomial,allreduce:recursive_doubling"
    result = runner.unisono(mpi, 2, [compile_program(mpi, "completions.c")], environment, timeout=60)
    assert lines_of(result.check().output) == ["OK"], str(result)


def test_error_handlers_of_the_program(mpi: Mpi, runner: Runner):
    """Their collectives are the program's, and they may leave by longjmp."""
    result = runner.unisono(mpi, 2, [compile_program(mpi, "errors.c"), "handlers"], timeout=60)
    assert lines_of(result.check().output) == ["OK"], str(result)


@pytest.mark.in_turns(4, 2)
@pytest.mark.parametrize("messages", ["off", "node"])
@pytest.mark.parametrize("set_up_after", ["0", "8"])
def test_ends_of_communicators(mpi: Mpi, runner: Runner, set_up_after: str, messages: str):
    if mpi.name == "intel" and messages == "node":
        pytest.skip("Intel MPI forgets callbacks behind calls that do not block, natively too")
    # Open MPI hangs natively where a delete callback uses its datatype, or frees another communicator.
    mode = "plain" if mpi.family.startswith("openmpi") else "nested"
    command = [compile_program(mpi, "communicator_ends.c"), mode]
    settings = {"UNISONO_SET_UP_AFTER": set_up_after, "UNISONO_MESSAGES": messages}
    result = runner.unisono(mpi, 3, command, settings, timeout=60)
    assert lines_of(result.check().output) == ["OK"], str(result)


@pytest.mark.parametrize("name", ["openmpi5"])
def test_communicators_that_are_revoked(request: pytest.FixtureRequest, runner: Runner, name: str):
    """Their set-up, which comes with the first call here, waits for nothing that never ends."""
    mpi = installed(BY_NAME[name], request.config)
    command = [compile_program(mpi, "revoked.c")]
    assert runner.run(mpi, 2, command, timeout=60).check().output == "OK\n"
    assert runner.unisono(mpi, 2, command, timeout=60).check().output == "OK\n"


def test_sessions_go_on_behind_finalize(mpi: Mpi, runner: Runner):
    result = runner.unisono(mpi, 2, [compile_program(mpi, "sessions.c")], timeout=60).check()
    if set(lines_of(result.output)) == {"SKIP"}:
        pytest.skip("this MPI has no sessions")
    assert lines_of(result.output) == ["OK"], str(result)


@pytest.mark.in_turns(2, 1)
def test_hints_of_all_that_makes_communicators(mpi: Mpi, runner: Runner):
    # Where one order is asked for, this algorithm is refused.
    environment = {"UNISONO_ALGORITHM": "allreduce:ring"}
    command = [compile_program(mpi, "hints.c", flags=[HEADER])]
    result = runner.unisono(mpi, 2, command, environment, timeout=60).check()
    *said, last = lines_of(result.output)
    assert last == "OK", str(result)
    assert len(said) in (5, 8), str(result)
    for line in said:
        is_plain = "without" in line or line.split(" ")[1] == "no"
        assert line.endswith("plain" if is_plain else "in order"), str(result)
