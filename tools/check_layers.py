#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that folders under src/ include only downwards, and that MPI's header stays at the edge.

The layers stand in docs/architecture.md. Two exceptions, both at the edge to the MPI below:
- src/host/mpi, the adapter, is the outermost piece of a process together with src/entry: it turns MPI's
  arguments into runtime calls, so it may include every layer. Nothing includes it.
- mpi.h (and mpi_abi.h) may be included in src/host/mpi and src/entry only.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ["base", "host", "shm", "patterns", "schedule", "algorithms", "model", "tuning", "runtime", "entry"]
ADAPTER = "host/mpi"
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
SUFFIXES = {".c", ".cc", ".h", ".hpp", ".inc", ".S", ".in"}


def layer_of(path: str) -> str | None:
    """The layer a path relative to src/ belongs to; None for headers that are not the project's."""
    if path.startswith(ADAPTER + "/"):
        return ADAPTER
    first = path.split("/", 1)[0]
    return first if first in LAYERS and "/" in path else None


def complaint(source: str, included: str) -> str | None:
    """What is wrong with `source` (relative to src/) including `included`, if anything."""
    own = layer_of(source)
    if own is None:
        return "lies in no layer that tools/check_layers.py knows"
    if re.fullmatch(r"mpi(_abi)?\.h", included):
        return (
            None
            if own in (ADAPTER, "entry")
            else f"includes {included}: only src/{ADAPTER} and src/entry may"
        )
    if included.startswith("."):
        return f"includes {included}: name it from src/, as in base/option.h"
    other = layer_of(included)
    if other is None or own in (other, ADAPTER):
        return None
    if other == ADAPTER:
        return f"includes {included}: nothing includes the adapter"
    if LAYERS.index(other) > LAYERS.index(own):
        return f"includes {included}: {other} stands above {own}"
    return None


def complaints(root: Path) -> list[str]:
    found = []
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in SUFFIXES or not path.is_file():
            continue
        relative = path.relative_to(root / "src").as_posix()
        for included in INCLUDE.findall(path.read_text(encoding="utf-8")):
            text = complaint(relative, included)
            if text:
                found.append(f"src/{relative}: {text}")
    return found


def main() -> int:
    found = complaints(ROOT)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
