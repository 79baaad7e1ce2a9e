# SPDX-License-Identifier: BSD-3-Clause
"""What a profile counts is what the program called: functions, sizes, partners, in all languages and under all MPIs."""

from __future__ import annotations

import json
import sys
from typing import Any

import harness
import job
import jsonschema
import mpis
import pytest
from harness import PROGRAMS, Cluster, Runner, compile_program, installed
from mpis import ALL, BY_NAME, ROOT, Layout, Mpi

SELF, NEAR, FAR, NONE = "same rank", "same node", "other node", "none"
# function: what each cell holds, (size, partner): (calls, bytes), of four ranks on two nodes.
KNOWN = {
    "MPI_Send": {("512 B", NEAR): (20, 8000)},
    "MPI_Recv": {("512 B", NEAR): (20, 8000)},
    "MPI_Isend": {("8 B", FAR): (20, 160)},
    "MPI_Irecv": {("8 B", FAR): (20, 160)},
    "MPI_Waitall": {("0 B", NONE): (24, 0)},
    "MPI_Sendrecv": {("8 B", SELF): (12, 84)},
    "MPI_Ssend": {("0 B", NONE): (8, 0)},
    "MPI_Send_init": {("0 B", NONE): (4, 0)},
    "MPI_Start": {("4 B", FAR): (16, 64), ("0 B", FAR): (16, 0)},
    "MPI_Startall": {("4 B", FAR): (4, 16)},
    "MPI_Request_free": {("0 B", NONE): (8, 0)},
    "MPI_Sendrecv_replace": {("8 B", NEAR): (4, 32), ("16 B", NEAR): (4, 64), ("32 B", NEAR): (4, 96)},
    "MPI_Type_free": {("0 B", NONE): (12, 0)},
    "MPI_Allreduce": {("8 B", FAR): (12, 96)},
    "MPI_Bcast": {("512 B", FAR): (4, 1600)},
    "MPI_Alltoall": {("32 B", FAR): (4, 128)},
    "MPI_Alltoallv": {("64 B", FAR): (4, 160)},
    "MPI_Gather": {("8 B", FAR): (4, 32)},
    "MPI_Allgather": {("4 B", NEAR): (4, 16), ("4 B", SELF): (4, 16)},
    "MPI_Ibarrier": {("0 B", FAR): (4, 0)},
    "MPI_Neighbor_alltoall": {("32 B", FAR): (4, 96)},
    "MPI_Put": {("16 B", FAR): (4, 64), ("8 B", SELF): (4, 32)},
    "MPI_Win_fence": {("0 B", NONE): (8, 0)},
    "MPI_File_write_at_all": {("64 B", NONE): (4, 160)},
    "MPI_Barrier": {("0 B", FAR): (4, 0)},  # seven more while the profile is off
    "MPI_Iprobe": {("0 B", NONE): (400, 0)},
    "MPI_Comm_free": {("0 B", NONE): (12, 0)},
}
# Of two ranks on one node, as the programs of other languages call them.
KNOWN_OF_TWO = {
    "MPI_Send": {("512 B", NEAR): (5, 2000)},
    "MPI_Recv": {("512 B", NEAR): (5, 2000)},
    "MPI_Allreduce": {("8 B", NEAR): (6, 48)},
}
SCHEMA = json.loads((ROOT / "python/unisono/schema/report.schema.json").read_text())


def cells(profile: dict[str, Any]) -> dict[str, dict[tuple[str, str], tuple[int, int]]]:
    """What each function's cells hold; forms for large counts are counted with the others."""
    found: dict[str, dict[tuple[str, str], tuple[int, int]]] = {}
    for row in profile["functions"]:
        name = row["function"].removesuffix("_c")
        for cell in row["cells"]:
            found.setdefault(name, {})[cell["size_class"], cell["partner"]] = (cell["calls"], cell["bytes"])
    return found


def profile_of(
    runner: Runner, mpi: Mpi, ranks: int, command: list[Any], environment: dict[str, str], **settings: Any
) -> dict[str, Any]:
    file = runner.scratch / "profile.json"
    file.unlink(missing_ok=True)
    wanted = {"UNISONO_PROFILE": "1", "UNISONO_REPORT": str(file), **environment}
    result = runner.unisono(mpi, ranks, command, wanted, **settings)
    assert result.check().output == "OK\n", str(result)
    report = json.loads(file.read_text())
    jsonschema.validate(report, SCHEMA)
    profile: dict[str, Any] = report["profile"]
    assert profile["ranks"] == ranks
    return profile


@pytest.mark.in_turns(2)
@pytest.mark.parametrize("enable", ["0", "1"], ids=["native", "unisono"])
def test_known_calls(mpi: Mpi, runner: Runner, enable: str):
    """Natively and under Unisono, whose own messages are not the program's."""
    if enable == "1" and mpi.name not in ("openmpi4", "mpich4"):
        pytest.skip("one MPI of each family under Unisono")
    command = [compile_program(mpi, "profile.c"), str(runner.scratch / "written")]
    settings = {"UNISONO_NODES": "2x2", "UNISONO_ENABLE": enable}
    profile = profile_of(runner, mpi, 4, command, settings)
    found = cells(profile)
    assert {name: found.get(name) for name in KNOWN} == KNOWN
    assert profile["threads"] == 1
    assert 0 < profile["in_mpi_s"]["max"] <= profile["run_s"]["max"]


@pytest.mark.cluster
def test_nodes(cluster_mpi: Mpi, runner: Runner, cluster: Cluster):
    """Where partners are is found out, not only believed."""
    if cluster_mpi.name != "openmpi4":
        pytest.skip("one MPI across nodes")
    command = [compile_program(cluster_mpi, "profile.c"), str(runner.scratch / "written")]
    found = cells(
        profile_of(
            runner,
            cluster_mpi,
            4,
            command,
            {"UNISONO_ENABLE": "0", "OMPI_MCA_osc": "pt2pt"},
            cluster=cluster,
            layout=Layout((2, 2)),
        )
    )
    for name in ("MPI_Send", "MPI_Isend", "MPI_Sendrecv", "MPI_Put", "MPI_Allgather"):
        assert found[name] == KNOWN[name]


@pytest.mark.in_turns(2)
@pytest.mark.parametrize(
    ("name", "binding"), [(mpi.name, binding) for mpi in ALL for binding in mpi.fortran_bindings]
)
def test_fortran(request: pytest.FixtureRequest, runner: Runner, name: str, binding: str):
    mpi = installed(BY_NAME[name], request.config)
    command = [compile_program(mpi, f"profile_{binding}.f90")]
    found = cells(profile_of(runner, mpi, 2, command, {"UNISONO_ENABLE": "0"}))
    expected = {
        **KNOWN_OF_TWO,
        "MPI_Sendrecv": {("8 B", SELF): (2, 16)},
        "MPI_Bcast": {("512 B", NEAR): (2, 800)},
    }
    assert {key: found.get(key) for key in expected} == expected


@pytest.mark.in_turns(2, 1)
def test_mpi4py(mpi: Mpi, runner: Runner):
    """Which of the two forms of a function it calls differs by MPI."""
    if not mpi.has_mpi4py:
        pytest.skip(f"mpi4py's wheel has no build for {mpi.name}")
    environment = runner.python(mpi, {"UNISONO_ENABLE": "0"})
    profile = profile_of(runner, mpi, 2, [sys.executable, PROGRAMS / "profile.py"], environment)
    found = cells(profile)
    assert {name: found.get(name) for name in KNOWN_OF_TWO} == KNOWN_OF_TWO


COMMAND = [sys.executable, "-m", "unisono", "profile"]


def test_command(runner: Runner, request: pytest.FixtureRequest):
    """The command shows tables and a verdict, or says why there are none."""
    mpi = installed(BY_NAME["openmpi4"], request.config)
    environment = {**mpis.launcher_environment(mpi), "UNISONO_HOME": str(harness.BUILD)}
    program = [compile_program(mpi, "profile.c"), str(runner.scratch / "written")]
    shown = job.run([*COMMAND, "--", *mpi.launch(4, program)], environment, directory=runner.scratch).check()
    assert shown.output == "OK\n"
    assert "By function" in shown.errors and "MPI_Iprobe" in shown.errors
    assert "% of the run" in shown.errors
    ended = job.run(
        [*COMMAND, "--", *mpi.launch(2, [*program, "abort"])], environment, directory=runner.scratch
    )
    assert ended.status != 0
    assert "before its MPI_Finalize" in ended.errors and "there is no profile" in ended.errors
    assert not list(runner.scratch.glob(".unisono-*"))
