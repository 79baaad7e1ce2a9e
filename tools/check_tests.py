#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that tests go by what is public, and that unit tests hand options in instead of changing their own environment."""

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


def complaints(root: Path) -> list[str]:
    found: list[str] = []
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
