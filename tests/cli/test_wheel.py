# SPDX-License-Identifier: BSD-3-Clause
"""What the wheel holds, and what it needs of a machine. tests/packaging installs it and runs jobs."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import BUILD, ROOT, needs_build

pytestmark = needs_build

# Red Hat 9, Ubuntu 22.04: an older one than that is not promised.
OLDEST_C_LIBRARY = (2, 34)
COMPILED = [
    "scripts/unisono",
    "scripts/unisono-exec",
    "data/lib/unisono/unisono-tool",
    "data/lib/unisono/unisono-agent",
    "data/lib/unisono/libunisono.so",
    "data/lib/unisono/libunisono-openmpi.so",
    "data/lib/unisono/libunisono-mpich.so",
    "data/lib/unisono/libunisono-mpiabi.so",
]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    words = [sys.executable, str(ROOT / "tools/make_wheel.py"), str(BUILD), str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = folder.glob("*.whl")
    assert re.fullmatch(r"unisono-[0-9.]+-py3-none-manylinux_2_34_(x86_64|aarch64)\.whl", made.name)
    with zipfile.ZipFile(made) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


def parts(wheel: Path) -> Path:
    (folder,) = wheel.glob("unisono-*.data")
    return folder


def of_file(*words: str | Path) -> str:
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=True).stdout


def test_all_is_there_once(wheel: Path) -> None:
    compiled = [path for path in wheel.rglob("*") if path.is_file() and path.read_bytes()[:4] == b"\x7fELF"]
    expected = {parts(wheel) / name for name in COMPILED}
    assert expected <= set(compiled)
    assert not [path for path in wheel.rglob("*") if re.match(r"lib(mpi|open|pmi|ucp|fabric)", path.name)]
    for name in ("data/include/unisono/unisono.h", "data/share/unisono/programs/collectives.c"):
        assert (parts(wheel) / name).is_file()
    for name in ("schema/report.schema.json", "page/assets/page.html"):
        assert (wheel / "unisono" / name).is_file()


@pytest.mark.parametrize("name", COMPILED)
def test_a_part_needs_the_c_library_alone(wheel: Path, name: str) -> None:
    path = parts(wheel) / name
    dynamic = of_file("readelf", "--dynamic", "--wide", path)
    assert not re.search(r"\((RPATH|RUNPATH)\)", dynamic)
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
    # Open MPI's name stands for the library that the process holds (src/adapter/CMakeLists.txt).
    allowed = {"libc.so.6", "libm.so.6", "libmpi.so.40"}
    assert {library for library in needed if not library.startswith("ld-linux")} <= allowed
    versions = re.findall(r"\bGLIBC_(\d+)\.(\d+)", of_file("readelf", "--version-info", "--wide", path))
    assert max((int(major), int(minor)) for major, minor in versions) <= OLDEST_C_LIBRARY


def test_what_is_preloaded_needs_no_more_than_it_did(wheel: Path) -> None:
    """It enters every process: nothing but the C library comes with it."""
    dynamic = of_file("readelf", "--dynamic", "--wide", parts(wheel) / "data/lib/unisono/libunisono.so")
    assert re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic) == ["libc.so.6"]
