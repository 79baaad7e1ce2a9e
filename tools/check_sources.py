#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks every source file that git knows: licence, length, leftover markers, paths of one machine."""

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
HOME_PATHS = re.compile(r"(?<![\w.])/(?:root|home|work|Users)/")


def tracked_files() -> list[Path]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.splitlines()
    return [ROOT / name for name in names if (ROOT / name).is_file()]


def is_source(path: Path, text: str) -> bool:
    return path.suffix in SOURCE_SUFFIXES or path.name in SOURCE_NAMES or text.startswith("#!")


def complaints(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return []
    found = []
    if HOME_PATHS.search(text) and path != Path(__file__).resolve():
        found.append("names a path of one machine")
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
    found = [f"{path.relative_to(ROOT)}: {text}" for path in tracked_files() for text in complaints(path)]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
