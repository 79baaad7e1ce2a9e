#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that folders under src/ include only downwards, that MPI's header stays at the edge, and names follow folders.

The layers stand in docs/inside/layers.md, from the ground up. On the core stand two branches that know
nothing of each other. One is what a process of a program loads, the other what people ask for answers. Only
folders that meet an MPI may include mpi.h (and mpi_abi.h). What lies in src/FOLDER, however deep, is in the
namespace unisono::FOLDER or in one inside it; src/base is the vocabulary of all, in unisono itself. No name of
a file stands in two folders. The page has the same layers in the same order, and docs/inside/state.md names every
file with variables of threads, but for this_thread, which is their place.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CORE = (
    "base",
    "matching",
    "host",
    "shm/pool",
    "shm/slice",
    "shm/pairs",
    "patterns",
    "schedule",
    "agents",
    "algorithms/catalogue",
    "algorithms/building",
    "algorithms/messages",
    "algorithms/shared_memory",
    "algorithms/two_levels",
    "algorithms/uneven_blocks",
    "algorithms/neighborhood",
    "model",
    "tuning/decisions",
    "tuning/tables",
    "tuning/learning",
    "runtime/call",
    "runtime/packing",
    "runtime/world",
    "runtime/messages",
    "runtime/judging",
    "runtime/communicators",
    "runtime/reports",
    "runtime/engines",
    "runtime/decisions",
    "runtime/learning",
    "runtime/checks",
    "runtime/calls",
    "runtime",
)
BRANCHES = (
    (
        "preload",
        "adapter/below",
        "adapter/profile",
        "adapter/large_counts",
        "adapter/host_interface",
        "adapter/messages",
        "adapter/recording",
        "adapter/requests",
        "adapter/collectives",
        "adapter",
        "shim",
    ),
    ("proof", "pictures", "traces", "launch", "tool", "front"),
    ("measure",),
)
MEETS_MPI = ("preload", "adapter", "measure")
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
NAMESPACE = re.compile(r"^namespace (unisono[\w:]*) \{(.*?)^\}", re.MULTILINE | re.DOTALL)
DECLARES_ONLY = re.compile(r"\s*((struct|class) \w+;\s*)*")
PAGE = "docs/inside/layers.md"
ROW = re.compile(r"^\| (`src/[^|]*) \|", re.MULTILINE)
PAGE_OF_STATE = "docs/inside/state.md"
OF_THREADS = re.compile(r"^(?!\s*//).*\b(?:thread_local|__thread|_Thread_local)\b", re.MULTILINE)
THEIR_PLACE = ("runtime/call/this_thread.h", "runtime/call/this_thread.cc")
OF_BASE = ("unisono", "unisono::log")
SUFFIXES = {".c", ".cc", ".h", ".hpp", ".inc", ".S", ".in"}


def layers_on(branch: int) -> tuple[str, ...]:
    """The layers of a branch with all that it stands on, from the ground up."""
    return CORE + BRANCHES[branch]


def layer_of(path: str) -> str | None:
    """The layer a path relative to src/ belongs to; None for headers that are not the project's."""
    folder = path.rsplit("/", 1)[0] if "/" in path else ""
    known = (*CORE, *(layer for branch in BRANCHES for layer in branch))
    return folder if folder in known else None


def is_above(layer: str, other: str) -> bool:
    """May `layer` include what is in `other`?"""
    for branch in range(len(BRANCHES)):
        layers = layers_on(branch)
        if layer in layers and other in layers:
            return layers.index(layer) >= layers.index(other)
    return False


def complaint(source: str, included: str, src: Path) -> str | None:
    """What is wrong with `source` (relative to src/) including `included`, if anything."""
    own = layer_of(source)
    if own is None:
        return "lies in no layer that tools/check_layers.py knows"
    if re.fullmatch(r"mpi(_abi)?\.h", included):
        if own.split("/")[0] in MEETS_MPI:
            return None
        return f"includes {included}: only src/{', src/'.join(MEETS_MPI)} may"
    if included.startswith("."):
        return f"includes {included}: name it from src/, as in base/options.h"
    other = layer_of(included)
    if other is None:
        is_ours = "/" in included and (src / included).exists()
        return f"includes {included}, which lies in no layer" if is_ours else None
    return None if is_above(own, other) else f"includes {included}: {other} does not stand below {own}"


def misplaced_names(source: str, text: str) -> list[str]:
    """What is wrong with the namespaces that `source` (relative to src/) opens. One may declare what others define."""
    folder = source.split("/", maxsplit=1)[0]
    own = f"unisono::{folder}"
    return [
        f"opens {name}: what lies here is in {'unisono' if folder == 'base' else own}"
        for name, body in NAMESPACE.findall(text)
        if not DECLARES_ONLY.fullmatch(body)
        and not (name in OF_BASE if folder == "base" else f"{name}::".startswith(f"{own}::"))
    ]


def names_twice(files: Iterable[str]) -> list[str]:
    """Names that stand in several folders: who reads `messages.cc` in a trace should know which one is meant."""
    folders: dict[str, list[str]] = {}
    for file in files:
        folder, _, name = file.rpartition("/")
        folders.setdefault(name, []).append(folder)
    return [
        f"src/{where[-1]}/{name}: src/{where[0]} has a file of that name too"
        for name, where in folders.items()
        if len(where) > 1
    ]


def layers_of_page(page: str) -> list[tuple[str, ...]]:
    """The layers of each table, as its rows name them: `src/a/b`, `c` are a/b and a/c."""
    tables: list[tuple[str, ...]] = []
    for table in page.split("\n| folder | holds |\n")[1:]:
        layers: list[str] = []
        for row in ROW.findall(table.split("\n\n")[0]):
            first, *others = re.findall(r"`([^`]+)`", row)
            layer = first.removeprefix("src/")
            layers += [layer, *(f"{layer.rpartition('/')[0]}/{other}" for other in others)]
        tables.append(tuple(layers))
    return tables


def page_complaints(page: str) -> list[str]:
    """Where the page's tables are not the lists of this check. (The last branch stands in a sentence.)"""
    known = (CORE, *BRANCHES[:-1])
    tables = layers_of_page(page)
    if len(tables) != len(known):
        return [f"{PAGE}: has {len(tables)} tables of folders instead of {len(known)}"]
    found = []
    for told, right in zip(tables, known, strict=True):
        found += [f"{PAGE}: lacks src/{layer}" for layer in right if layer not in told]
        found += [f"{PAGE}: has src/{layer}, which is no layer there" for layer in told if layer not in right]
        if sorted(told) == sorted(right):
            found += [
                f"{PAGE}: has src/{layer} where src/{here} stands in tools/check_layers.py"
                for layer, here in zip(told, right, strict=True)
                if layer != here
            ][:1]
    return found


def files_with_variables_of_threads(page: str) -> set[str]:
    """Those that the page's table of them names."""
    table = page.partition("| file | what it keeps | why there |\n")[2].split("\n\n")[0]
    return {file for row in table.splitlines() for file in re.findall(r"`([^`]+)`", row.split(" | ")[0])}


def thread_complaints(src: Path, page: str) -> list[str]:
    """Files with variables of threads that the page does not name, and those that it names and have none."""
    named = files_with_variables_of_threads(page)
    there = {
        path.relative_to(src).as_posix()
        for path in src.rglob("*")
        if path.suffix in SUFFIXES and OF_THREADS.search(path.read_text(encoding="utf-8"))
    } - {*THEIR_PLACE}
    return [
        f"src/{file}: has variables of threads, and stands not in the table of {PAGE_OF_STATE}"
        for file in sorted(there - named)
    ] + [f"{PAGE_OF_STATE}: {file} has no variables of threads" for file in sorted(named - there)]


def complaints(root: Path) -> list[str]:
    src = root / "src"
    paths = [path for path in sorted(src.rglob("*")) if path.suffix in SUFFIXES and path.is_file()]
    found = names_twice(path.relative_to(src).as_posix() for path in paths)
    for path in paths:
        relative = path.relative_to(src).as_posix()
        content = path.read_text(encoding="utf-8")
        said = [complaint(relative, included, src) for included in INCLUDE.findall(content)]
        found += [f"src/{relative}: {text}" for text in (*said, *misplaced_names(relative, content)) if text]
    return found


def main() -> int:
    found = complaints(ROOT) + page_complaints((ROOT / PAGE).read_text(encoding="utf-8"))
    found += thread_complaints(ROOT / "src", (ROOT / PAGE_OF_STATE).read_text(encoding="utf-8"))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
