# SPDX-License-Identifier: BSD-3-Clause
"""The packages of a system, and an installation by CMake: put into a Debian 13, used by a user there, and taken out again."""

from __future__ import annotations

import re
import shutil
import subprocess
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


# What the linters say and what is meant so. There is no signature and no mail address; `unisono bench` compiles the headers.
DEB_KNOWN = "bogus-mail-host"
RPM_KNOWN = {"no-signature", "no-packager-tag"}


def test_linters(tmp_path: Path) -> None:
    for kind in ("DEB", "RPM"):
        run("cpack", "-G", kind, "-B", tmp_path, cwd=BUILD)
    if shutil.which("lintian") is None or shutil.which("rpmlint") is None:
        pytest.skip("needs lintian and rpmlint (tools/setup.sh packaging)")
    run(
        "lintian", "--allow-root", "--fail-on", "error", "--suppress-tags", DEB_KNOWN, *tmp_path.glob("*.deb")
    )
    words = ["rpmlint", *map(str, tmp_path.glob("*.rpm"))]
    said = subprocess.run(words, capture_output=True, text=True, check=False).stdout
    errors = set(re.findall(r"^\S+: E: (\S+)", said, re.MULTILINE))
    assert errors <= RPM_KNOWN, said
