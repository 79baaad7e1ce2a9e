# SPDX-License-Identifier: BSD-3-Clause
"""Collectives with buffers in the memory of a real GPU: `make check-device`.

The programs are those of tests/integration/test_device_memory.py, which has a stand-in for the GPU.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from device_calls import PREFERRED, forced
from gpus import Installed, cuda_library
from harness import Runner, compile_program, registry

LARGE = "16777216"
OPERATIONS = {entry["operation"] for entry in registry()} - {"barrier"}


def run(
    installed: Installed, runner: Runner, ranks: int, *words: str, settings: Mapping[str, str]
) -> dict[str, Any]:
    program = compile_program(installed.mpi, "device_memory.c", flags=["-ldl"])
    report = runner.scratch / "report.json"
    environment = {"UNISONO_REPORT": str(report), **settings}
    result = runner.unisono(
        installed.mpi, ranks, [program, cuda_library(), *words], environment, timeout=200
    ).check()
    assert f"RIGHT {ranks}" in result.output, str(result)
    assert "was wrong" not in result.errors, str(result)
    return json.loads(report.read_text())


# Ranks take turns on one GPU, which takes long.
WAYS_AND_RANKS = [("shared", 2), ("shared", 8), *((way, 4) for way in PREFERRED)]


@pytest.mark.parametrize(("way", "ranks"), WAYS_AND_RANKS)
def test_all_operations_and_kinds_of_memory(installed: Installed, runner: Runner, way: str, ranks: int):
    settings = {**forced(way), "UNISONO_PROGRESS": "calls"}
    if way == "messages":
        settings["UNISONO_NODES"] = f"{ranks // 2},{ranks // 2}"
    if ranks == 2:
        settings["UNISONO_ALGORITHM"] = settings["UNISONO_ALGORITHM"].replace("bundles", "linear")
    # Calls that do not block go otherwise than through lines.
    report = run(installed, runner, ranks, *(["blocking"] if way == "fused" else []), settings=settings)
    served = {row["operation"] for row in report["classes"] if row["algorithm"] != "native"}
    assert served >= OPERATIONS, report["classes"]


@pytest.mark.parametrize(
    "words", [("everywhere", "blocking", LARGE), ("one", "1048576")], ids=["everywhere", "one"]
)
def test_large_calls(installed: Installed, runner: Runner, words: tuple[str, ...]):
    run(installed, runner, 4, *words, settings={**forced("shared"), "UNISONO_PROGRESS": "calls"})


def test_a_thread_that_has_no_context(installed: Installed, runner: Runner):
    """Calls that do not block are ended by a thread of Unisono's, which has done nothing with the GPU."""
    run(installed, runner, 2, "early", settings={**forced("shared"), "UNISONO_PROGRESS": "thread"})


def test_the_mpi_itself(aware: Installed, runner: Runner):
    """Natively: what else is compared with it is right."""
    program = compile_program(aware.mpi, "device_memory.c", flags=["-ldl"])
    command = [program, cuda_library(), "everywhere", "blocking", *aware.words]
    result = runner.run(aware.mpi, 4, command, aware.if_aware, timeout=200).check()
    assert "RIGHT 4" in result.output, str(result)


def test_native_is_the_default_where_the_mpi_takes_such_memory(aware: Installed, runner: Runner):
    reason = "whose memory the MPI takes as it is"
    used = {**(aware.if_aware or {}), "UNISONO_PROGRESS": "calls"}
    assert reason in json.dumps(run(aware, runner, 2, "used", "everywhere", *aware.words, settings=used))
    made = run(aware, runner, 2, "used", "everywhere", settings={**used, **forced("shared")})
    assert reason not in json.dumps(made)


def test_self_check(aware: Installed, runner: Runner):
    settings = {
        **(aware.if_aware or {}),
        "UNISONO_VERIFY": "all",
        "UNISONO_PROGRESS": "calls",
        **forced("shared"),
    }
    report = run(aware, runner, 4, *aware.words, settings=settings)
    assert {row["operation"] for row in report["classes"] if row["checks"] > 0} >= OPERATIONS
    assert sum(row["mismatches"] for row in report["classes"]) == 0, report["classes"]


@pytest.mark.parametrize("where", ["cupy", "torch", "loaded", "none"])
def test_mpi4py(installed: Installed, runner: Runner, where: str):
    """Arrays of CuPy and PyTorch; a process that has loaded the driver, and uses no GPU; one that has not loaded it."""
    pytest.importorskip("mpi4py")
    if where in ("cupy", "torch"):
        pytest.importorskip(where)
    program = Path(__file__).parent / "python_arrays.py"
    report = runner.scratch / "report.json"
    environment = {**forced("shared"), "UNISONO_REPORT": str(report)}
    environment = runner.python(installed.mpi, environment)
    result = runner.unisono(
        installed.mpi, 4, [sys.executable, program, where], environment, timeout=200
    ).check()
    assert "RIGHT 4" in result.output, str(result)
    calls = [row for row in json.loads(report.read_text())["classes"] if row["algorithm"] != "native"]
    assert {"allreduce", "alltoall", "bcast", "neighbor_alltoall"} <= {row["operation"] for row in calls}
