# SPDX-License-Identifier: BSD-3-Clause
"""Programs that spawn others: each world is served, and so are communicators over parents and children."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from harness import BUILD, SHIM, Cluster, Runner, compile_program, installed
from mpis import BY_NAME, Layout, Mpi

OUTSIDE = "outside this program's MPI_COMM_WORLD"
# What an MPI cannot do natively either. (Debian's MPICH 4.0.2 cannot spawn at all.) MPICH 5 stands still where spawned
# processes spawn others, where a program is not there, and where children end before their MPI_Init. Open MPI 5 does in
# the last case, and where one of two programs is not there. Open MPI 4 ends by SIGPIPE where nothing is freed.
FAILS_NATIVELY = {
    (mpi, way) for mpi in ("mpich5", "mpich5_abi") for way in ("nested", "missing", "absent", "exit")
}
FAILS_NATIVELY |= {("openmpi4", "kept"), ("openmpi5", "absent"), ("openmpi5", "exit")}


def settings_of(mpi: Mpi, **own: str) -> dict[str, str]:
    """Return what jobs that spawn need. MPICH 5 loses messages between two worlds now and then, natively too."""
    return {
        "I_MPI_SPAWN": "on",
        **({"SPAWN_SILENT": "1"} if mpi.family == "mpich" else {}),
        **own,
    }


def spawning(mpi: Mpi, way: str, program: str = "spawn_worlds.c") -> Path:
    if mpi.name == "mpich4":
        pytest.skip("Debian's MPICH 4.0.2 cannot spawn")
    if (mpi.name, way) in FAILS_NATIVELY:
        pytest.skip(f"{mpi.name} cannot do this natively either")
    return compile_program(mpi, program)


def read(file: Path) -> dict[str, Any]:
    return json.loads(file.read_text(encoding="utf-8"))


def served_on(report: dict[str, Any], ranks: int) -> set[str]:
    """Return the operations that algorithms of Unisono's have served on communicators of so many ranks."""
    return {
        entry["operation"]
        for entry in report["classes"]
        if entry["algorithm"] != "native" and entry["shape"].startswith(f"{ranks} ranks")
    }


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("way", ["once", "multiple", "self", "nested", "early", "alone", "kept"])
def test_worlds(mpi: Mpi, runner: Runner, way: str):
    program = spawning(mpi, way)
    report = runner.scratch / "report.json"
    result = runner.unisono(mpi, 2, [program, way], settings_of(mpi, UNISONO_REPORT=str(report)), timeout=90)
    assert result.check().output == "OK\n", str(result)
    of_parents, of_children = read(report), read(runner.scratch / "report.spawned-0.1.json")
    assert {"allreduce", "alltoall", "bcast"} <= served_on(of_parents, 2)
    assert {"allreduce", "alltoall", "bcast"} <= served_on(of_children, 2)
    assert any("has spawned" in hint for hint in of_parents["hints"]), of_parents["hints"]
    over_both = 3 if way == "self" else 4
    for of_side in [] if way == "alone" else [of_parents, of_children]:
        assert {"allreduce", "alltoall", "bcast"} <= served_on(of_side, over_both), of_side["classes"]
        # Those that do not block are the MPI's there.
        left = {entry["operation"] for entry in of_side["native"] if OUTSIDE in entry["reason"]}
        assert left == {"allreduce"}, of_side["native"]
    names = {"self": ["0.1", "1.1"], "nested": ["0.1", "0.1.0.1"]}.get(way, ["0.1"])
    found = sorted(file.name for file in runner.scratch.glob("report*.json"))
    assert found == sorted(["report.json", *(f"report.spawned-{name}.json" for name in names)])


@pytest.mark.in_turns(3, 1)
@pytest.mark.parametrize("messages", ["node", "all"])
@pytest.mark.parametrize("nodes", ["2", "1,1"])
def test_messages_are_carried_in_each_world_alone(mpi: Mpi, runner: Runner, messages: str, nodes: str):
    program = spawning(mpi, "once")
    settings = settings_of(mpi, UNISONO_MESSAGES=messages, UNISONO_NODES=nodes)
    result = runner.unisono(mpi, 2, [program, "once"], settings, timeout=90)
    assert result.check().output == "OK\n", str(result)


@pytest.mark.in_turns(3, 2)
@pytest.mark.parametrize("reason", ["script", "option"])
def test_children_without_unisono(mpi: Mpi, runner: Runner, reason: str):
    """What they share with their parents is the MPI's, and nobody waits for who does not answer."""
    program = spawning(mpi, "once")
    report = runner.scratch / "report.json"
    settings = settings_of(mpi, UNISONO_REPORT=str(report))
    if reason == "script":
        script = runner.scratch / "without.sh"
        script.write_text(f'#!/bin/sh\nunset LD_PRELOAD\nexec "{program}" "$@"\n', encoding="utf-8")
        script.chmod(0o755)
        settings["SPAWN_PROGRAM"] = str(script)
    else:
        settings["UNISONO_SPAWN"] = "0"
    result = runner.unisono(mpi, 2, [program, "once"], settings, timeout=90)
    assert result.check().output == "OK\n", str(result)
    assert served_on(read(report), 4) == set()
    assert any(OUTSIDE in entry["reason"] for entry in read(report)["native"])
    assert not list(runner.scratch.glob("report.spawned-*"))


@pytest.mark.in_turns(2)
def test_spawns_again_and_again(mpi: Mpi, runner: Runner):
    """Each with a communicator over both sides: neither memory nor files of ours are left."""
    program = spawning(mpi, "loop")
    before = set(Path("/dev/shm").iterdir())
    result = runner.unisono(mpi, 2, [program, "loop"], settings_of(mpi, SPAWN_MOST_FILES="4"), timeout=120)
    assert result.check().output == "OK\n", str(result)
    left = {file.name for file in set(Path("/dev/shm").iterdir()) - before}
    assert not {name for name in left if "unisono" in name}


@pytest.mark.in_turns(2, 1)
def test_programs_that_are_not_there(mpi: Mpi, runner: Runner):
    program = spawning(mpi, "missing")
    environment = settings_of(mpi, SPAWN_PROGRAM="/there/is/no/such/program")
    natively = runner.run(mpi, 2, [program, "missing"], environment)
    result = runner.unisono(mpi, 2, [program, "missing"], environment)
    assert (result.status, result.output) == (natively.status, natively.output), str(result)


@pytest.mark.in_turns(2)
def test_unisono_run_shows_reports_of_children(mpi: Mpi, runner: Runner):
    """The options of the command line reach the children."""
    program = spawning(mpi, "once")
    report = runner.scratch / "run.json"
    old = runner.scratch / "run.spawned-0.7.json"
    old.write_text('{"schema": "unisono-report"}', encoding="utf-8")
    line = mpi.launch(2, [program, "once"], runner.environment_for_ranks(mpi, 2, settings_of(mpi)))
    line = [
        str(BUILD / "bin/unisono"),
        "run",
        "--report",
        str(report),
        "--algorithm",
        "bcast:binomial",
        *line,
    ]
    result = runner.run_line(mpi, line, timeout=90)
    assert result.check().output == "OK\n", str(result)
    of_children = read(runner.scratch / "run.spawned-0.1.json")
    used = {entry["algorithm"] for entry in of_children["classes"] if entry["operation"] == "bcast"}
    assert used == {"binomial"}, used
    assert not old.exists()


@pytest.mark.in_turns(4, 1)
@pytest.mark.parametrize("way", ["words", "none", "single", "script"])
def test_what_children_are_given(mpi: Mpi, runner: Runner, way: str):
    """Arguments, folder and number of the program, and the codes of errors: as natively."""
    program = spawning(mpi, way, "spawn_ends.c")
    settings = settings_of(mpi)
    if way == "script":
        way = "words"
        script = runner.scratch / "script.sh"
        script.write_text(f'#!/bin/sh\n"{program}" "$@"\n', encoding="utf-8")
        script.chmod(0o755)
        settings["SPAWN_PROGRAM"] = str(script)
    natively = runner.run(mpi, 2, [program, way], settings).check()
    result = runner.unisono(mpi, 2, [program, way], settings).check()
    assert result.output == natively.output, str(result)
    assert result.output.startswith("class 0, of each 0 0\nprogram 0 in /"), str(result)


@pytest.mark.in_turns(5, 1)
@pytest.mark.parametrize("way", ["killed", "aborted", "quiet", "exit", "absent"])
def test_children_that_end_badly(mpi: Mpi, runner: Runner, way: str):
    """The job ends as natively, and soon."""
    program = spawning(mpi, way, "spawn_ends.c")
    settings = settings_of(mpi)
    parents = ["env", "SPAWN_PARENT=1"]
    natively = runner.run(mpi, 2, [*parents, program, way], settings)
    result = runner.unisono(mpi, 2, [*parents, SHIM, program, way], settings)
    for ended in (natively, result):
        assert ended.status != 0 and not ended.is_timed_out and not ended.survivors, str(ended)
    # Behind that launchers of MPICH's kind name processes.
    assert result.output.splitlines()[:1] == natively.output.splitlines()[:1], str(result)


def test_settings_longer_than_a_line_of_the_launcher(mpi: Mpi, runner: Runner):
    """Intel MPI's launcher ends a job that spawns with them: the children run without Unisono."""
    program = spawning(mpi, "alone")
    report = runner.scratch / "report.json"
    settings = settings_of(mpi, UNISONO_REPORT=str(report), UNISONO_MACHINE="/" + "x" * 5000)
    result = runner.unisono(mpi, 2, [program, "alone"], settings, timeout=90)
    assert result.check().output == "OK\n", str(result)
    assert [file.name for file in runner.scratch.glob("report*")] == ["report.json"]


def test_parents_that_have_stepped_aside(runner: Runner, request: pytest.FixtureRequest):
    """Children that have Unisono learn of it, and wait for no answer."""
    mpi = installed(BY_NAME["intel"], request.config)
    program = spawning(mpi, "once")
    command = ["env", "MPIR_CVAR_ENABLE_FT=1", SHIM, program, "once"]
    result = runner.run(mpi, 2, command, settings_of(mpi), timeout=90)
    assert result.check().output == "OK\n", str(result)
    assert "the MPI's fault tolerance is switched on" in result.errors, str(result)


# Intel MPI's launcher fails an assertion of its own there, natively too.
SPAWN_ON_HOSTS = {
    "openmpi4": "host=node0,node1 map_by=node",
    "openmpi5": "host=node0,node1 map_by=node",
    "mpich5": "host=node0,node1",
    "mpich5_abi": "host=node0,node1",
}


@pytest.mark.cluster
@pytest.mark.in_turns(2)
def test_children_on_several_hosts(cluster_mpi: Mpi, runner: Runner, cluster: Cluster):
    """They are served inside their own world; communicators over both are the MPI's."""
    if cluster_mpi.name not in SPAWN_ON_HOSTS:
        pytest.skip(f"{cluster_mpi.name} cannot do this natively either")
    program = spawning(cluster_mpi, "hosts")
    report = runner.scratch / "report.json"
    settings = settings_of(
        cluster_mpi, UNISONO_REPORT=str(report), SPAWN_INFO=SPAWN_ON_HOSTS[cluster_mpi.name]
    )
    result = runner.unisono(
        cluster_mpi, 2, [program, "hosts"], settings, timeout=120, cluster=cluster, layout=Layout((4, 4))
    )
    assert result.check().output == "OK\n", str(result)
    of_parents, of_children = read(report), read(runner.scratch / "report.spawned-0.1.json")
    assert {"allreduce", "alltoall", "bcast"} <= served_on(of_parents, 2)
    assert {"allreduce", "alltoall", "bcast"} <= served_on(of_children, 2)
    for of_side in (of_parents, of_children):
        assert served_on(of_side, 4) == set()
        assert any(OUTSIDE in entry["reason"] for entry in of_side["native"])


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("has_key", [False, True])
def test_launchers_find_the_programs_that_they_find_natively(
    mpi: Mpi, runner: Runner, has_key: bool, monkeypatch: pytest.MonkeyPatch
):
    """Two files have the name: one is in PATH, and one where info key `path` says."""
    program = spawning(mpi, "where", "spawn_where.c")
    folders = [runner.scratch / name for name in ("of_path", "of_key")]
    for folder in folders:
        folder.mkdir()
        shutil.copy(program, folder / "child")
    command = [program, folders[0], *([folders[1]] if has_key else [])]
    monkeypatch.setenv("PATH", f"{folders[0]}:{os.environ['PATH']}")  # Open MPI 5's launcher looks by its own
    environment = settings_of(mpi, PATH=os.environ["PATH"])
    natively = runner.run(mpi, 1, command, environment, timeout=60).check().output
    assert natively.strip() in {str(folder / "child") for folder in folders}
    assert runner.unisono(mpi, 1, command, environment, timeout=60).check().output == natively
