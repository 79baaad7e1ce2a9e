#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks every file that git knows: licence, length, leftover markers, paths of one machine, and Unisono's version.

python/unisono/__init__.py has the version; where a page or a header names one, it is this. Tests keep reports of
other versions, and the list of changes tells of them.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LICENCE = "SPDX-License-Identifier: BSD-3-Clause"
SOURCE_SUFFIXES = {
    ".c",
    ".cc",
    ".h",
    ".hpp",
    ".inc",
    ".S",
    ".py",
    ".sh",
    ".cmake",
    ".f90",
    ".F90",
    ".f",
    ".in",
}
SOURCE_NAMES = {"CMakeLists.txt", "Makefile"}
LONGEST = 500
MARKERS = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b")
VERSION_FILE = "python/unisono/__init__.py"
VERSION_LINE = re.compile(r'^__version__ = "([^"]+)"', re.MULTILINE)
# unisono-1.2.3.tar.gz, unisono/1.2.3-on, Unisono 1.2.3 on ..., {"unisono": "1.2.3"}, and `version: 1.2.3` of CITATION.cff.
NAMED_VERSION = re.compile(r"(?:[Uu]nisono(?:[-_/ ]|\W{2,4})|^version: )v?(\d+\.\d+\.\d+)")
OTHER_VERSIONS = ("CHANGELOG.md", "tests/", "requirements/")
HOME_PATHS = re.compile(r"(?<![\w.])/(?:root|home|work|Users)/")


def tracked_files() -> list[Path]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def is_source(path: Path, text: str) -> bool:
    return path.suffix in SOURCE_SUFFIXES or path.name in SOURCE_NAMES or text.startswith("#!")


def own_version() -> str | None:
    found = VERSION_LINE.search((ROOT / VERSION_FILE).read_text(encoding="utf-8"))
    return found[1] if found else None


def other_versions(path: Path, text: str, version: str | None) -> list[str]:
    """Where a file names a version of Unisono that is not the one of this code."""
    if path.relative_to(ROOT).as_posix().startswith(OTHER_VERSIONS):
        return []
    return [
        f"line {i}: says {found[1]}, and {VERSION_FILE} {version}"
        for i, line in enumerate(text.splitlines(), 1)
        for found in NAMED_VERSION.finditer(line)
        if found[1] != version
    ]


def complaints(path: Path, version: str | None) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return []
    found = []
    if HOME_PATHS.search(text) and path != Path(__file__).resolve():
        found.append("names a path of one machine")
    if path != Path(__file__).resolve():
        found += other_versions(path, text, version)
    if not is_source(path, text):
        return found
    lines = text.splitlines()
    if text.strip() and not any(LICENCE in line for line in lines[:4]):
        found.append(f"lacks '{LICENCE}' in its first lines")
    if len(lines) > LONGEST:
        found.append(f"has {len(lines)} lines (at most {LONGEST})")
    if path != Path(__file__).resolve():
        found += [
            f"line {i}: marker {MARKERS.search(line)[0]}"
            for i, line in enumerate(lines, 1)
            if MARKERS.search(line)
        ]
    return found


def main() -> int:
    version = own_version()
    found = [
        f"{path.relative_to(ROOT)}: {text}" for path in tracked_files() for text in complaints(path, version)
    ]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
