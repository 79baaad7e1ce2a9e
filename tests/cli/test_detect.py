# SPDX-License-Identifier: BSD-3-Clause
"""Which launcher it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Stage
from unisono.launch import detect

VERSIONS = {
    "mpirun (Open MPI) 4.1.4\n\nReport bugs to http://www.open-mpi.org/community/help/\n": (
        "openmpi4",
        "4.1.4",
    ),
    "mpirun.openmpi (OpenRTE) 4.1.4\n": ("openmpi4", "4.1.4"),
    "mpirun (Open MPI) 5.0.11\n": ("openmpi5", "5.0.11"),
    "mpirun (Open MPI) 3.1.6rc2\n": ("openmpi4", "3.1.6rc2"),
    "prterun (PRRTE) 3.0.11\n": ("openmpi5", "3.0.11"),
    "mpirun (IBM Spectrum MPI) 10.4.0.6\n": ("openmpi4", "10.4.0.6"),
    "HYDRA build details:\n    Version:                                 4.0.2\n    CC: gcc\n": (
        "mpich",
        "4.0.2",
    ),
    "Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260626 (id: b4)\n": ("intel", "2021.18.1"),
    "PALS version 1.3\n": ("unknown", ""),
    "": ("unknown", ""),
}


@pytest.mark.parametrize("text", VERSIONS)
def test_version(text: str) -> None:
    flavour, version = detect.parse_version(text)
    assert (flavour.name, version) == VERSIONS[text]


@pytest.mark.parametrize(
    ("text", "position"),
    [
        ("mpirun -n 2 ./a", 0),
        ("/opt/mpi/bin/mpiexec.hydra -n 2 ./a", 0),
        ("mpirun.openmpi ./a", 0),
        ("mpiexec-mpich-clang ./a", 0),
        ("orterun ./a", 0),
        ("prterun ./a", 0),
        ("srun ./a", 0),
        ("timeout -k 5 60 mpirun ./a", 4),
        ("env A=1 nice -n 5 mpirun ./a", 5),
        ("./a mpirun", None),
        ("timeout 60 ./a", None),
        ("mpirun.py ./a", None),
        ("mpirun_rsh ./a", None),
        ("mpicc a.c", None),
        ("python mpirun", None),
    ],
)
def test_position(stage: Stage, monkeypatch: pytest.MonkeyPatch, text: str, position: int | None) -> None:
    monkeypatch.setenv("PATH", stage.environment()["PATH"])
    assert detect.launcher_position(text.split()) == position


@pytest.mark.parametrize(
    ("name", "flavour"),
    [
        ("prterun", "openmpi5"),
        ("orterun", "openmpi4"),
        ("mpirun.openmpi", "openmpi4"),
        ("mpiexec.hydra", "mpich"),
        ("mpirun.mpich", "mpich"),
        ("mpirun", "unknown"),
        ("srun", "srun"),
    ],
)
def test_silent_launcher_goes_by_its_name(tmp_path: Path, name: str, flavour: str) -> None:
    script = tmp_path / name
    script.write_text("#!/bin/sh\nexit 1\n")
    script.chmod(0o755)
    assert detect.identify(str(script)).flavour.name == flavour


def test_title() -> None:
    flavour, version = detect.parse_version("mpirun (Open MPI) 5.0.11")
    assert detect.Launcher("/x", flavour, version).title == "Open MPI 5.0.11"
