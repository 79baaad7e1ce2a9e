# SPDX-License-Identifier: BSD-3-Clause
"""The packages of a system, and an installation by CMake: put into a Debian 13, used by a user there, and taken out again."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import BUILD, environment_with, made_place, run, try_all


@pytest.fixture(params=["deb", "rpm", "cmake"])
def prefix(request: pytest.FixtureRequest, debian: Path, tmp_path: Path) -> Iterator[Path]:
    """Where it is installed, as seen from inside of the Debian; afterwards nothing of it may be left there."""
    kind = request.param
    if kind == "cmake":
        (debian / "opt/unisono").mkdir()
        run("cmake", "--install", BUILD, "--prefix", debian / "opt/unisono", "--strip")
        yield Path("/opt/unisono")
        shutil.rmtree(debian / "opt/unisono")
        return
    run("cpack", "-G", kind.upper(), "-B", tmp_path, cwd=BUILD)
    (package,) = tmp_path.glob(f"*.{kind}")
    if kind == "deb":
        shutil.copy(package, debian / "tmp/unisono.deb")
        run("chroot", debian, "dpkg", "--install", "/tmp/unisono.deb")
        (debian / "tmp/unisono.deb").unlink()
        yield Path("/usr")
        run("chroot", debian, "dpkg", "--purge", "unisono")
    else:
        rpm = ["rpm", "--root", debian, "--dbpath", "/tmp/rpm"]
        run(*rpm, "--install", "--nodeps", package)  # what is installed there is known to dpkg alone
        yield Path("/usr")
        run(*rpm, "--erase", "unisono")
        shutil.rmtree(debian / "tmp/rpm")
    left = [
        path
        for folder in ("bin", "lib", "share", "include")
        for path in (debian / "usr" / folder).glob("unisono*")
    ]
    assert not left


def test_a_job_runs(debian: Path, prefix: Path, packages: Path, job: dict[str, Path]) -> None:
    with made_place(debian) as place:
        environment = environment_with(place, packages, "mpich")
        try_all(place, prefix / "bin/unisono", environment, "mpich", place.put(job["mpich"], "sum"))
        info = place.run([prefix / "bin/unisono", "info"])
        assert f"{prefix}/lib/unisono/libunisono-mpich.so" in info
