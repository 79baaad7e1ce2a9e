# SPDX-License-Identifier: BSD-3-Clause
"""The demo: what it compares, how it finds an MPI, and whole runs of it."""

from __future__ import annotations

import copy
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import job
import mpis
import pytest
from demonstration import mpi as demo_mpi
from demonstration.comparison import compare, compare_times
from demonstration.errors import DemoError
from harness import TOOL
from mpis import ROOT, Mpi

DEMO = ROOT / "examples/demo.py"

Result = dict[str, Any]

RESULT: Result = {
    "quantities": [
        {"name": "energy", "value": -0.25, "tolerance": 1e-12},
        {"name": "time", "value": 3.0, "tolerance": 0.0},
    ],
    "digests": [{"name": "positions", "value": "00ff"}],
    "checks": [{"name": "drift", "value": 1e-6, "limit": 1e-4, "is_passed": True}],
}


def changed(change: Callable[[Result], None]) -> Result:
    result = copy.deepcopy(RESULT)
    change(result)
    return result


def test_equal_results_are_the_same() -> None:
    found = compare([RESULT, RESULT], [RESULT])
    assert found.is_same
    assert [row.difference for row in found.quantities] == [0.0, 0.0]


def test_a_difference_within_tolerance_is_allowed_and_told() -> None:
    found = compare([RESULT], [changed(lambda result: result["quantities"][0].update(value=-0.25 + 5e-13))])
    assert found.is_same
    assert found.quantities[0].difference == pytest.approx(5e-13, rel=1e-3)


@pytest.mark.parametrize(
    "change",
    [
        lambda result: result["quantities"][0].update(value=-0.25 + 2e-12),
        lambda result: result["quantities"][0].update(value=None),
        lambda result: result["quantities"][1].update(value=math.nextafter(3.0, 4.0)),
        lambda result: result["digests"][0].update(value="00fe"),
        lambda result: result["checks"][0].update(is_passed=False),
    ],
)
def test_any_other_difference_is_found_in_any_run(change: Callable[[Result], None]) -> None:
    other = changed(change)
    assert not compare([RESULT], [other]).is_same
    assert not compare([RESULT, RESULT], [RESULT, other]).is_same
    assert not compare([RESULT, other], [RESULT, RESULT]).is_same


def test_ratio_is_that_of_the_medians_and_lies_in_its_interval() -> None:
    row = compare_times("all", [2.0, 2.2, 9.0], [1.0, 1.1, 1.2])
    assert row.native.median == 2.2
    assert (row.native.low, row.native.high) == (2.0, 9.0)
    assert row.ratio == pytest.approx(2.0)
    assert row.ratio_low <= row.ratio <= row.ratio_high
    assert row.ratio_low >= 2.0 / 1.2 - 1e-9
    assert row.ratio_high <= 9.0 / 1.0 + 1e-9


def test_one_run_each_gives_a_ratio_without_interval() -> None:
    row = compare_times("all", [2.0], [1.0])
    assert row.ratio == 2.0
    assert math.isnan(row.ratio_low)
    assert math.isnan(row.ratio_high)


def fake_launcher(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / "mpirun"
    file.write_text(f"#!/bin/sh\n{text}\n")
    file.chmod(0o755)
    return file


def test_a_name_that_no_mpi_has_is_refused() -> None:
    with pytest.raises(DemoError, match="no MPI 'nompi' was found"):
        demo_mpi.find("nompi")


def test_an_mpi_without_compiler_is_refused(tmp_path: Path) -> None:
    fake_launcher(tmp_path / "bin", "echo 'mpirun (Open MPI) 4.1.4'")
    with pytest.raises(DemoError, match="mpicxx is not installed"):
        demo_mpi.find(str(tmp_path))


def test_a_launcher_of_nothing_known_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DemoError, match="starts no MPI that is known"):
        demo_mpi.find(str(fake_launcher(tmp_path, "echo hello")))


def test_without_mpi_in_path_the_wheel_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    found = demo_mpi.find(None)
    assert demo_mpi.WHEELS in Path(found.launcher.path).parents


def run_demo(python: str, mpi: str, *options: str, folder: Path, **environment: str) -> job.Result:
    command = [python, DEMO, "--mpi", mpi, "--ranks", "2", "--repeat", "1", "--seconds", "0.3", *options]
    # Beside other tests, ranks that keep their cores make a second of the demo half a minute.
    settings = {**os.environ, "COLUMNS": "200", "OMPI_MCA_mpi_yield_when_idle": "1", **environment}
    return job.run([*command, "--reports", folder], settings, timeout=250)


@pytest.mark.dear
@pytest.mark.in_turns(5)
def test_demo_finds_the_same_results_and_reports(mpi: Mpi, python: str, tmp_path: Path) -> None:
    if not mpi.has_mpi4py:
        pytest.skip(f"mpi4py's wheel has no build for {mpi.name}")
    finished = run_demo(python, str(mpi.launcher), folder=tmp_path).check()
    assert finished.output.count("same results: yes") == 2, str(finished)
    summary = (tmp_path / "demo.md").read_text()
    for program, operations in (("nbody", {"allgather", "allreduce"}), ("heat", {"alltoall", "allreduce"})):
        file = tmp_path / f"demo-{program}.json"
        job.run([python, "-m", "unisono", "report", file]).check()
        report = json.loads(file.read_text())
        assert operations <= {row["operation"] for row in report["classes"]}
        for row in report["classes"]:
            assert row["algorithm"] in finished.output
            assert row["algorithm"] in summary
    page = (tmp_path / "demo.html").read_text()
    title = page[page.index("<title>") : page.index("</title>")]
    assert "nbody" in title and "heat" in title, title


def fake_mpi(folder: Path, mpi: Mpi, nbody: Path, rule: str) -> Path:
    """Write `mpi` into `folder` with a launcher that follows `rule`, a branch of a shell's case on its arguments, before anything else.

    What its compiler makes is `nbody`, which is compiled already.
    """
    fake_launcher(folder / "bin", f'case "$*" in {rule} ;; esac\nexec {mpi.launcher} "$@"')
    compiler = folder / "bin/mpicxx"
    compiler.write_text(f'#!/bin/sh\nfor output; do :; done\nexec cp {nbody} "$output"\n')
    compiler.chmod(0o755)
    return folder


@pytest.mark.dear
def test_demo_fails_where_results_differ(
    python: str, tmp_path: Path, nbody_of: Callable[[Mpi], Path]
) -> None:
    """An mpirun that slips another cluster of stars to the runs under Unisono."""
    real = mpis.BY_NAME["openmpi4"]
    mpi = fake_mpi(tmp_path, real, nbody_of(real), f'*unisono-exec*) exec {real.launcher} "$@" --seed 2')
    finished = run_demo(python, str(mpi), "--program", "nbody", folder=tmp_path / "reports")
    assert finished.status == 1, str(finished)
    assert "same results: NO: simulated time, kinetic energy, " in finished.output, str(finished)


def test_demo_fails_where_a_run_fails(python: str, tmp_path: Path, nbody_of: Callable[[Mpi], Path]) -> None:
    real = mpis.BY_NAME["openmpi4"]
    mpi = fake_mpi(tmp_path, real, nbody_of(real), f'*--json*) exec {real.launcher} "$@" --bodies 1')
    finished = run_demo(python, str(mpi), "--program", "nbody", folder=tmp_path / "reports")
    assert finished.status == 1, str(finished)
    assert "nbody: --bodies: at least 2" in finished.output, str(finished)


@pytest.mark.dear
def test_demo_runs_natively_where_unisono_is_not_built(python: str, tmp_path: Path) -> None:
    home = tmp_path / "home/bin"
    home.mkdir(parents=True)
    finished = run_demo(python, "openmpi4", folder=tmp_path / "reports", UNISONO_HOME=str(home.parent))
    assert finished.status == 2 and "were not found" in finished.errors, str(finished)
    (home / "unisono-tool").symlink_to(TOOL)
    finished = run_demo(python, "openmpi4", folder=tmp_path / "reports", UNISONO_HOME=str(home.parent))
    assert finished.status == 2, str(finished)
    assert "the programs run natively only" in finished.output, str(finished)
    assert finished.output.count("all collectives") == 2, str(finished)
