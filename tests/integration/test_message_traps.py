# SPDX-License-Identifier: BSD-3-Clause
"""Messages that Unisono carries (option messages), where programs break MPI's rules or go to its limits."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from harness import Runner, compile_program, installed
from mpis import BY_NAME, Mpi
from test_device_memory import KINDS, fake_gpu

NODE = {"UNISONO_MESSAGES": "node"}
ALL = {"UNISONO_MESSAGES": "all", "UNISONO_NODES": "1,1"}
BOTH = pytest.mark.parametrize("settings", [NODE, ALL], ids=["node", "all"])

# Calls of message_refused.c in which MPIs crash natively.
OF_OPEN_MPI = [
    *(f"{kind}send_init, uncommitted" for kind in "BSR"),
    *(f"{name}, no communicator" for name in ("Probe", "Iprobe", "Mprobe", "Improbe")),
]
CRASHING = {
    "openmpi4": OF_OPEN_MPI,
    "openmpi5": OF_OPEN_MPI,
    # MPICH 5 checks less of what it gets by the standard ABI.
    "mpich5_abi": [
        "Waitany, count",
        *(f"{name}, no array" for name in ("Waitall", "Waitany", "Testall", "Testany", "Startall")),
        *("Testany, no flag", "Testsome, no count"),
    ],
}


@pytest.mark.in_turns(3, 2)
@BOTH
def test_wrong_arguments_are_refused_as_natively(mpi: Mpi, runner: Runner, settings: Mapping[str, str]):
    """Of the same class, by the same error handler; other messages are right all the same."""
    command = [compile_program(mpi, "message_refused.c"), *CRASHING.get(mpi.name, [])]
    natively = runner.run(mpi, 2, command).check().output
    assert natively.endswith("OK\n") and natively.count("\n") > 400, natively
    result = runner.unisono(mpi, 2, command, settings)
    assert result.check().output == natively, str(result)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("settings", [{}, NODE, ALL], ids=["off", "node", "all"])
def test_types_of_no_data_may_lie_nowhere(mpi: Mpi, runner: Runner, settings: Mapping[str, str]):
    """A buffer of such a type may be NULL on one rank, and real on the other: all ranks go the same way."""
    command = [compile_program(mpi, "empty_types.c")]
    assert runner.run(mpi, 2, command, timeout=60).check().output == "OK\n"
    result = runner.unisono(mpi, 2, command, settings, timeout=60)
    assert result.check().output == "OK\n", str(result)


@pytest.mark.in_turns(3, 1)
@BOTH
def test_errors_in_statuses_are_written_where_one_has_failed(
    mpi: Mpi, runner: Runner, settings: Mapping[str, str]
):
    """Open MPI itself writes them always; what Unisono carries keeps to the standard there too."""
    command = [compile_program(mpi, "message_status_errors.c")]
    result = runner.unisono(mpi, 2, command, settings, timeout=60)
    assert result.check().output == "OK\n", str(result)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("what", ["count", "rank", "tag"])
@BOTH
def test_wrong_arguments_end_the_job_where_errors_are_fatal(
    mpi: Mpi, runner: Runner, settings: Mapping[str, str], what: str
):
    command = [compile_program(mpi, "message_refused.c"), "fatal", what]
    wanted = (f"mpi_err_{what}", f"invalid {what}", f"negative {what}")
    # Launchers of Open MPI 4 and MPICH 5 lose what such a job says, in up to half of its runs, natively too.
    for _ in range(12):
        result = runner.unisono(mpi, 2, command, settings)
        assert result.status != 0 and not result.is_timed_out, str(result)
        assert "NOT REACHED" not in result.output, str(result)
        said = (result.output + result.errors).lower()
        if any(words in said for words in wanted):
            return
    raise AssertionError(str(result))


@pytest.mark.in_turns(4)
@BOTH
def test_hints_of_messages(mpi: Mpi, runner: Runner, settings: Mapping[str, str]):
    # Messages of Open MPI 4 stand still natively where a hint is taken back.
    sections = ["made_with"] if mpi.name == "openmpi4" else []
    command = [compile_program(mpi, "message_hints.c"), *sections]
    natively = runner.run(mpi, 2, command).check().output
    assert natively.endswith("OK\n") and " true\n" in natively, natively
    assert runner.unisono(mpi, 2, command, settings).check().output == natively
    result = runner.unisono(mpi, 3, command[:1], NODE)
    assert result.check().output.endswith("OK\n"), str(result)


@pytest.mark.in_turns(4)
@pytest.mark.parametrize("ranks", [1, 2])
@BOTH
def test_buffers_for_sends(mpi: Mpi, runner: Runner, settings: Mapping[str, str], ranks: int):
    nodes = {"UNISONO_NODES": "1"} if ranks == 1 else {}
    result = runner.unisono(mpi, ranks, [compile_program(mpi, "message_buffers.c")], {**settings, **nodes})
    assert result.check().output == "OK\n", str(result)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("carrier", ["memory", "mpi"])
@BOTH
def test_messages_of_gpus(mpi: Mpi, runner: Runner, settings: Mapping[str, str], carrier: str, kind: str):
    """Whatever touches their memory otherwise than by their library dies."""
    environment = {**settings, "UNISONO_LONG_MESSAGES": carrier, "GPU_LIBRARY": str(fake_gpu(kind))}
    command = [compile_program(mpi, "message_device.c", flags=["-ldl"])]
    result = runner.unisono(mpi, 2, command, environment)
    assert result.check().output == "OK\n", str(result)


@pytest.mark.in_turns(3)
@BOTH
def test_statuses_that_the_program_sets(mpi: Mpi, runner: Runner, settings: Mapping[str, str]):
    """MPI_Status_set_elements and its kin on statuses of messages; natively the same program passes."""
    command = [compile_program(mpi, "message_set_statuses.c")]
    assert runner.run(mpi, 2, command).check().output == "OK\n"
    assert runner.unisono(mpi, 2, command, settings).check().output == "OK\n"


@pytest.mark.in_turns(2)
@BOTH
def test_processes_that_join_by_a_socket(mpi: Mpi, runner: Runner, settings: Mapping[str, str]):
    """MPI_Comm_join: what comes of it is the MPI's, and what both had before is carried on."""
    if mpi.name == "mpich4":
        pytest.skip("MPICH 4 cannot, natively either: 'not supported with ucx netmod'")
    command = [compile_program(mpi, "message_join.c")]
    may_connect = {"I_MPI_SPAWN": "on"}
    assert runner.run(mpi, 2, command, may_connect).check().output == "OK\n"
    assert runner.unisono(mpi, 2, command, {**settings, **may_connect}).check().output == "OK\n"


def available_bytes() -> int:
    """Return how much memory programs may take, as the kernel estimates it."""
    lines = Path("/proc/meminfo").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))


SECTIONS_OF_LARGE = ["of_parts", "with_gaps", "too_short", "replaced", "of_bytes"]


@pytest.mark.dear
@pytest.mark.alone
@pytest.mark.in_turns(12)
@pytest.mark.parametrize("section", SECTIONS_OF_LARGE)
@BOTH
def test_messages_of_more_than_2_gib(mpi: Mpi, runner: Runner, settings: Mapping[str, str], section: str):
    if available_bytes() < 14 << 30:
        pytest.skip("less than 14 GiB of memory are free")
    result = runner.unisono(mpi, 2, [compile_program(mpi, "message_large.c"), section], settings, timeout=120)
    assert result.check().output == "OK\n", str(result)


@pytest.mark.in_turns(2)
@BOTH
def test_requests_that_come_to_the_mpi_past_unisono(mpi: Mpi, runner: Runner, settings: Mapping[str, str]):
    """As those of a library that is linked with RTLD_DEEPBIND: an error, never a crash."""
    if mpi.is_standard_abi:
        pytest.skip("MPICH 5 looks at no request that it gets by the standard ABI, and crashes")
    # MPI_Waitall of Open MPI 4 itself stands still where a request has failed before, and threads may call it.
    may_have_arrays = mpi.name != "openmpi4" or settings["UNISONO_MESSAGES"] != "all"
    command = [compile_program(mpi, "message_leaked.c", flags=["-ldl"])]
    command += [] if may_have_arrays else ["one_by_one"]
    result = runner.unisono(mpi, 2, command, {**settings, "UNISONO_LOG": "warning"})
    assert result.check().output == "OK\n", str(result)
    if mpi.family.startswith("openmpi"):
        assert result.errors.count("has come to the MPI past Unisono") == 2, str(result)


@pytest.mark.in_turns(2)
def test_memory_that_runs_out(mpi: Mpi, runner: Runner):
    """The job ends with a message, also where nobody can be told of an error."""
    result = runner.unisono(mpi, 2, [compile_program(mpi, "message_memory.c")], NODE)
    assert result.status != 0 and not result.is_timed_out, str(result)
    assert "there is no memory left" in result.errors, str(result)


@pytest.mark.in_turns(2)
@BOTH
def test_messages_stay_where_there_is_no_room_for_their_receive(
    mpi: Mpi, runner: Runner, settings: Mapping[str, str]
):
    """A probe or a receive that fails is made again later, and gets the message."""
    result = runner.unisono(mpi, 2, [compile_program(mpi, "message_full.c")], settings, timeout=90)
    assert result.check().output == "OK\n", str(result)


@BOTH
def test_communicators_that_are_revoked(
    request: pytest.FixtureRequest, runner: Runner, settings: Mapping[str, str]
):
    """Receives and probes that wait there end with Open MPI's error, also those that hang natively."""
    mpi = installed(BY_NAME["openmpi5"], request.config)
    program = compile_program(mpi, "message_revoked.c")
    natively = runner.run(mpi, 2, [program, "blocking", "others"]).check().output
    assert natively.endswith("OK\n") and natively.count(": class 77, 1 times\n") == 3, natively
    output = runner.unisono(mpi, 2, [program], settings).check().output
    assert output.startswith(natively.removesuffix("OK\n")) and output.endswith("OK\n"), output
    assert output.count(": class 77") == output.count("\n") - 1 == 11, output


@pytest.mark.in_turns(2)
@BOTH
def test_profilers_see_messages_that_are_carried(mpi: Mpi, runner: Runner, settings: Mapping[str, str]):
    """They stand between the program and Unisono, by the names that MPI has for them."""
    tool = compile_program(mpi, "message_tool.c", flags=["-shared", "-fPIC"])
    command = [compile_program(mpi, "messages.c")]
    result = runner.unisono(mpi, 2, command, {**settings, "LD_PRELOAD": str(tool)}).check()
    assert result.output == "OK\n", str(result)
    assert "tool: calls of all kinds\n" in result.errors, str(result)
