# SPDX-License-Identifier: BSD-3-Clause
"""Programs of all languages and habits under Unisono on one node."""

from __future__ import annotations

import json
import re
import signal
from pathlib import Path

import pytest
from harness import HEADER, PROGRAMS, SHIM, Runner, compile_program, installed, seed_of_this_run
from job import run
from mpis import ALL, BY_NAME, Mpi


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("single_copy", ["on", "off"])
@pytest.mark.parametrize("ranks", [2, 5])
def test_progress(mpi: Mpi, runner: Runner, ranks: int, single_copy: str):
    command = [compile_program(mpi, "progress.c")]
    result = runner.unisono(mpi, ranks, command, {"UNISONO_SINGLE_COPY": single_copy}, timeout=60)
    assert result.check().output == "OK\n", str(result)


@pytest.mark.in_turns(4, 1)
@pytest.mark.parametrize("messages", ["off", "node", "all"])
@pytest.mark.parametrize("nodes", ["3", "2,1", "1,2"])
def test_ranks_that_wait_let_late_ones_go_on(mpi: Mpi, runner: Runner, nodes: str, messages: str):
    """Neither in a collective, where a message may lie already, nor where they wait for a message."""
    command = [compile_program(mpi, "progress_late.c")]
    environment = {"UNISONO_NODES": nodes, "UNISONO_MESSAGES": messages}
    result = runner.unisono(mpi, 3, command, environment, timeout=60)
    assert result.check().output == "OK\n", str(result)


@pytest.mark.in_turns(2, 1)
def test_threads(mpi: Mpi, runner: Runner):
    result = runner.unisono(mpi, 3, [compile_program(mpi, "threads.c")], timeout=90).check()
    if result.output == "SKIP\n":
        pytest.skip("this MPI provides no MPI_THREAD_MULTIPLE")
    assert result.output == "OK\n", str(result)


@pytest.mark.in_turns(3, 2)
@pytest.mark.parametrize("ranks", [2, 3])
def test_operators_and_threads_of_the_program(mpi: Mpi, runner: Runner, ranks: int):
    """Operators that take the program's locks, and threads that round upward."""
    # Intel MPI holds a lock of its own while an operator runs: by itself it hangs where two threads want one lock.
    which = ["one"] if mpi.name.startswith("intel") else []
    result = runner.unisono(
        mpi, ranks, [compile_program(mpi, "program_threads.c"), *which], timeout=60
    ).check()
    assert result.output.splitlines()[-1] == "OK", str(result)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("messages", ["off", "node"])
@pytest.mark.parametrize(("ranks", "turns"), [(2, 700), (4, 120)])
def test_threads_make_and_free_communicators(mpi: Mpi, runner: Runner, ranks: int, turns: int, messages: str):
    """Thousands of random steps: communicators made, freed and used by three threads in every collective and form."""
    seed = seed_of_this_run()
    command = [compile_program(mpi, "thread_communicators.c"), seed, str(turns)]
    result = runner.unisono(mpi, ranks, command, {"UNISONO_MESSAGES": messages}, timeout=90)
    if result.status != 0 or result.is_timed_out:
        native = runner.run(mpi, ranks, command, timeout=90)
        pytest.fail(f"under Unisono: {result}\nnatively: {native}")
    print(result.output.splitlines()[0])  # the seed, which a failure is to be reproduced with
    if "LEVEL" in result.output:
        pytest.skip(f"this MPI provides thread level {result.output.split()[-1]}, not MPI_THREAD_MULTIPLE")
    assert result.output == f"SEED {seed}\nOK\n", str(result)


@pytest.mark.in_turns(4, 1)
@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 8])
def test_calls_that_do_not_block(mpi: Mpi, runner: Runner, ranks: int):
    command = [compile_program(mpi, "nonblocking.c"), seed_of_this_run()]
    result = runner.unisono(mpi, ranks, command, timeout=90)
    if result.status != 0 or result.is_timed_out:
        native = runner.run(mpi, ranks, command, timeout=90)
        pytest.fail(f"under Unisono: {result}\nnatively: {native}")
    assert result.output == "OK\n", str(result)


# All that the rules leave to the MPI is taken, since the MPIs' own persistent calls are not all right in this
# program. Intel MPI matches them by the order of the starts. MPICH 4 mixes up gathers. Open MPI 5 loses them
# with their communicator.
ALL_TAKEN = "alltoallv:pairwise,alltoallw:pairwise,gatherv:flat,scatterv:flat"


@pytest.mark.in_turns(3, 2)
@pytest.mark.parametrize(
    ("ranks", "requests", "habits"), [(2, 60, "free"), (4, 40, "free"), (3, 60, ""), (2, 150, "full")]
)
def test_persistent_calls(mpi: Mpi, runner: Runner, ranks: int, requests: int, habits: str):
    """Each rank starts its requests in an order of its own, with other collectives between, and frees them when it likes.

    free: their communicators are gone by then. full: there is room for few of them.
    """
    is_all_taken = habits == "free"
    if not is_all_taken and (mpi.family == "intel" or mpi.name == "mpich4"):
        pytest.skip("this MPI's own persistent collectives, natively too, are wrong where orders differ")
    report = runner.scratch / "report.json"
    environment = {"UNISONO_REPORT": str(report)}
    if is_all_taken:
        environment["UNISONO_ALGORITHM"] = ALL_TAKEN
    if habits == "full":
        environment["UNISONO_POOL_BYTES"] = "48M"
    arguments = [seed_of_this_run(), str(requests), *(["multiple", "free"] if is_all_taken else [])]
    command = [compile_program(mpi, "any_order.c"), *arguments]
    result = runner.unisono(mpi, ranks, command, environment, timeout=120)
    assert result.check().output == "OK\n", str(result)
    written = json.loads(report.read_text())
    served = sum(
        entry["calls"]
        for entry in written["classes"]
        if entry["form"] == "persistent" and entry["algorithm"] != "native"
    )
    has_no_room = any("for which there was no room" in entry["reason"] for entry in written["native"])
    assert has_no_room == (habits == "full"), written["native"]
    assert served > (0 if habits == "full" else 4 * requests), written


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("ranks", [2, 3])
def test_persistent_calls_beside_others_and_of_one_process(mpi: Mpi, runner: Runner, ranks: int):
    """In either order of starts beside calls that do not block, on one communicator; and on MPI_COMM_SELF."""
    report = runner.scratch / "report.json"
    arguments = ["no_gather"] if mpi.family == "intel" or mpi.name == "mpich4" else []
    command = [compile_program(mpi, "persistent_beside.c"), *arguments]
    result = runner.unisono(mpi, ranks, command, {"UNISONO_REPORT": str(report)}, timeout=60)
    assert result.check().output == "OK\n", str(result)
    classes = json.loads(report.read_text())["classes"]
    served = {(entry["form"], entry["operation"]) for entry in classes if entry["algorithm"] != "native"}
    both = {(form, name) for form in ("persistent", "non-blocking") for name in ("bcast", "allreduce")}
    assert both <= served, classes


@pytest.mark.in_turns(3, 1)
@pytest.mark.parametrize("threads", [[], ["multiple"]])
def test_persistent_calls_and_objects_of_the_program(mpi: Mpi, runner: Runner, threads: list[str]):
    command = [compile_program(mpi, "persistent_objects.c"), *threads]
    result = runner.unisono(mpi, 2, command, timeout=60)
    assert result.check().output == "OK\n", str(result)


@pytest.mark.in_turns(3, 2)
@pytest.mark.parametrize("set_up_after", ["0", "20"])
@pytest.mark.parametrize("ranks", [2, 5])
def test_none_but_calls_that_do_not_block(mpi: Mpi, runner: Runner, ranks: int, set_up_after: str):
    """Communicators without a blocking call are set up beside the program, and then served."""
    report = runner.scratch / "report.json"
    calls = 200
    command = [compile_program(mpi, "set_up_aside.c"), str(calls)]
    environment = {"UNISONO_SET_UP_AFTER": set_up_after, "UNISONO_REPORT": str(report)}
    result = runner.unisono(mpi, ranks, command, environment, timeout=90)
    if result.status != 0 or result.is_timed_out:
        native = runner.run(mpi, ranks, command, timeout=90)
        pytest.fail(f"under Unisono: {result}\nnatively: {native}")
    assert result.output == "OK\n", str(result)
    written = json.loads(report.read_text())
    served = {
        entry["operation"]: entry["calls"]
        for entry in written["classes"]
        if entry["form"] == "non-blocking" and entry["algorithm"] != "native"
    }
    # A fifth of one loop's calls is of each operation; few of them come before the set-up.
    for operation in ("allreduce", "bcast", "allgather", "alltoall", "barrier"):
        assert served.get(operation, 0) >= calls // 5 * 3 // 4, written
    reasons = {entry["reason"] for entry in written["native"]}
    assert "non-blocking calls while their communicator was being set up" in reasons, written


@pytest.mark.in_turns(3)
def test_none_but_calls_that_do_not_block_between_nodes(mpi: Mpi, runner: Runner):
    """A program with MPI_Init, whose calls go on while its ranks sit in calls of the MPI."""
    report = runner.scratch / "report.json"
    calls = 100
    command = [compile_program(mpi, "set_up_aside.c"), str(calls)]
    environment = {
        "UNISONO_NODES": "2,1,1",
        "UNISONO_PROGRESS": "everywhere",
        "UNISONO_SET_UP_EARLY": "1",
        "UNISONO_REPORT": str(report),
        "UNISONO_ALGORITHM": "alltoall:pairwise,allgather:ring",
    }
    result = runner.unisono(mpi, 4, command, environment, timeout=90)
    assert result.check().output == "OK\n", str(result)
    written = json.loads(report.read_text())
    served = {
        entry["operation"]
        for entry in written["classes"]
        if entry["form"] == "non-blocking" and entry["algorithm"] != "native"
    }
    assert served == {"allreduce", "bcast", "allgather", "alltoall", "barrier"}, written
    reasons = [entry["reason"] for entry in written["native"] if "non-blocking" in entry["reason"]]
    assert reasons == [], written


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
def test_persistent_collectives_of_neighbors(mpi: Mpi, runner: Runner, ranks: int):
    command = [compile_program(mpi, "neighbors.c")]
    result = runner.unisono(mpi, ranks, command, timeout=90)
    if result.status != 0 or result.is_timed_out:
        native = runner.run(mpi, ranks, command, timeout=90)
        pytest.fail(f"under Unisono: {result}\nnatively: {native}")
    assert result.output == "OK\n", str(result)


@pytest.mark.in_turns(2, 1)
def test_set_up_late(mpi: Mpi, runner: Runner):
    """Setting up a communicator leaves alone what an earlier collective of the MPI is still delivering."""
    command = [compile_program(mpi, "set_up_late.c", flags=[HEADER])]
    assert runner.unisono(mpi, 8, command, timeout=90).check().output == "OK\n"


@pytest.mark.parametrize(
    ("name", "binding"), [(mpi.name, binding) for mpi in ALL for binding in mpi.fortran_bindings]
)
def test_fortran(request: pytest.FixtureRequest, runner: Runner, name: str, binding: str):
    mpi = installed(BY_NAME[name], request.config)
    result = runner.unisono(mpi, 3, [compile_program(mpi, f"fortran_{binding}.f90")]).check()
    lines = result.output.splitlines()
    assert lines[-1:] == ["OK"] and len(lines) > 1, str(result)
    assert all(line.startswith("right MPI_") for line in lines[:-1]), str(result)


@pytest.mark.in_turns(3, 1)
@pytest.mark.parametrize("ranks", [2, 5])
def test_mpi4py(mpi: Mpi, runner: Runner, python: str, ranks: int):
    if not mpi.has_mpi4py:
        pytest.skip(f"mpi4py's wheel has no build for {mpi.name}")
    command = [python, PROGRAMS / "collectives.py"]
    result = runner.unisono(mpi, ranks, command, runner.python(mpi), timeout=90)
    assert result.check().output == "OK\n", str(result)


@pytest.mark.in_turns(3, 2)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV], ids=lambda number: number.name)
def test_a_rank_dies_in_a_collective(mpi: Mpi, runner: Runner, number: signal.Signals):
    """The launcher ends the job; no process and no name in /dev/shm of ours stays behind."""
    before = set(Path("/dev/shm").iterdir())
    result = runner.unisono(mpi, 4, [compile_program(mpi, "kill.c"), str(int(number))], timeout=60)
    assert not result.is_timed_out and result.status != 0, str(result)
    assert not result.survivors, str(result)
    ours = [path for path in set(Path("/dev/shm").iterdir()) - before if "unisono" in path.name.lower()]
    assert not ours


@pytest.mark.in_turns(2)
@pytest.mark.parametrize("mode", ["never", "early"])
def test_program_without_calls(mpi: Mpi, runner: Runner, mode: str):
    """A program that is linked with MPI and makes no call, or none that needs MPI_Init."""
    program = compile_program(mpi, "never_init.c")
    result = runner.unisono(mpi, 2, [program, mode]).check()
    assert result.output == "end\nend\n", str(result)
    assert "unisono" not in result.errors.lower(), str(result)


@pytest.mark.in_turns(2)
def test_second_init(mpi: Mpi, runner: Runner):
    """The MPI below refuses a second MPI_Init in its own way, with and without Unisono."""
    command = [compile_program(mpi, "never_init.c"), "twice"]
    native = runner.run(mpi, 2, command, timeout=30)
    result = runner.unisono(mpi, 2, command, timeout=30)
    assert not result.is_timed_out, str(result)
    assert (result.status == 0) == (native.status == 0), f"{native}\n{result}"
    assert result.output.count("returned") == native.output.count("returned"), f"{native}\n{result}"


@pytest.mark.in_turns(3)
def test_program_that_knows_no_mpi(mpi: Mpi, runner: Runner):
    program = compile_program(mpi, "nompi.c")
    result = runner.unisono(mpi, 2, [program, "word"]).check()
    assert result.output == "no MPI here, 1 arguments\n" * 2
    assert (
        runner.unisono(mpi, 2, [program, "exit", "7"]).status
        == runner.run(mpi, 2, [program, "exit", "7"]).status
    )


def test_shim_passes_status_and_signals_through(request: pytest.FixtureRequest):
    program = compile_program(installed(BY_NAME["openmpi5"], request.config), "nompi.c")
    assert run([SHIM, program, "exit", "7"]).status == 7
    assert run([SHIM, program, "signal", str(int(signal.SIGTERM))]).status == -signal.SIGTERM


LARGE_ON_ALL = ["allreduce_c"]
# A job for each MPI, and one for each way to gather, which needs the most memory.
LARGE_CASES = {mpi.name: LARGE_ON_ALL for mpi in ALL if not mpi.is_standard_abi} | {
    # What needs most comes first.
    "openmpi5": ["strided", "bcast_c", *LARGE_ON_ALL, "contiguous", "doubles", "blocks"],
    # What the MPI lacks is put together from what it has.
    "mpich5": ["strided", *LARGE_ON_ALL],
}
LARGE_BYTES = 10 * 2**30  # 9 for a gather, 5 for each of two others side by side


def available_memory() -> int:
    """Return how many bytes this machine can still give to programs."""
    lines = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
    return int(lines["MemAvailable"].split()[0]) * 1024


def run_large(request: pytest.FixtureRequest, runner: Runner, name: str, cases: list[str]) -> None:
    if available_memory() < LARGE_BYTES:
        pytest.skip(f"needs {LARGE_BYTES >> 30} GiB of memory")
    program = compile_program(installed(BY_NAME[name], request.config), "large.c", flags=["-O2"])
    result = runner.unisono(BY_NAME[name], 2, [program, *cases], timeout=250)
    assert result.check().output == "OK\n" * len(cases), str(result)


@pytest.mark.dear
@pytest.mark.in_turns(8)
@pytest.mark.parametrize(("name", "cases"), LARGE_CASES.items(), ids=LARGE_CASES)
def test_more_than_an_int_counts(request: pytest.FixtureRequest, runner: Runner, name: str, cases: list[str]):
    run_large(request, runner, name, cases)


@pytest.mark.dear
@pytest.mark.alone
def test_more_than_an_int_counts_gathered(request: pytest.FixtureRequest, runner: Runner):
    run_large(request, runner, "openmpi5", ["gather_c", "native", "gather_c"])


@pytest.mark.in_turns(3, 1)
@pytest.mark.parametrize("is_child_under_unisono", [False, True], ids=["child-alone", "child-with"])
def test_spawned_processes(mpi: Mpi, runner: Runner, is_child_under_unisono: bool):
    """By option spawn a communicator of two worlds is left to the MPI, which the others may have alone."""
    if mpi.name == "mpich4":
        pytest.skip("Debian's MPICH 4.0.2 cannot spawn")
    program = compile_program(mpi, "spawn.c")
    report = runner.scratch / "report.json"
    child = [SHIM, program] if is_child_under_unisono else [program]
    # Set for the parents alone: the children are a program of their own, whose report would replace this one.
    command = [SHIM, "env", f"UNISONO_REPORT={report}", program, *child]
    result = runner.run(mpi, 2, command, {"I_MPI_SPAWN": "on", "UNISONO_SPAWN": "0"}).check()
    assert result.output == "OK\n", str(result)
    native = {entry["reason"] for entry in json.loads(report.read_text(encoding="utf-8"))["native"]}
    assert any("outside this program's MPI_COMM_WORLD" in reason for reason in native), native


@pytest.mark.in_turns(2, 1)
def test_one_look_behind_a_barrier(mpi: Mpi, runner: Runner):
    """MPI_Win_test behind a barrier finds what was completed before it, though nobody called the MPI inside."""
    result = runner.unisono(mpi, 2, [compile_program(mpi, "windows.c")], timeout=60).check()
    found = re.search(r"missed (\d+) of (\d+)", result.output)
    assert found, str(result)
    assert int(found[1]) <= int(found[2]) // 20, str(result)


@pytest.mark.in_turns(2)
def test_several_programs_in_one_job(mpi: Mpi, runner: Runner):
    """MPMD: ranks of different executables call the collectives together."""
    from_c, from_cxx = (
        compile_program(mpi, "collectives"),
        compile_program(mpi, "collectives", language="c++"),
    )
    sections = ["barrier", "roots", "in_place"]
    programs = [(2, [SHIM, from_c, *sections]), (1, [SHIM, from_cxx, *sections])]
    line = mpi.launch_sections(programs, runner.environment_for_ranks(mpi, 3, None))
    result = runner.run_line(mpi, line)
    assert result.check().output.startswith("OK "), str(result)
