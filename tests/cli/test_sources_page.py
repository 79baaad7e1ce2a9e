# SPDX-License-Identifier: BSD-3-Clause
"""docs/reference/sources.md says what every code of a source stands for."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from conftest import BUILD, ROOT, needs_build

PAGE = ROOT / "docs/reference/sources.md"
CODE = re.compile(r"(?<![\w#/.-])[ASNMCGB]\d{1,2}(?![\w.]|-\w)")
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/|(?<![\w'\"])#[^\n]*|\"\"\".*?\"\"\"", re.DOTALL)
FOLDERS = ("src", "include", "python", "benchmarks", "tests", "tools", "examples")


def explained() -> set[str]:
    return set(re.findall(r"^\| ([A-Z]\d+) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE))


def unexplained(name: str, text: str) -> list[str]:
    return [f"{name}: {code}" for code in sorted(set(CODE.findall(text)) - explained())]


def test_codes_in_pages_and_comments() -> None:
    missing, found = [], 0
    for path in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        missing += unexplained(str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
    for folder in FOLDERS:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in {".cc", ".h", ".c", ".py"}:
                comments = "\n".join(COMMENT.findall(path.read_text(encoding="utf-8", errors="replace")))
                found += len(CODE.findall(comments))
                missing += unexplained(str(path.relative_to(ROOT)), comments)
    assert not missing, missing
    assert found > 100


@needs_build
def test_codes_that_list_and_explain_print() -> None:
    """Both print each algorithm's source as the compiled code has it."""
    tool = BUILD / "bin/unisono-tool"
    algorithms = json.loads(subprocess.run([tool, "list"], check=True, capture_output=True, text=True).stdout)
    text = json.dumps(algorithms)
    assert len(CODE.findall(text)) > 100
    assert not unexplained("list", text)


def test_an_unknown_code_is_found() -> None:
    assert unexplained("page", "as in A5, A99 and (S98)") == ["page: A99", "page: S98"]


def test_letters_have_a_source() -> None:
    letters = {code[0] for code in explained()}
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([A-Z](?:, [A-Z])*) \| (.*) \|$", text, re.MULTILINE)
    named = {letter for row, _ in rows for letter in row.split(", ")}
    assert letters - {"B"} == named
    assert all(re.search(r"\b(19|20)\d\d\b", source) for _, source in rows)


def test_page_is_reached_from_the_algorithms() -> None:
    assert "(sources.md)" in (ROOT / "docs/reference/algorithms.md").read_text(encoding="utf-8")
    assert Path(PAGE).is_file()
