# SPDX-License-Identifier: BSD-3-Clause
"""Every way to call the collectives, checked element by element, natively and under Unisono on one node."""

from __future__ import annotations

import random

import pytest
from harness import Runner, compile_program, installed
from mpis import BY_NAME, Mpi

RANKS = [1, 2, 3, 4, 5, 8]
UNEVEN = ["allgatherv", "reduce_scatter", "alltoallv", "alltoallw", "gatherv", "scatterv"]
TIMEOUT = 150

# Settings that each lead calls through another part of Unisono.
VARIANTS = {
    "no-single-copy": {"UNISONO_SINGLE_COPY": "0"},
    "no-shared-memory": {"UNISONO_SHARED_MEMORY": "0"},
    "shm-open": {"UNISONO_SEGMENT": "shm_open"},
    "spin": {"UNISONO_WAIT": "spin", "UNISONO_CORES": "64"},
    "pause": {"UNISONO_WAIT": "pause"},
    "futex": {"UNISONO_WAIT": "futex"},
    "sleep": {"UNISONO_WAIT": "sleep"},
    "small-channels": {"UNISONO_CHANNEL_BYTES": "64K"},
    "pretended-nodes": {"UNISONO_NODES": "2,1"},
    "disabled": {"UNISONO_ENABLE": "0", "COLLECTIVES_NATIVE": "1"},
}


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("ranks", [1, 3])
def test_program_passes_natively(mpi: Mpi, runner: Runner, ranks: int):
    """The program asks nothing that MPI does not promise: the MPI alone passes it."""
    program = compile_program(mpi, "collectives")
    result = runner.run(mpi, ranks, [program], {"COLLECTIVES_NATIVE": "1"}, timeout=TIMEOUT).check()
    assert result.output.startswith("OK "), str(result)


@pytest.mark.in_turns(7)
@pytest.mark.parametrize("ranks", RANKS)
def test_collectives(mpi: Mpi, runner: Runner, ranks: int):
    # Communicators of one rank are left to the MPI below.
    environment = {"COLLECTIVES_NATIVE": "1"} if ranks == 1 else {}
    program = compile_program(mpi, "collectives")
    result = runner.unisono(mpi, ranks, [program], environment, timeout=TIMEOUT).check()
    assert result.output.startswith("OK "), str(result)


@pytest.mark.in_turns(3, 2)
def test_uneven_blocks(mpi: Mpi, runner: Runner):
    """Calls on uneven blocks that the rules would leave to the MPI, and cases that MPIs get wrong by themselves."""
    operations = [*UNEVEN, "reduce_scatter_block"]
    environment = {
        "UNISONO_ALGORITHM": ",".join(f"{operation}:shared" for operation in operations),
        "COLLECTIVES_TAKEN": "1",
    }
    sections = ["counts", "roots", "in_place", "empty_blocks", "derived", "absolute", "user_operators"]
    command = [compile_program(mpi, "collectives"), *sections]
    result = runner.unisono(mpi, 4, command, environment, timeout=TIMEOUT).check()
    assert result.output.startswith("OK "), str(result)


@pytest.mark.in_turns(2)
def test_collectives_from_cxx(mpi: Mpi, runner: Runner):
    program = compile_program(mpi, "collectives", language="c++")
    command = [program, "barrier", "counts", "in_place", "user_operators"]
    assert runner.unisono(mpi, 3, command, timeout=TIMEOUT).check().output.startswith("OK ")


@pytest.mark.in_turns(3)
def test_random_sequences(mpi: Mpi, runner: Runner):
    """Each run of the test draws another sequence; a failure prints the seed, with which it can be repeated."""
    seed = random.SystemRandom().randrange(1, 2**31)
    command = [compile_program(mpi, "collectives"), "--seed", str(seed), "--steps", "1500", "random"]
    assert runner.unisono(mpi, 4, command, timeout=TIMEOUT).check().output.startswith("OK ")


@pytest.mark.in_turns(2)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", ["openmpi5", "mpich5"])
def test_variants(request: pytest.FixtureRequest, runner: Runner, name: str, variant: str):
    mpi = installed(BY_NAME[name], request.config)
    sections = ["barrier", "counts", "in_place", "user_operators", "communicators", "random"]
    command = [compile_program(mpi, "collectives"), *sections]
    result = runner.unisono(mpi, 3, command, VARIANTS[variant], timeout=TIMEOUT).check()
    assert result.output.startswith("OK "), str(result)
    assert "there is no option" not in result.errors, str(result)
