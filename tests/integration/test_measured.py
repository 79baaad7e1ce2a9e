# SPDX-License-Identifier: BSD-3-Clause
"""What `unisono machine measure` has found of waits and buffers decides, where its file is there."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from harness import Runner, compile_program
from mpis import Mpi
from unisono.machine.host import are_sessions_grouped

pytestmark = pytest.mark.each_library


def between(low: float, high: float) -> dict[str, float]:
    return {"value": (low + high) / 2, "low": low, "high": high}


def machine(waits_us: dict[str, Any]) -> str:
    """Four numbers, and what was found."""
    link = {"hockney": {"alpha_us": 1, "beta_us_per_byte": 1e-4}}
    buffers = [
        {"piece_bytes": piece, "buffers": 4, "us": between(us, 1.1 * us)}
        for piece, us in ((1 << 14, 2.0), (1 << 16, 5.0), (1 << 18, 60.0))
    ]
    findings = {"waits_us": waits_us, "buffers": buffers}
    known = {"schema": "unisono-machine", "version": 1, "node": link, "network": link}
    return json.dumps(known | {"findings": findings})


def said(runner: Runner, mpi: Mpi, **options: str) -> str:
    file = runner.scratch / "report.json"
    environment = {"UNISONO_REPORT": str(file)} | {f"UNISONO_{key}": value for key, value in options.items()}
    result = runner.unisono(mpi, 2, [compile_program(mpi, "collectives"), "barrier"], environment).check()
    assert result.output.startswith("OK "), str(result)
    return str(json.loads(file.read_text()).get("measured_here", ""))


def are_scheduled_apart(runner: Runner, mpi: Mpi) -> bool:
    """Whether the kernel schedules by session, and this launcher's ranks are in several."""
    session = [sys.executable, "-c", "import os; print(os.getsid(0))"]
    sessions = set(runner.run(mpi, 2, session).check().output.split())
    return are_sessions_grouped() and len(sessions) > 1


@pytest.mark.in_turns(2)
def test_ranks_of_several_sessions_sleep(mpi: Mpi, runner: Runner):
    """Where they share cores. Else a yield goes to another rank."""
    file = runner.scratch / "report.json"
    command = [compile_program(mpi, "collectives"), "barrier", "counts", "roots"]
    for ranks, cores, expected in (
        (3, "1", "sleep" if are_scheduled_apart(runner, mpi) else "yield"),
        (2, "2", "pause"),
    ):
        environment = {"UNISONO_REPORT": str(file), "UNISONO_CORES": cores, "UNISONO_MACHINE": "none"}
        assert runner.unisono(mpi, ranks, command, environment, timeout=120).check().output.startswith("OK ")
        assert json.loads(file.read_text())["waits"] == expected


@pytest.mark.in_turns(2, 1)
def test_what_was_measured_decides(mpi: Mpi, runner: Runner):
    """The user's word holds before it."""
    file: Path = runner.scratch / "machine.json"
    file.write_text(machine({"yield": between(10, 11), "futex": between(5, 6)}))
    both = "ranks that share cores wait by 'futex'; buffers of 256K for each rank"
    if are_scheduled_apart(runner, mpi):
        both = "buffers of 256K for each rank"
    assert said(runner, mpi, MACHINE=str(file), CORES="1") == both
    assert said(runner, mpi, MACHINE=str(file), WAIT="yield", CHANNEL_BYTES="4M") == ""
