# SPDX-License-Identifier: BSD-3-Clause
"""Real programs from packages give the same results under Unisono, and Unisono really serves them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from harness import Runner, compile_program, installed, registry
from mpis import BY_NAME, Mpi

INPUTS = Path(__file__).resolve().parent / "inputs"
RANKS = 4
# Their ranks have no length in common that could decide. And what there is to gain was not found at these
# numbers of ranks. So the rules may leave them to the MPI.
MAY_BE_LEFT = {"gatherv", "scatterv", "alltoallv", "alltoallw"}

Report = dict[str, Any]


@pytest.fixture
def openmpi4(request: pytest.FixtureRequest) -> Mpi:
    """The MPI that the packages are linked with."""
    return installed(BY_NAME["openmpi4"], request.config)


def program(name: str) -> str:
    found = shutil.which(name)
    assert found, f"{name} is not installed: run tools/setup.sh test"
    return found


def served(report: Path) -> dict[str, set[str]]:
    """Return by which algorithms each operation was served."""
    content: Report = json.loads(report.read_text())
    algorithms: dict[str, set[str]] = {}
    for entry in content["classes"]:
        algorithms.setdefault(entry["operation"], set()).add(entry["algorithm"])
    return algorithms


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("ranks", [2, 4])
def test_every_operation_is_served(mpi: Mpi, runner: Runner, ranks: int):
    """None of the other tests passes because everything was left to the MPI below."""
    report = runner.scratch / "report.json"
    command = [compile_program(mpi, "collectives"), "barrier", "counts"]
    runner.unisono(mpi, ranks, command, {"UNISONO_REPORT": str(report)}).check()
    algorithms = served(report)
    # Neighbours have programs of their own (test_neighbors.py).
    assert set(algorithms) == {
        entry["operation"] for entry in registry() if not entry["operation"].startswith("neighbor_")
    }
    only_native = {operation for operation, names in algorithms.items() if names == {"native"}}
    assert only_native <= MAY_BE_LEFT, algorithms
    barriers = [
        entry for entry in json.loads(report.read_text())["classes"] if entry["operation"] == "barrier"
    ]
    assert sum(entry["calls"] for entry in barriers) > 1
    assert all(entry["bytes"] == 0 for entry in barriers), barriers


def thermodynamics(output: str) -> list[str]:
    """Return the table that LAMMPS prints between its header and its loop time."""
    table = re.search(r"^Step .*?(?=^Loop time)", output, re.MULTILINE | re.DOTALL)
    assert table, output
    return table[0].splitlines()


def test_lammps_prints_the_same(openmpi4: Mpi, runner: Runner):
    report = runner.scratch / "report.json"
    command = [program("lmp"), "-in", INPUTS / "melt.lammps", "-log", "none"]
    native = thermodynamics(runner.run(openmpi4, RANKS, command, timeout=120).check().output)
    result = runner.unisono(openmpi4, RANKS, command, {"UNISONO_REPORT": str(report)}, timeout=120).check()
    assert len(native) == 12
    assert thermodynamics(result.output) == native
    assert served(report)["allreduce"] != {"native"}


def hpcc_summary(directory: Path) -> dict[str, str]:
    text = (directory / "hpccoutf.txt").read_text()
    return dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))


@pytest.mark.dear
def test_hpcc_passes(openmpi4: Mpi, runner: Runner):
    report = runner.scratch / "report.json"
    shutil.copy(INPUTS / "hpccinf.txt", runner.scratch / "hpccinf.txt")
    runner.unisono(openmpi4, RANKS, [program("hpcc")], {"UNISONO_REPORT": str(report)}, timeout=240).check()
    summary = hpcc_summary(runner.scratch)
    assert summary["Success"] == "1"
    for name in ("PTRANS_residual", "HPL_RnormI"):
        # A test that could not run leaves -1.
        assert 0 <= float(summary[name]) < 1e-3, f"{name}={summary[name]}"
    assert int(summary["CommWorldProcs"]) == RANKS
    assert any(names != {"native"} for names in served(report).values())
