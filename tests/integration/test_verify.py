# SPDX-License-Identifier: BSD-3-Clause
"""Self-check and quarantine: right algorithms pass on every MPI, wrong ones are caught, reported and not used any more.

Wrong ones are in adapters of their own, in the build's faulty/, which nothing but these tests loads.
"""

from __future__ import annotations

import json
import re

import pytest
from harness import BUILD, Runner, compile_program, installed, seed_of_this_run
from mpis import BY_NAME, Mpi

pytestmark = pytest.mark.each_library

FAULTY_SHIM = BUILD / "faulty/bin/unisono-exec"
SPOILED = ["allreduce", "scan", "allgather", "bcast"]
TIMEOUT = 100
# Settings that lead calls through other algorithms.
SETTINGS = {
    "rules": {},
    "pretended nodes": {"UNISONO_NODES": "2,2"},
    "messages": {"UNISONO_SHARED_MEMORY": "0"},
    "reproducible": {"UNISONO_REPRODUCIBLE": "1"},
}


@pytest.mark.in_turns(3, 2)
@pytest.mark.parametrize("setting", SETTINGS)
def test_right_algorithms_pass(mpi: Mpi, runner: Runner, setting: str):
    # MPICH 4 crashes in its own MPI_Reduce in place, which a check calls.
    words = ["faults"] if mpi.name == "mpich4" else []
    environment = {"UNISONO_VERIFY": "all", **SETTINGS[setting]}
    command = [compile_program(mpi, "verify.c"), *words]
    result = runner.unisono(mpi, 4, command, environment, timeout=TIMEOUT).check()
    assert "RIGHT" in result.output and "was wrong" not in result.errors, str(result)


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("how", ["all", "sample"])
def test_wrong_algorithms_are_quarantined(mpi: Mpi, runner: Runner, how: str):
    environment = {
        "UNISONO_VERIFY": how,
        "UNISONO_ALGORITHM": "all:faulty",
        "UNISONO_REPORT": str(runner.scratch / "report.json"),
        "UNISONO_VERIFY_INPUTS": str(runner.scratch / "mismatch"),
    }
    command = [FAULTY_SHIM, compile_program(mpi, "verify.c"), "faults"]
    result = runner.run(mpi, 4, command, environment, timeout=TIMEOUT).check()
    assert "RIGHT" in result.output, str(result)
    for operation in SPOILED:
        # Once: every rank knows of it from then on.
        assert result.errors.count(f"unisono: {operation}:faulty was wrong on 4 ranks") == 1, str(result)
        files = sorted(runner.scratch.glob(f"mismatch-{operation}-*.json"))
        assert len(files) == 4
        contents = [json.loads(file.read_text()) for file in files]
        assert [content["unisono"] == content["mpi"] for content in contents] == [True, True, True, False]
    assert re.search(
        r"to see it again +UNISONO_VERIFY=all UNISONO_ALGORITHM='allreduce:faulty'", result.errors
    )
    report = json.loads((runner.scratch / "report.json").read_text())
    reasons = [row["reason"] for row in report["classes"] if row["operation"] in SPOILED]
    assert sum("is quarantined" in reason for reason in reasons) >= len(SPOILED)
    assert sum("is quarantined" in warning for warning in report["warnings"]) >= len(SPOILED)


# The forms of calls that do not block.
FORMS = ["started", "persistent"]


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_right_algorithms_pass_without_blocking(mpi: Mpi, runner: Runner, setting: str, form: str):
    environment = {"UNISONO_VERIFY": "all", "UNISONO_PROGRESS": "calls", **SETTINGS[setting]}
    command = [compile_program(mpi, "verify_started.c"), form]
    result = runner.unisono(mpi, 4, command, environment, timeout=TIMEOUT).check()
    assert "RIGHT" in result.output and "was wrong" not in result.errors, str(result)


@pytest.mark.in_turns(3, 2)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("how", ["all", "sample"])
def test_wrong_algorithms_are_replaced_without_blocking(mpi: Mpi, runner: Runner, how: str, form: str):
    """No blocking collective of the program's comes in between: the next call knows, and is right."""
    environment = {
        "UNISONO_VERIFY": how,
        "UNISONO_PROGRESS": "calls",
        "UNISONO_ALGORITHM": "all:faulty",
        "UNISONO_REPORT": str(runner.scratch / "report.json"),
        "UNISONO_VERIFY_INPUTS": str(runner.scratch / "mismatch"),
    }
    command = [FAULTY_SHIM, compile_program(mpi, "verify_started.c"), form, "faults"]
    result = runner.run(mpi, 4, command, environment, timeout=TIMEOUT).check()
    assert "RIGHT" in result.output, str(result)
    for operation in SPOILED:
        assert result.errors.count(f"unisono: {operation}:faulty was wrong on 4 ranks") == 1, str(result)
        files = sorted(runner.scratch.glob(f"mismatch-{operation}-*.json"))
        assert len(files) == 4, str(result)
        contents = [json.loads(file.read_text()) for file in files]
        assert [content["unisono"] == content["mpi"] for content in contents] == [True, True, True, False]
    report = json.loads((runner.scratch / "report.json").read_text())
    rows = [row for row in report["classes"] if row["operation"] in SPOILED and row["form"] != "blocking"]
    assert sum(row["calls"] for row in rows if row["algorithm"] == "faulty") == len(SPOILED), rows
    assert sum("is quarantined" in warning for warning in report["warnings"]) >= len(SPOILED)


@pytest.mark.dear
@pytest.mark.in_turns(4)
def test_random_calls_that_do_not_block(mpi: Mpi, runner: Runner):
    """Many under way, with types, operators and communicators freed; each checked, by algorithms right and wrong."""
    command = [compile_program(mpi, "nonblocking.c"), seed_of_this_run()]
    result = runner.unisono(mpi, 4, command, {"UNISONO_VERIFY": "all"}, timeout=TIMEOUT).check()
    assert result.output == "OK\n" and "was wrong" not in result.errors, str(result)
    environment = {"UNISONO_VERIFY": "all", "UNISONO_ALGORITHM": "all:faulty", "UNISONO_VERIFY_INPUTS": ""}
    result = runner.run(mpi, 4, [FAULTY_SHIM, *command], environment, timeout=TIMEOUT).check()
    assert result.output == "OK\n", str(result)


def test_the_fault_is_there(request: pytest.FixtureRequest, runner: Runner):
    """Without checks the program sees wrong results."""
    mpi = installed(BY_NAME["openmpi5"], request.config)
    command = [FAULTY_SHIM, compile_program(mpi, "verify.c"), "faults"]
    result = runner.run(mpi, 4, command, {"UNISONO_ALGORITHM": "all:faulty"}, timeout=TIMEOUT)
    assert "WRONG" in result.output, str(result)
