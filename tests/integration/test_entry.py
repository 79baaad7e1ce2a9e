# SPDX-License-Identifier: BSD-3-Clause
"""How Unisono gets between programs and each MPI, and where it must not be noticed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import harness
import mpis
import pytest
from harness import HEADER, LIBRARY, SHIM, Runner, compile_program
from mpis import Mpi


@pytest.fixture(scope="module")
def program(mpi: Mpi) -> Path:
    return compile_program(mpi, "entry.c", flags=[HEADER, "-ldl"])


@pytest.mark.in_turns(3, 2)
@pytest.mark.parametrize("mode", ["switch", "large"])
def test_program_that_knows_unisono(mpi: Mpi, runner: Runner, program: Path, mode: str):
    assert runner.unisono(mpi, 3, [program, mode]).check().output == "OK\n"


@pytest.mark.in_turns(3)
@pytest.mark.parametrize("mode", ["unseen", "at_exit", "errors"])
def test_program_sees_no_difference(mpi: Mpi, runner: Runner, program: Path, mode: str):
    native = runner.run(mpi, 2, [program, mode]).check()
    assert native.output != ""
    result = runner.unisono(mpi, 2, [program, mode]).check()
    assert result.output == native.output
    assert "unisono" not in result.errors.lower(), str(result)


@pytest.mark.in_turns(2, 1)
def test_end_that_nobody_tells_of_is_seen(mpi: Mpi, runner: Runner, program: Path, tmp_path: Path):
    """The report is written although MPI_Finalize was called past us."""
    report = tmp_path / "report.json"
    runner.unisono(mpi, 3, [program, "unseen"], {"UNISONO_REPORT": str(report)}).check()
    assert json.loads(report.read_text(encoding="utf-8"))["ranks"] == 3


@pytest.mark.in_turns(2, 1)
def test_files(mpi: Mpi, runner: Runner, program: Path, tmp_path: Path):
    command = [program, "files", tmp_path / "data"]
    assert runner.unisono(mpi, 3, command).check().output == "OK\n"


@pytest.mark.in_turns(2)
def test_profiler_stays_between_program_and_unisono(mpi: Mpi, runner: Runner, program: Path, tmp_path: Path):
    tool = compile_program(mpi, "tool.c", flags=["-shared", "-fPIC"])
    report = tmp_path / "report.json"
    environment = {"LD_PRELOAD": str(tool), "UNISONO_REPORT": str(report)}
    result = runner.unisono(mpi, 2, [program, "switch"], environment).check()
    assert result.output == "OK\n"
    assert "tool: 6 calls of MPI_Allreduce\n" in result.errors
    assert served(report)["allreduce"] > 0, "the tool's calls reach Unisono"


@pytest.mark.in_turns(2, 1)
def test_linked_profiler_stays_between_program_and_unisono(mpi: Mpi, runner: Runner, tmp_path: Path):
    """A tool that the program was linked with: a library that is preloaded must not take its place."""
    tool = compile_program(mpi, "tool.c", flags=["-shared", "-fPIC", "-Wl,-soname,libtool.so"])
    directory = tool.parent / "tool"
    directory.mkdir(exist_ok=True)
    shutil.copy(tool, directory / "libtool.so")
    link = ["-Wl,--no-as-needed", f"-L{directory}", "-ltool", f"-Wl,-rpath,{directory}"]
    program = compile_program(mpi, "entry.c", flags=[HEADER, "-ldl", *link], variant="linked")
    report = tmp_path / "report.json"
    result = runner.unisono(mpi, 2, [program, "switch"], {"UNISONO_REPORT": str(report)}).check()
    assert result.output == "OK\n"
    assert "tool: 6 calls of MPI_Allreduce\n" in result.errors, str(result)
    assert served(report)["allreduce"] > 0, "the tool's calls reach Unisono"


def served(report: Path) -> dict[str, int]:
    """Return how many calls of each operation the report counts."""
    classes = json.loads(report.read_text(encoding="utf-8"))["classes"]
    return {entry["operation"]: entry["calls"] for entry in classes}


@pytest.mark.in_turns(2)
@pytest.mark.each_library
def test_address_sanitizer_with_and_without_a_profiler(mpi: Mpi, runner: Runner, tmp_path: Path):
    """The sanitizer's runtime wants to come first, and the profiler before Unisono. (Leaks are the MPIs' own.)"""
    flags = [HEADER, "-ldl", "-fsanitize=address"]
    program = compile_program(mpi, "entry.c", flags=flags, variant="asan")
    tool = compile_program(mpi, "tool.c", flags=["-shared", "-fPIC"])
    report = tmp_path / "report.json"
    environment = {"ASAN_OPTIONS": "detect_leaks=0", "UNISONO_REPORT": str(report)}
    result = runner.unisono(mpi, 2, [program, "switch"], environment).check()
    assert result.output == "OK\n"
    assert served(report)["allreduce"] > 0
    result = runner.unisono(mpi, 2, [program, "switch"], {**environment, "LD_PRELOAD": str(tool)}).check()
    assert result.output == "OK\n"
    assert "tool: 6 calls of MPI_Allreduce\n" in result.errors, str(result)


@pytest.mark.dear
@pytest.mark.in_turns(4)
@pytest.mark.each_library
def test_a_rank_without_unisono_ends_the_job(mpi: Mpi, runner: Runner, program: Path):
    """The ranks that have it would wait in MPI_Init for ever: they say for whom, and end the job."""
    environment = runner.environment_for_ranks(mpi, 2, {})
    sections = [(1, [SHIM, program, "errors"]), (1, [program, "errors"])]
    result = runner.run_line(mpi, mpi.launch_sections(sections, environment), timeout=60)
    # Launchers of MPICH's kin may have a status of their own for a job whose other ranks had to be ended.
    assert not result.is_timed_out, str(result)
    assert result.status != 0 if mpi.family in ("intel", "mpich") else result.status == 125, str(result)
    assert result.errors.count("unisono: ") == 1, str(result)
    assert "rank 1 (process " in result.errors, str(result)
    assert "without Unisono" in result.errors, str(result)
    assert result.survivors == []


@pytest.mark.dear
@pytest.mark.parametrize("name", ["openmpi5", "mpich5"])
def test_a_rank_without_an_adapter_ends_the_job(
    name: str, runner: Runner, request: pytest.FixtureRequest, tmp_path: Path
):
    mpi = harness.installed(mpis.BY_NAME[name], request.config)
    program = compile_program(mpi, "entry.c", flags=[HEADER, "-ldl"])
    library = shutil.copy(LIBRARY, tmp_path)
    sections = [(1, [SHIM, program, "errors"]), (1, [SHIM, "--library", library, program, "errors"])]
    line = mpi.launch_sections(sections, runner.environment_for_ranks(mpi, 2, {}))
    result = runner.run_line(mpi, line, timeout=120)
    assert not result.is_timed_out, str(result)
    assert result.status != 0 if mpi.family == "mpich" else result.status == 125, str(result)
    assert "rank 1 (process " in result.errors, str(result)


@pytest.mark.in_turns(3, 1)
def test_a_report_that_cannot_be_written_there_is_written_here(mpi: Mpi, runner: Runner, program: Path):
    report = runner.scratch / "nowhere/report.json"
    result = runner.unisono(mpi, 2, [program, "errors"], {"UNISONO_REPORT": str(report)}).check()
    place = runner.scratch / "report.json"
    assert f"it is in {place}" in result.errors, str(result)
    assert json.loads(place.read_text(encoding="utf-8"))["ranks"] == 2


@pytest.mark.in_turns(2, 1)
def test_without_an_adapter_the_program_runs_alone(mpi: Mpi, runner: Runner, program: Path, tmp_path: Path):
    alone = tmp_path / "alone"
    alone.mkdir()
    library = shutil.copy(LIBRARY, alone)
    result = runner.run(mpi, 3, [SHIM, "--library", library, program, "errors"]).check()
    assert "valid: no error" in result.output
    assert result.errors.count("the program runs without Unisono") == 1, str(result)
