# SPDX-License-Identifier: BSD-3-Clause
"""Limits of a batch system: on address space, of which Unisono takes as it uses it, and leaves most to the program."""

from __future__ import annotations

import re

import pytest
from harness import Runner, compile_program
from mpis import Mpi

pytestmark = pytest.mark.each_library

RANKS = 2
FREE, NEEDED = 700, 480  # MiB; the pool may grow to 1 GiB


def at_start(output: str) -> int:
    found = re.search(r"at start (\d+)", output)
    assert found, output
    return int(found[1])


@pytest.mark.in_turns(2, 1)
def test_address_space(mpi: Mpi, runner: Runner):
    program = compile_program(mpi, "limits.c")
    native = runner.run(mpi, RANKS, [program, "none"]).check()
    result = runner.unisono(mpi, RANKS, [program, "grows"]).check()
    assert f"RIGHT {RANKS}" in result.output and "unisono:" not in result.errors, str(result)
    used = at_start(result.output) - at_start(native.output)
    assert used < 256, "not the whole pool is mapped at the start"

    limit = at_start(result.output) + FREE
    words = ["memory", str(limit), str(NEEDED)]
    result = runner.unisono(mpi, RANKS, [program, *words]).check()
    assert f"RIGHT {RANKS}" in result.output and "unisono:" not in result.errors, str(result)


@pytest.mark.in_turns(2)
def test_so_little_that_the_pool_is_full(mpi: Mpi, runner: Runner):
    """The program runs, and the message names the option and the limit."""
    program = compile_program(mpi, "limits.c")
    start = at_start(runner.unisono(mpi, RANKS, [program, "none"]).check().output)
    # How much the MPI itself needs differs from run to run.
    for less in range(8, 80, 8):
        result = runner.unisono(mpi, RANKS, [program, "memory", str(start - less), "1"])
        if result.status != 0:
            pytest.skip(f"{mpi.name} needs more itself")
        assert f"RIGHT {RANKS}" in result.output, str(result)
        if "pool_bytes" in result.errors:
            break
    assert "pool_bytes" in result.errors and "ulimit -v" in result.errors, str(result)
