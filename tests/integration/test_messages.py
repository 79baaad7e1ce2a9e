# SPDX-License-Identifier: BSD-3-Clause
"""Messages that Unisono carries inside nodes (option messages): all that MPI promises of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from harness import SHIM, Runner, compile_program, installed, seed_of_this_run
from mpis import ALL, BY_NAME, Mpi

CARRIED = {"UNISONO_MESSAGES": "node"}
ALL_CARRIED = {"UNISONO_MESSAGES": "all"}
PROGRAMS = ["messages.c", "message_requests.c", "message_ends.c", "message_floods.c"]
# Nodes of an emulated cluster: one rank each, and some with several.
LAYOUTS = {"1,1": 2, "2,2": 4, "1,2,1": 4, "3,1,2": 6}


@pytest.mark.dear
@pytest.mark.in_turns(10)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_what_mpi_promises_of_messages(mpi: Mpi, runner: Runner, ranks: int, program: str):
    result = runner.unisono(mpi, ranks, [compile_program(mpi, program)], CARRIED, timeout=90)
    assert result.check().output == "OK\n", str(result)


WAYS = ["wait", "waitall", "waitany", "waitsome", "test", "testall", "testany", "testsome", "status"]


@pytest.mark.in_turns(9)
@pytest.mark.parametrize(
    "section",
    [*(f"{kind}_by_{way}" for kind in ("ends", "repeated") for way in WAYS), "ends_of_both_ways"],
)
@pytest.mark.parametrize("settings", [CARRIED, {**ALL_CARRIED, "UNISONO_NODES": "1,1"}], ids=["node", "all"])
def test_sends_end_without_their_receivers(
    mpi: Mpi, runner: Runner, settings: Mapping[str, str], section: str
):
    """A receiver that was never asked for anything has no thread that takes in what has come."""
    command = [compile_program(mpi, "message_ends.c"), section]
    assert runner.unisono(mpi, 2, command, settings, timeout=30).check().output == "OK\n"


def test_communicators_of_ten_functions_are_carried(mpi: Mpi, runner: Runner, tmp_path: Path):
    """Section communicators sends a message from each rank of each that it makes; those of MPI_Comm_idup are the MPI's."""
    report = tmp_path / "report.json"
    settings = {**CARRIED, "UNISONO_REPORT": str(report)}
    command = [compile_program(mpi, "messages.c"), "communicators"]
    assert runner.unisono(mpi, 3, command, settings, timeout=60).check().output == "OK\n"
    # 20 turns: two kinds have ranks 0 and 2, eight have all three; and one message to oneself at last.
    assert json.loads(report.read_text())["messages"]["sent"] == 20 * (2 * 2 + 8 * 3) + 3


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("carrier", ["mpi", "memory", "auto"])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_long_data_by_either_way(mpi: Mpi, runner: Runner, tmp_path: Path, ranks: int, carrier: str):
    """Where the MPI carries it, ranks that are in calls of its own let it go on, or it goes by memory."""
    report = tmp_path / "report.json"
    settings = {**CARRIED, "UNISONO_LONG_MESSAGES": carrier, "UNISONO_REPORT": str(report)}
    command = [compile_program(mpi, "message_long.c")]
    assert runner.unisono(mpi, ranks, command, settings, timeout=90).check().output == "OK\n"
    by_mpi = json.loads(report.read_text())["messages"]["data_by_mpi"]
    if carrier != "auto" or ranks == 1:
        assert (by_mpi > 0) == (carrier == "mpi" and ranks > 1)


@pytest.mark.in_turns(8)
@pytest.mark.parametrize("nodes", ["2", "4", "2,2"])
@pytest.mark.parametrize("program", [*PROGRAMS, "message_long.c"])
def test_what_mpi_promises_of_long_data_by_the_mpi(mpi: Mpi, runner: Runner, nodes: str, program: str):
    settings = {**ALL_CARRIED, "UNISONO_NODES": nodes, "UNISONO_LONG_MESSAGES": "mpi"}
    ranks = sum(int(node) for node in nodes.split(","))
    result = runner.unisono(mpi, ranks, [compile_program(mpi, program)], settings, timeout=90)
    assert result.check().output == "OK\n", str(result)


@pytest.mark.in_turns(2)
@pytest.mark.parametrize("settings", [CARRIED, {**ALL_CARRIED, "UNISONO_NODES": "1,1"}], ids=["node", "all"])
def test_no_request_waits_for_ever_behind_others(mpi: Mpi, runner: Runner, settings: Mapping[str, str]):
    result = runner.unisono(mpi, 2, [compile_program(mpi, "message_fairness.c")], settings, timeout=60)
    assert result.check().output == "OK\n", str(result)


@pytest.mark.in_turns(2)
def test_statuses_of_messages_that_are_too_long(mpi: Mpi, runner: Runner):
    """They say what the MPI says, but for MPICH 4, which counts nothing between processes."""
    command = [compile_program(mpi, "message_truncation.c"), *(["self"] if mpi.name == "mpich4" else [])]
    natively = runner.run(mpi, 2, command).check().output
    assert natively.count(": truncated, ") == natively.count("\n") > 0
    for settings in (CARRIED, {**ALL_CARRIED, "UNISONO_NODES": "1,1"}):
        result = runner.unisono(mpi, 2, command, settings)
        assert result.check().output == natively, str(result)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("ranks", [2, 4])
def test_random_traffic_of_threads(mpi: Mpi, runner: Runner, ranks: int):
    seed = seed_of_this_run()
    command = [compile_program(mpi, "message_threads.c"), seed, "60"]
    result = runner.unisono(mpi, ranks, command, CARRIED, timeout=90).check()
    if result.output == "LEVEL\n":
        pytest.skip("this MPI provides no MPI_THREAD_MULTIPLE")
    assert result.output == "OK\n", f"seed {seed}: {result}"


@pytest.mark.in_turns(4)
@pytest.mark.parametrize("settings", [CARRIED, {**ALL_CARRIED, "UNISONO_NODES": "1,1"}], ids=["node", "all"])
def test_threads_make_communicators_at_once(mpi: Mpi, runner: Runner, settings: Mapping[str, str]):
    """None of them gets a message of another's."""
    result = runner.unisono(
        mpi, 2, [compile_program(mpi, "message_communicators.c")], settings, timeout=90
    ).check()
    if result.output == "LEVEL\n":
        pytest.skip("this MPI provides no MPI_THREAD_MULTIPLE")
    assert result.output == "OK\n", str(result)


@pytest.mark.dear
@pytest.mark.in_turns(8)
@pytest.mark.parametrize(("ranks", "threads"), [(2, 1), (3, 1), (5, 1), (2, 3)])
def test_random_messages_come_as_natively(mpi: Mpi, runner: Runner, ranks: int, threads: int):
    """The same messages natively, and carried inside a node and between two: data and statuses are the same."""
    seed = seed_of_this_run()
    command: list[str | Path] = [compile_program(mpi, "message_stress.c"), seed, "8", str(threads)]
    natively = runner.run(mpi, ranks, [*command, "natively"], timeout=90).check().output
    if natively == "LEVEL\n":
        pytest.skip("this MPI provides no MPI_THREAD_MULTIPLE")
    assert natively.startswith("OK "), f"seed {seed}: {natively}"
    two_nodes = {**ALL_CARRIED, "UNISONO_NODES": f"{ranks - ranks // 2},{ranks // 2}"}
    bounded = {"UNISONO_UNEXPECTED_BYTES": "64K"}
    asleep = {**CARRIED, "UNISONO_WAIT": "sleep"}
    for settings in ({**CARRIED, **bounded}, asleep, two_nodes, {**two_nodes, **bounded}):
        result = runner.unisono(mpi, ranks, command, settings, timeout=90)
        assert result.check().output == natively, f"seed {seed}: {result}"


@pytest.mark.in_turns(2)
def test_who_waits_for_a_message_sleeps(mpi: Mpi, runner: Runner):
    """With policy sleep, in every way to wait, until it comes: it keeps no core from who is to send it."""
    settings = {**CARRIED, "UNISONO_WAIT": "sleep"}
    result = runner.unisono(mpi, 3, [compile_program(mpi, "message_waits.c")], settings, timeout=60).check()
    assert result.output.startswith("OK, at most "), str(result)
    assert float(result.output.split()[-1]) < 0.5, str(result)


@pytest.mark.in_turns(9)
@pytest.mark.parametrize("nodes", LAYOUTS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_what_mpi_promises_of_messages_between_nodes(mpi: Mpi, runner: Runner, nodes: str, program: str):
    settings = {**ALL_CARRIED, "UNISONO_NODES": nodes, "UNISONO_LOG": "warning"}
    result = runner.unisono(mpi, LAYOUTS[nodes], [compile_program(mpi, program)], settings, timeout=90)
    assert result.check().output == "OK\n", str(result)
    assert "are left to the MPI" not in result.errors, str(result)


@pytest.mark.in_turns(4)
@pytest.mark.parametrize("level", [[], ["multiple"]], ids=["single", "multiple"])
@pytest.mark.parametrize("settings", [CARRIED, {**ALL_CARRIED, "UNISONO_NODES": "1,1"}], ids=["node", "all"])
def test_messages_in_finalize(mpi: Mpi, runner: Runner, settings: Mapping[str, str], level: list[str]):
    """Delete functions of MPI_COMM_SELF's attributes get what was sent before, and send to each other."""
    command = [compile_program(mpi, "message_ends_late.c"), *level]
    assert runner.unisono(mpi, 2, command, settings, timeout=60).check().output == "OK\n"


def test_auto_carries_where_it_was_measured_to_be_faster(mpi: Mpi, runner: Runner, tmp_path: Path):
    report = tmp_path / "report.json"
    settings = {"UNISONO_MESSAGES": "auto", "UNISONO_REPORT": str(report)}
    result = runner.unisono(mpi, 2, [compile_program(mpi, "messages.c")], settings, timeout=90)
    assert result.check().output == "OK\n"
    told = json.loads(report.read_text())
    is_carried = mpi.name in ("openmpi5", "mpich5", "mpich5_abi")
    assert ("messages" in told) == is_carried
    whose = "Unisono's" if is_carried else "the MPI's"
    assert [hint for hint in told["hints"] if hint.startswith(f"messages of nodes are {whose}, since ")]
    assert any(hint.startswith("MPI_T and debuggers") for hint in told["hints"]) == is_carried


# Sections of message_beside.c that an MPI has no functions for: partitioned messages and sessions are of MPI 4.0, buffers of
# communicators and MPI_Request_get_status_any of 4.1.
OF_4_1 = ["own_buffers", "asked"]
LEFT_OUT = {
    "openmpi4": ["partitioned", "sessions", *OF_4_1],
    "openmpi5": OF_4_1,
    "mpich4": OF_4_1,
}


@pytest.mark.in_turns(4, 1)
@pytest.mark.parametrize("ranks", [2, 3, 5])
@pytest.mark.parametrize("messages", ["node", "all"])
def test_messages_beside_what_is_the_mpis(mpi: Mpi, runner: Runner, messages: str, ranks: int):
    settings = {"UNISONO_MESSAGES": messages}
    if messages == "all":
        settings["UNISONO_NODES"] = f"{ranks - 1},1"
    result = runner.unisono(mpi, ranks, [compile_program(mpi, "message_beside.c")], settings, timeout=60)
    left_out = [f"without {section}" for section in LEFT_OUT.get(mpi.name, [])]
    assert result.check().output.splitlines() == [*left_out, "OK"], str(result)


@pytest.mark.in_turns(2)
def test_messages_of_spawned_processes(mpi: Mpi, runner: Runner):
    """Those of each world are carried, and those between the two are the MPI's."""
    if mpi.family == "mpich":
        pytest.skip("Debian's MPICH 4.0.2 cannot spawn, and MPICH 5 stands still now and then, natively too")
    program = compile_program(mpi, "message_spawn.c")
    command = [SHIM, program, SHIM, program]
    result = runner.run(mpi, 2, command, {**CARRIED, "I_MPI_SPAWN": "on"}, timeout=60)
    assert result.check().output == "OK\n", str(result)


@pytest.mark.in_turns(4)
@pytest.mark.parametrize("progress", ["thread", "calls"])
@pytest.mark.parametrize("nodes", ["2", "1,1"])
def test_receivers_in_calls_of_the_mpi(mpi: Mpi, runner: Runner, nodes: str, progress: str):
    """Windows, files and communicators in the making; option progress = calls is about collectives alone."""
    settings = {**ALL_CARRIED, "UNISONO_NODES": nodes, "UNISONO_PROGRESS": progress}
    settings |= {"UNISONO_ALGORITHM": "barrier:native"}
    result = runner.unisono(mpi, 2, [compile_program(mpi, "message_traps.c")], settings, timeout=60)
    assert result.check().output == "OK\n", str(result)


@pytest.mark.in_turns(3, 1)
@pytest.mark.parametrize("nodes", ["2", "1,1"])
def test_reports_tell_of_queues_and_floods(mpi: Mpi, runner: Runner, tmp_path: Path, nodes: str):
    """Section backlog has 20,000 messages of 1,000 bytes before their receives, far more than may wait here."""
    report = tmp_path / "report.json"
    settings = {**(CARRIED if nodes == "2" else ALL_CARRIED), "UNISONO_NODES": nodes}
    settings |= {"UNISONO_REPORT": str(report), "UNISONO_UNEXPECTED_BYTES": "256K"}
    command = [compile_program(mpi, "message_floods.c"), "backlog"]
    assert runner.unisono(mpi, 2, command, settings, timeout=60).check().output == "OK\n"
    told = json.loads(report.read_text())
    totals = told["messages"]
    assert totals["sent"] >= 40_000
    assert totals["deepest_unexpected"] >= 20_000
    assert totals["floods"] > 0
    # Beyond the limit there may be what is on its way when its sender is told.
    assert 256 << 10 < totals["most_unexpected_bytes"] < (256 << 10) + (4 << 20)
    of_tools, *of_nodes = told["hints"]
    assert of_tools.startswith(
        "MPI_T and debuggers' message queues do not show messages that Unisono carries"
    )
    assert [hint.partition(" as long")[0] for hint in of_nodes] == (
        [] if nodes == "2" else ["messages between nodes may take up to 1.7 times"]
    )


@pytest.mark.in_turns(2, 1)
@pytest.mark.parametrize("nodes", ["1,2", "2,1"])
def test_communicators_over_nodes_stay_the_mpis(mpi: Mpi, runner: Runner, nodes: str):
    """MPI_COMM_WORLD is over two nodes, and some of what is made of it has a node of its own."""
    settings = {**CARRIED, "UNISONO_NODES": nodes}
    for program, sections in (
        ("messages.c", ["communicators", "probes"]),
        ("message_requests.c", ["completions", "freed"]),
    ):
        result = runner.unisono(mpi, 3, [compile_program(mpi, program), *sections], settings, timeout=60)
        assert result.check().output == "OK\n", str(result)


@pytest.mark.in_turns(2)
def test_without_shared_memory_the_mpi_goes_on(mpi: Mpi, runner: Runner):
    settings = {**CARRIED, "UNISONO_SHARED_MEMORY": "0", "UNISONO_LOG": "warning"}
    command = [compile_program(mpi, "messages.c"), "order", "communicators"]
    result = runner.unisono(mpi, 2, command, settings, timeout=60)
    assert result.check().output == "OK\n", str(result)
    assert result.errors.count("all messages are left to the MPI") == 1, str(result)


@pytest.mark.in_turns(2)
@pytest.mark.parametrize("messages", ["off", "node"])
def test_functions_that_an_mpi_lacks(mpi: Mpi, runner: Runner, messages: str):
    """A program that looks for them finds Unisono's on MPIs that have none."""
    settings = {"UNISONO_MESSAGES": messages}
    command = [compile_program(mpi, "messages_looked_up.c")]
    assert runner.unisono(mpi, 2, command, settings, timeout=60).check().output == "OK\n"


OF_COUNTS = ["standard_sends", "synchronous_sends", "ready_sends", "taken", "exchanged", "nobody"]
# Where the functions are the MPI's some get these wrong themselves: what Open MPI lacks is Unisono's.
WRONG_NATIVELY = ["buffered_sends", "exchanges_started", "counts", "errors"]


@pytest.mark.in_turns(4)
@pytest.mark.parametrize("ranks", [1, 3])
@pytest.mark.parametrize("messages", ["off", "node", "all"])
def test_functions_for_large_counts(mpi: Mpi, runner: Runner, messages: str, ranks: int):
    """Each of them, on all MPIs: a program finds Unisono's where the MPI has none."""
    nodes = {"UNISONO_NODES": "2,1"} if messages == "all" and ranks == 3 else {}
    others = WRONG_NATIVELY if messages != "off" or mpi.name == "openmpi5" else []
    command = [compile_program(mpi, "message_counts.c", flags=["-ldl"]), "begin", *OF_COUNTS, *others, "end"]
    result = runner.unisono(mpi, ranks, command, {"UNISONO_MESSAGES": messages, **nodes}, timeout=60)
    assert result.check().output == "OK\n", str(result)


@pytest.mark.parametrize(
    ("name", "binding"), [(mpi.name, binding) for mpi in ALL for binding in mpi.fortran_bindings]
)
def test_fortran(request: pytest.FixtureRequest, runner: Runner, name: str, binding: str):
    mpi = installed(BY_NAME[name], request.config)
    command = [compile_program(mpi, f"messages_{binding}.f90")]
    assert runner.unisono(mpi, 3, command, CARRIED).check().output == "OK\n"
