# SPDX-License-Identifier: BSD-3-Clause
"""The source archive as a user meets it: pip compiles it, without an MPI and without a package registry, and jobs run with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import LAUNCHERS, ROOT, environment_with, made_place, run, try_all

BUILD_S = 3000  # it compiles everything, on cores that others may use too
pytestmark = pytest.mark.timeout(BUILD_S + 600)


@pytest.fixture(scope="module")
def built(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of wheels: the one that pip has made of the archive, what it depends on, and two MPIs."""
    folder, scratch = (tmp_path_factory.mktemp(name) for name in ("built", "scratch"))
    run(sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", scratch, ROOT)
    for wheel in packages.glob("*.whl"):
        if not wheel.name.startswith("unisono-"):
            (folder / wheel.name).symlink_to(wheel)
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--dest", folder]
    run(*words, "scikit-build-core", "pip", "-r", ROOT / "requirements/headers.txt")
    run("/usr/bin/python3", "-m", "venv", scratch / "environment")
    # Where pip compiles has another name each time, which ccache leaves out.
    settings = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": folder, "TMPDIR": scratch, "CCACHE_BASEDIR": scratch}
    environment = {**os.environ, **{name: str(value) for name, value in settings.items()}}
    (archive,) = scratch.glob("unisono-*.tar.gz")
    pip = [scratch / "environment/bin/pip", "wheel", "--no-deps", "--wheel-dir", folder, archive]
    done = subprocess.run(pip, env=environment, capture_output=True, text=True, timeout=BUILD_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.parametrize("mpi", sorted(LAUNCHERS))
def test_a_job_runs(built: Path, job: dict[str, Path], mpi: str) -> None:
    with made_place(Path("/")) as place:
        environment = environment_with(place, built, "unisono", mpi)
        try_all(place, environment / "bin/unisono", environment, mpi, place.put(job[mpi], "sum"))
        share = place.outside(environment / "share")
        for name in ("man/man1/unisono-run.1", "man/man3/unisono.3", "man/man5/unisono.conf.5"):
            assert (share / name).is_file(), name
        assert "unisono" in (share / "bash-completion/completions/unisono").read_text()
