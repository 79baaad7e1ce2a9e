# SPDX-License-Identifier: BSD-3-Clause
"""The wheel as a user meets it: installed into an empty environment, in an empty home, and a job run with it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from conftest import LAUNCHERS, environment_with, run, try_all
from place import Place


@pytest.mark.parametrize("mpi", sorted(LAUNCHERS))
def test_a_job_runs(place: Place, packages: Path, job: dict[str, Path], mpi: str) -> None:
    environment = environment_with(place, packages, "unisono", mpi)
    try_all(place, environment / "bin/unisono", environment, mpi, place.put(job[mpi], "sum"))


def test_an_uninstalled_wheel_leaves_nothing(place: Place, packages: Path) -> None:
    environment = environment_with(place, packages, "unisono")
    assert place.outside(environment / "lib/unisono/libunisono.so").is_file()
    place.run([environment / "bin/pip", "uninstall", "--quiet", "--yes", "unisono"])
    left = [path for path in place.outside(environment).rglob("*unisono*") if path.is_file()]
    assert not left


@pytest.mark.parametrize("minor", [10, 11, 12, 13])
def test_every_python(minor: int, packages: Path, tmp_path: Path) -> None:
    kept = sorted(Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python3"))
    python = kept[0] if kept else Path(shutil.which(f"python3.{minor}") or "/nowhere")
    made = [str(python), "-m", "venv", str(tmp_path / "environment")]
    if not python.is_file() or subprocess.run(made, capture_output=True, check=False).returncode:
        pytest.skip(f"Python 3.{minor} is not here")
    folder = tmp_path / "environment/bin"
    run(folder / "pip", "install", "--quiet", "--no-index", "--find-links", packages, "unisono")
    assert "unisono" in run(folder / "unisono", "--version")
    assert "allreduce" in run(folder / "unisono", "list")
