# SPDX-License-Identifier: BSD-3-Clause
"""Buffers in the memory of GPUs, which the host cannot read: a stand-in's, since the machines of the tests have no GPU.

Its memory is mapped without access, so that whatever touches it dies; the natives of these MPIs would, too.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from device_calls import PREFERRED, forced
from harness import COMPILED, PROGRAMS, Runner, compile_program, installed, is_outdated
from mpis import BY_NAME, Mpi

RANKS = 3
# Kind of GPU: the library's name, and how it is made.
KINDS = {
    "cuda": ("libcuda.so.1", []),
    "rocm": ("libamdhip64.so.6", ["-DFAKE_HIP"]),
    "level_zero": ("libze_loader.so.1", ["-DFAKE_LEVEL_ZERO"]),
}


def fake_gpu(kind: str) -> Path:
    name, flags = KINDS[kind]
    source = PROGRAMS / "fake_gpu.c"
    target = COMPILED / "gpus" / name
    if is_outdated(target, [source]):
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(".partial")
        soname = f"-Wl,-soname,{name}"
        command = ["cc", "-O1", "-shared", "-fPIC", *flags, soname, "-o", partial, source, "-pthread"]
        subprocess.run(command, check=True)
        partial.rename(target)
    return target


def run(
    mpi: Mpi,
    runner: Runner,
    kind: str,
    *words: str,
    settings: dict[str, str],
    variant: str = "",
    ranks: int = RANKS,
) -> dict[str, Any]:
    flags = ["-DGPU_AWARE", "-rdynamic"] if variant else []
    program = compile_program(mpi, "device_memory.c", flags=[*flags, "-ldl"], variant=variant)
    report = runner.scratch / "report.json"
    environment = {"UNISONO_REPORT": str(report), "UNISONO_PROGRESS": "calls", **settings}
    command = [program, fake_gpu(kind), *words]
    result = runner.unisono(mpi, ranks, command, environment, timeout=120).check()
    assert f"RIGHT {ranks}" in result.output, str(result)
    assert "was wrong" not in result.errors, str(result)
    read: dict[str, Any] = json.loads(report.read_text())
    return read


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("way", PREFERRED)
def test_a_library_that_is_loaded_later(mpi: Mpi, runner: Runner, way: str):
    # Calls that do not block go otherwise than through lines.
    # Long blocks of neighbours are messages where others go through slots.
    words = {"fused": ["blocking"], "shared": ["1048576"]}.get(way, [])
    run(mpi, runner, "cuda", *words, settings=forced(way))


@pytest.mark.in_turns(3, 1)
@pytest.mark.each_library
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "cuda"])
def test_other_gpus_from_the_start(mpi: Mpi, runner: Runner, kind: str):
    run(mpi, runner, kind, "early", settings=forced("shared"))


@pytest.mark.in_turns(2)
@pytest.mark.each_library
def test_native_is_the_default_where_the_mpi_knows_the_gpus(mpi: Mpi, runner: Runner):
    report = run(mpi, runner, "cuda", "native", settings={}, variant="aware")
    assert "whose memory the MPI takes as it is" in json.dumps(report)
    report = run(mpi, runner, "cuda", "native", settings=forced("shared"), variant="aware")
    assert "whose memory the MPI takes as it is" not in json.dumps(report)


@pytest.mark.in_turns(3)
def test_learning_tries_the_mpi_too(mpi: Mpi, runner: Runner):
    """Where the MPI takes such memory: calls of Unisono's, by copies, and the MPI's own are compared as others are."""
    settings = {
        "UNISONO_LEARN": "auto",
        "UNISONO_LEARN_ITERATIONS": "2",
        "UNISONO_LEARN_BUDGET": "100",  # from the first call on
        "UNISONO_MACHINE": "none",  # no prediction leaves the MPI out on a busy machine
        "FAKE_GPU_OPEN": "1",
    }
    report = run(mpi, runner, "cuda", "repeat", settings=settings)
    rows = [
        row for row in report["learning"] if (row["operation"], row["size_class"]) == ("allreduce", "16 KiB")
    ]
    made = {c["algorithm"]: c["calls"] for row in rows for c in row["candidates"] if c["calls"]}
    assert made.get("native", 0) > 0 and len(made) > 1 and sum(made.values()) == 4000, rows


@pytest.mark.parametrize("name", ["openmpi5", "intel"])
def test_self_check(name: str, runner: Runner, request: pytest.FixtureRequest):
    """The MPI makes each call as well, in the program's own buffers; the program gets Unisono's results."""
    mpi = installed(BY_NAME[name], request.config)
    settings = {"UNISONO_VERIFY": "all", "FAKE_GPU_OPEN": "1", **forced("shared")}
    report = run(mpi, runner, "cuda", settings=settings, ranks=2)
    checked = {row["form"] for row in report["classes"] if row["checks"] > 0}
    # The program makes persistent calls where the MPI's header says that it has them.
    persistent = {"persistent"} if name == "intel" else set()
    assert checked == {"blocking", "non-blocking"} | persistent, report["classes"]
    assert sum(row["mismatches"] for row in report["classes"]) == 0
