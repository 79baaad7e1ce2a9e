# SPDX-License-Identifier: BSD-3-Clause
"""Where the MPI's fault tolerance is on, ranks may die and the others go on: Unisono steps aside, on all ranks alike."""

from __future__ import annotations

import harness
import mpis
import pytest
from harness import SHIM, Runner, compile_program

WORDS = "the MPI's fault tolerance is switched on: the program runs without Unisono"
FAULT_TOLERANT = {
    "openmpi5": {"OMPI_MCA_mpi_ft_enable": "1"},  # what the launcher's --with-ft sets
    "mpich4": {"MPIR_CVAR_ENABLE_FT": "yes"},
    "intel": {"MPIR_CVAR_ENABLE_FT": "1"},
    # Not MPICH 5, which fails an assertion of its own in MPI_Init then, natively too.
}


@pytest.mark.parametrize("enable", ["1", "0"])
def test_survivors_go_on(runner: Runner, request: pytest.FixtureRequest, enable: str) -> None:
    """Of the MPIs here only Open MPI 5 goes on after a death."""
    mpi = harness.installed(mpis.BY_NAME["openmpi5"], request.config)
    program = compile_program(mpi, "survivor.c")
    environment = runner.environment_for_ranks(mpi, 3, {"UNISONO_ENABLE": enable})
    line = mpi.launch(3, [SHIM, program], environment)
    result = runner.run_line(mpi, [line[0], "--with-ft", "ulfm", *line[1:]], timeout=60)
    assert not result.is_timed_out, str(result)
    assert result.output == "collective: an error\nshrunken: success\n", str(result)
    assert result.errors.count(WORDS) == 1, str(result)
    assert result.survivors == []


@pytest.mark.parametrize("name", FAULT_TOLERANT)
def test_unisono_steps_aside(name: str, runner: Runner, request: pytest.FixtureRequest) -> None:
    """All ranks do although one alone has it switched on; and the program sees no difference up to its end."""
    mpi = harness.installed(mpis.BY_NAME[name], request.config)
    program = compile_program(mpi, "entry.c", flags=[harness.HEADER, "-ldl"])
    report = runner.scratch / "report.json"
    environment = runner.environment_for_ranks(mpi, 3, {"UNISONO_REPORT": str(report)})
    switch = [f"{variable}={value}" for variable, value in FAULT_TOLERANT[name].items()]
    command = [SHIM, program, "errors"]
    sections = [(1, command), (1, ["env", *switch, *command]), (1, command)]
    if name == "openmpi5":  # there all ranks must have it, or MPI_Init itself stands still
        sections = [(3, ["env", *switch, *command])]
    native = runner.run(mpi, 3, [program, "errors"]).check()
    result = runner.run_line(mpi, mpi.launch_sections(sections, environment)).check()
    assert result.output == native.output
    assert result.errors.count(WORDS) == 1, str(result)
    assert not report.exists()


# By these launchers leave a job alone in which a rank has died. MPICH's does not: there the dead rank's shell waits for the
# others, three in all, which the launcher tells of the death by a signal.
LEFT_ALONE = {
    "openmpi4": ["--enable-recovery"],
    "openmpi5": ["--enable-recovery"],
    "intel": ["-disable-auto-cleanup"],
    "mpich": [],
}
HUSHED = """
trap '' USR1
if "$@"; then
  : >"done.$$"
else
  for _ in $(seq 300); do
    set -- done.*
    [ -e "$2" ] && break
    sleep 0.1
  done
fi
"""
# What waits: the program's calls, the settings under which Unisono serves them, and what it calls them.
WAITS = {
    "collectives": (
        "dead_peer.c",
        {"UNISONO_ALGORITHM": "allreduce:fused,bcast:shared,alltoallv:fused"},
        ["lines", "channel", "stream", "copy", "no block, small", "no block, channel", "persistent"],
        "a collective",
    ),
    "messages": (
        "message_dead_peer.c",
        {"UNISONO_MESSAGES": "node"},
        ["receive", "wait", "wait for any", "probe", "message", "long send", "synchronous send"],
        "a call with messages",
    ),
}


@pytest.mark.dear
@pytest.mark.in_turns(4, 2)
@pytest.mark.parametrize("waits", WAITS)
def test_waits_for_a_dead_rank_end(mpi: mpis.Mpi, runner: Runner, waits: str) -> None:
    """Where nobody ends the job, those that wait in shared memory for a rank that died hear of it, call by call."""
    source, settings, kinds, place = WAITS[waits]
    program = compile_program(mpi, source)
    environment = runner.environment_for_ranks(mpi, 3, settings)
    shell = ["sh", "-c", HUSHED, "hushed"] if mpi.family == "mpich" else []
    line = mpi.launch(3, [*shell, SHIM, program], environment)
    result = runner.run_line(mpi, [line[0], *LEFT_ALONE[mpi.family], *line[1:]], timeout=60)
    assert not result.is_timed_out, str(result)
    heard = sorted(line for line in result.output.splitlines() if line[:2] in ("0 ", "1 "))
    assert heard == sorted(f"{rank} {kind}: an error" for rank in (0, 1) for kind in kinds), str(result)
    for rank in (0, 1):
        assert f"has died; rank {rank} waited for it in {place}" in result.errors, str(result)
    assert result.survivors == []
