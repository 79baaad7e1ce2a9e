# SPDX-License-Identifier: BSD-3-Clause
"""The page of MPI's promises names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/inside/promises.md"
ROW = re.compile(r"^\| (?P<promise>.+?) \| (?P<section>.+?) \| (?P<tests>.+?) \|$", re.MULTILINE)
UNIT_TEST = re.compile(r"^TYPED_TEST\w*\((\w+), (\w+)\)|^TEST(?:_[FP])?\((\w+),\s*(\w+)\)", re.MULTILINE)


def existing_tests() -> set[str]:
    """Return the names of all tests, as the page writes them."""
    names = set()
    for file in (ROOT / "tests/integration").glob("test_*.py"):
        found = re.findall(r"^def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
        names.update(f"{file.name}::{name}" for name in found)
    for file in (ROOT / "tests/unit").rglob("*.cc"):
        for match in UNIT_TEST.finditer(file.read_text(encoding="utf-8")):
            suite, name = [group for group in match.groups() if group]
            names.add(f"{suite}.{name}")
    for file in (ROOT / "tests/unit").rglob("*_test.py"):
        found = re.findall(r"^\s*def (test_\w+)", file.read_text(encoding="utf-8"), re.MULTILINE)
        names.update(f"{file.name}::{name}" for name in found)
    return names


def rows() -> list[dict[str, str]]:
    found = [match.groupdict() for match in ROW.finditer(PAGE.read_text(encoding="utf-8"))]
    return [row for row in found if row["section"] not in ("section", "---")]


def test_every_promise_names_a_section_and_a_test():
    found = rows()
    assert {row["section"].split(".")[0] for row in found} >= {"6", "7", "9", "11"}
    for row in found:
        assert re.match(r"\d+(\.\d+)*\b", row["section"]), row
        assert "`" in row["tests"] or row["tests"].startswith("no test"), row


def test_the_named_tests_exist():
    existing = existing_tests()
    named = [name for row in rows() for name in re.findall(r"`([^`]+)`", row["tests"])]
    conformance = (ROOT / "docs/inside/conformance.md").read_text(encoding="utf-8")
    named += re.findall(r"`(test_\w+\.py::\w+)`", conformance)
    missing = [name for name in named if name not in existing]
    assert len(named) > 100 and not missing, missing
