# SPDX-License-Identifier: BSD-3-Clause
"""What tools/check_layers.py finds: arrows that run upwards, MPI's header in the core, names of another folder, a page
with other layers, and variables of threads that no page names."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from conftest import ROOT

sys.path.insert(0, str(ROOT / "tools"))

import check_layers


def found(root: Path, file: str, text: str) -> list[str]:
    place = root / "src" / file
    place.parent.mkdir(parents=True)
    place.write_text(text)
    return check_layers.complaints(root)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("schedule/a.h", '#include "patterns/tree.h"\nnamespace unisono::schedule {\nstruct A {};\n}\n'),
        ("adapter/below/a.h", "#include <mpi.h>\nnamespace unisono::adapter {\nint a();\n}\n"),
        ("adapter/profile/a.h", "namespace unisono::adapter::profile {\nint a();\n}\n"),
        ("base/a.h", "namespace unisono {\nstruct A {};\n}\n"),
        (
            "tuning/decisions/a.h",
            "namespace unisono {\nstruct Options;\n}\nnamespace unisono::tuning {\nint a();\n}\n",
        ),
    ],
)
def test_what_lies_in_its_place_passes(tmp_path: Path, file: str, text: str) -> None:
    assert found(tmp_path, file, text) == []


@pytest.mark.parametrize(
    ("file", "text", "said"),
    [
        ("patterns/a.h", '#include "schedule/program.h"\n', "schedule does not stand below patterns"),
        ("runtime/world/a.h", "#include <mpi.h>\n", "includes mpi.h: only src/preload"),
        ("proof/a.h", "namespace unisono::schedule {\nint a();\n}\n", "what lies here is in unisono::proof"),
        ("tool/a.h", "namespace unisono {\nint a();\n}\n", "what lies here is in unisono::tool"),
        ("tool/b.h", "namespace unisono::toolbox {\nint a();\n}\n", "what lies here is in unisono::tool"),
        (
            "base/a.h",
            "namespace unisono::host {\nint a();\n}\n",
            "opens unisono::host: what lies here is in unisono",
        ),
        ("nowhere/a.h", "#include <string>\n", "lies in no layer"),
    ],
)
def test_what_does_not_is_found(tmp_path: Path, file: str, text: str, said: str) -> None:
    complaints = found(tmp_path, file, text)
    assert any(said in line for line in complaints), complaints


def page(change: tuple[str, str] | None = None) -> str:
    """A page with the layers as the check has them, but for a change."""
    tables = [
        "".join(f"| `src/{layer}` | what |\n" for layer in layers)
        for layers in (check_layers.CORE, *check_layers.BRANCHES[:-1])
    ]
    text = "\n".join("\n| folder | holds |\n| --- | --- |\n" + table for table in tables)
    return text.replace(*change) if change else text


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (None, None),
        (
            (
                "| `src/algorithms/messages` | what |\n| `src/algorithms/shared_memory` |",
                "| `src/algorithms/messages`, `shared_memory` |",
            ),
            None,
        ),
        (("| `src/adapter/messages` | what |\n", ""), "lacks src/adapter/messages"),
        (("`src/tool`", "`src/tools`"), "has src/tools, which is no layer there"),
        (
            ("| `src/base` | what |\n| `src/matching` |", "| `src/matching` | what |\n| `src/base` |"),
            "has src/matching where src/base stands in tools/check_layers.py",
        ),
        (("| folder | holds |", "| what | holds |"), "has 0 tables of folders instead of 3"),
    ],
)
def test_the_page_has_the_same_layers(change: tuple[str, str] | None, said: str | None) -> None:
    assert change is None or change[0] in page(), "what is changed is there"
    complaints = check_layers.page_complaints(page(change))
    assert (complaints == []) if said is None else f"docs/inside/layers.md: {said}" in complaints, complaints


TABLE_OF_THREADS = "| file | what it keeps | why there |\n| --- | --- | --- |\n| `base/a.h`, `base/a.cc` | `all` | a count |\n\nMore.\n"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("base/a.cc", "thread_local int a = 0;\n", []),
        (
            "base/a.cc",
            "// No thread_local variables.\n",
            ["docs/inside/state.md: base/a.cc has no variables of threads"],
        ),
        ("runtime/call/this_thread.cc", "constinit thread_local ThisThread this_thread;\n", []),
        (
            "base/b.cc",
            "void f() {\n  static thread_local int a;\n}\n",
            ["src/base/b.cc: has variables of threads"],
        ),
        ("base/b.h", "extern __thread int a;\n", ["src/base/b.h: has variables of threads"]),
        ("preload/b.c", "static _Thread_local int a;\n", ["src/preload/b.c: has variables of threads"]),
    ],
)
def test_the_page_names_variables_of_threads(tmp_path: Path, name: str, text: str, said: list[str]) -> None:
    files = {"base/a.h": "extern thread_local int a;\n", "base/a.cc": "thread_local int a;\n", name: text}
    for file, content in files.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(content)
    complaints = check_layers.thread_complaints(tmp_path, TABLE_OF_THREADS)
    assert len(complaints) == len(said), complaints
    assert all(line.startswith(start) for line, start in zip(complaints, said, strict=True)), complaints
