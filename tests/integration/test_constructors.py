# SPDX-License-Identifier: BSD-3-Clause
"""How communicators are made and go, natively and under Unisono."""

from __future__ import annotations

import pytest
from harness import Runner, compile_program
from mpis import Mpi

# What is under way on a communicator that is freed Open MPI by itself does not always end.
NATIVE_CASES = ["made_aside", "copy_that_fails", "of_groups", "more_than_there_are"]


@pytest.mark.in_turns(2)
def test_communicators_are_made_and_freed(mpi: Mpi, runner: Runner):
    """The MPI passes by itself, and so it does under Unisono, which sets up each communicator at its first call."""
    program = compile_program(mpi, "constructors.c")
    assert runner.run(mpi, 2, [program, *NATIVE_CASES], timeout=60).check().output == "OK\n"
    assert runner.unisono(mpi, 2, [program], timeout=90).check().output == "OK\n"


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("nodes", ["2", "1,1"])
def test_communicators_with_messages_carried_are_made_and_freed(mpi: Mpi, runner: Runner, nodes: str):
    environment = {"UNISONO_MESSAGES": "all", "UNISONO_NODES": nodes}
    program = compile_program(mpi, "constructors.c")
    assert runner.unisono(mpi, 2, [program], environment, timeout=90).check().output == "OK\n"
