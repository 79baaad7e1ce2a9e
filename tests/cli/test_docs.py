# SPDX-License-Identifier: BSD-3-Clause
"""The pages in docs/ say what the code says: those that are made of it, and those that name parts of it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, Stage, needs_build
from unisono import __version__

GENERATE = ROOT / "tools/generate_docs.py"


def generate(*arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(GENERATE), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=50, check=False)


@pytest.mark.parametrize("page", ["cli.md", "CITATION.cff"])
def test_pages_of_the_package(stage: Stage, page: str) -> None:
    answer = generate("--check", page, environment=stage.environment())
    assert answer.returncode == 0, answer.stderr


@needs_build
@pytest.mark.parametrize("page", ["options.md", "algorithms.md"])
def test_pages_of_the_compiled_code(stage: Stage, built: dict[str, str], page: str) -> None:
    answer = generate("--check", page, environment=stage.environment(built))
    assert answer.returncode == 0, answer.stderr


def test_differences_are_found(stage: Stage) -> None:
    """The recorded answers are not those of the compiled code, so their pages differ from docs/."""
    answer = generate("--check", "options.md", environment=stage.environment())
    assert answer.returncode == 1
    assert "options.md differs from what the code says" in answer.stderr


def test_all_options_are_on_the_page(stage: Stage, tmp_path: Path) -> None:
    """Run in a copy of the tree's docs/, so that nothing real is written."""
    copy = tmp_path / "tree/tools/generate_docs.py"
    copy.parent.mkdir(parents=True)
    (tmp_path / "tree/docs/reference").mkdir(parents=True)
    (tmp_path / "tree/CITATION.cff").write_text("title: Unisono\nversion: 0\n")
    copy.write_text(GENERATE.read_text())
    subprocess.run([sys.executable, str(copy)], env=stage.environment(), check=True, capture_output=True)
    options = (tmp_path / "tree/docs/reference/options.md").read_text()
    assert "`--single-copy`<br>`--no-single-copy`" in options
    assert "quiet\\|warning\\|info" in options
    algorithms = (tmp_path / "tree/docs/reference/algorithms.md").read_text()
    assert "`segment` 8 KiB (0 B to 1 GiB)" in algorithms
    assert "All 4 algorithms" in algorithms
    assert (tmp_path / "tree/CITATION.cff").read_text() == f"title: Unisono\nversion: {__version__}\n"
    assert (tmp_path / "tree/docs/reference/cli.md").read_text() == (
        ROOT / "docs/reference/cli.md"
    ).read_text()


# Names of sources, as pages and comments write them: from the root, from src/, or the file's own name.
SOURCE = re.compile(r"(?<![\w./*~{<$-])(?:[\w-]+/)*[\w-]+\.(?:cc|h|c|S|py|sh)\b(?![\w/(])")
MEMBER = re.compile(r"`(\w+)::(\w+)")
OF_OTHERS = {
    "mpi.h",
    "mpi_abi.h",
    "mpif.h",
    "test/main.py",
    "script.py",
    "train.py",
    "train.c",
    "train2.c",
    "name.c",
    "p.c",
    "ask.c",
    "src/algorithms/messages/barrier_double_ring.cc",
    "messages/barrier_double_ring.cc",
}
FOLDERS = ("cmake", "src", "include", "tests", "benchmarks", "examples", "python", "tools")


def pages() -> list[Path]:
    return [
        *ROOT.glob("*.md"),
        *ROOT.glob(".github/**/*.md"),
        *ROOT.glob("examples/*.md"),
        *ROOT.glob("docs/**/*.md"),
    ]


def sources() -> list[Path]:
    found = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))
    return [path for path in found if path.suffix in {".cc", ".h", ".c", ".S", ".py", ".sh"}]


def test_sources_that_pages_and_comments_name_are_there() -> None:
    known = set(OF_OTHERS)
    for path in sources():
        parts = path.relative_to(ROOT).parts
        known.update("/".join(parts[first:]) for first in range(len(parts)))
    missing = []
    for path in [*pages(), *sources()]:
        text = path.read_text(encoding="utf-8", errors="replace")
        if path.suffix in {".cc", ".h", ".c"}:
            text = "\n".join(re.findall(r"//.*", text))
        elif path.suffix != ".md":
            continue
        missing += [f"{path.relative_to(ROOT)}: {name}" for name in SOURCE.findall(text) if name not in known]
    assert not missing, missing


def test_members_that_pages_name_are_there() -> None:
    """`Class::member`: the member stands in a file that defines the class."""
    texts = [re.sub(r"//.*", "", path.read_text()) for path in sources() if path.suffix in {".cc", ".h"}]
    missing = []
    for page in pages():
        for scope, member in MEMBER.findall(page.read_text(encoding="utf-8")):
            begin = re.compile(rf"\b(?:class|struct|enum class|namespace)\s+(?:\w+::)*{scope}\b")
            if not any(begin.search(text) and re.search(rf"\b{member}\b", text) for text in texts):
                missing.append(f"{page.name}: {scope}::{member}")
    assert not missing, missing


def test_links_between_pages_lead_somewhere() -> None:
    def anchors(page: Path) -> set[str]:
        titles = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
        return {re.sub(r"[^\w -]", "", title.lower()).strip().replace(" ", "-") for title in titles}

    missing = []
    for page in pages():
        for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            file, _, anchor = target.partition("#")
            to = page.parent / file if file else page
            if "://" in target:
                continue
            if not to.exists() or (anchor and anchor not in anchors(to)):
                missing.append(f"{page.relative_to(ROOT)}: {target}")
    assert not missing, missing


def fields(schema: object) -> set[str]:
    """The names of all fields that a schema describes."""
    if isinstance(schema, list):
        return set().union(*map(fields, schema))
    if not isinstance(schema, dict):
        return set()
    return {*schema.get("properties", {}), *set().union(*map(fields, schema.values()))}


@pytest.mark.parametrize("name", ["table", "machine"])
def test_all_fields_of_files_are_on_their_pages(name: str) -> None:
    schema = json.loads((ROOT / f"python/unisono/schema/{name}.schema.json").read_text())
    page = (ROOT / f"docs/reference/{name}-format.md").read_text(encoding="utf-8")
    known = set(re.findall(r"\w+", " ".join(re.findall(r"`[^`]*`", page))))
    assert fields(schema) <= known


def test_all_functions_for_programs_are_on_their_pages() -> None:
    header = (ROOT / "include/unisono/unisono.h").read_text()
    page = (ROOT / "docs/reference/c-api.md").read_text(encoding="utf-8")
    functions = re.findall(r"^UNISONO_API ([^;]+);", header, re.MULTILINE)
    assert functions
    assert [f for f in functions if f"`{' '.join(f.split())}`" not in " ".join(page.split())] == []
    assert [name for name in re.findall(r"UNISONO_PCONTROL_\w+", header) if name not in page] == []
    page = (ROOT / "docs/reference/python-api.md").read_text(encoding="utf-8")
    package = (ROOT / "python/unisono/__init__.py").read_text()
    assert [name for name in re.findall(r'"(\w+)"', package.split("__all__")[1]) if name not in page] == []
