#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that tests go by what is public, that unit tests hand options in instead of changing their own environment, and that every
option is set by some test."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRIVATE = re.compile(r"_[a-z]\w*")
PRIVATE_PATH = re.compile(r"unisono(\.\w+)*\._[a-z]\w*")
WIDENED = re.compile(r"#\s*define\s+(?:private|protected)\b|\bFRIEND_TEST\b|-fno-access-control")
FRIEND = re.compile(r"\bfriend\s+(?:class|struct)\s+\w*(?:Test|Tester|ForTests)\b")
OWN_ENVIRONMENT = re.compile(r"\b(?:setenv|unsetenv|putenv|clearenv)\s*\(")

# The options, as the list has them: name, variable, member.
OPTION = re.compile(r'"([a-z_]+)",\s*"(UNISONO_[A-Z_]+)".*?&Options::(\w+)', re.DOTALL)
OPTION_LIST, TESTS_OF_THE_LIST = "src/base/option_list.cc", "tests/unit/base/options_test.cc"


def private_names(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """Private names of the package unisono that a Python test uses: imported, as attributes of modules, named in strings."""
    modules: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "unisono":
            for alias in node.names:
                if PRIVATE.fullmatch(alias.name):
                    yield node.lineno, alias.name
                modules.add(alias.asname or alias.name)
        elif isinstance(node, ast.Constant) and PRIVATE_PATH.fullmatch(str(node.value)):
            yield node.lineno, str(node.value)
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            continue
        if PRIVATE.fullmatch(node.attr) and node.value.id in modules:
            yield node.lineno, f"{node.value.id}.{node.attr}"


def of_python(path: Path) -> Iterator[str]:
    for line, name in sorted(private_names(ast.parse(path.read_text(encoding="utf-8")))):
        yield f"line {line}: {name} is private; make it public, or test through what is"


def of_cpp(path: Path, is_unit_test: bool) -> Iterator[str]:
    for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if WIDENED.search(text) or FRIEND.search(text):
            yield f"line {line}: opens what is private to a test"
        if is_unit_test and OWN_ENVIRONMENT.search(text):
            yield f"line {line}: changes the test's own environment; hand the options in (Options, Environment)"


def options_without_a_test(root: Path) -> list[str]:
    """What no test sets for a job; those that read and write options alone do not count."""
    file = root / OPTION_LIST
    if not file.is_file():
        return []
    tests = [path for path in (root / "tests").rglob("*") if path.suffix in {".py", ".cc", ".h"}]
    text = "\n".join(path.read_text(encoding="utf-8") for path in tests if path != root / TESTS_OF_THE_LIST)
    return [
        name
        for name, variable, member in OPTION.findall(file.read_text(encoding="utf-8"))
        if not re.search(rf"\.{member} = |\b{variable}\b|--{name.replace('_', '-')}\b", text)
    ]


def complaints(root: Path) -> list[str]:
    found = [f"{OPTION_LIST}: option {name} is set by no test" for name in options_without_a_test(root)]
    for path in sorted(path for folder in ("src", "tests") for path in (root / folder).rglob("*")):
        name = path.relative_to(root)
        if path.suffix == ".py" and name.parts[0] == "tests":
            found += [f"{name}: {text}" for text in of_python(path)]
        elif path.suffix in {".cc", ".h"}:
            found += [f"{name}: {text}" for text in of_cpp(path, name.parts[:2] == ("tests", "unit"))]
    return found


def main() -> int:
    found = complaints(ROOT)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
