#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that packages under python/unisono import only downwards, without circles, and that nothing there grows too long.

The order stands in docs/inside/layers.md. Imports inside functions and those for types alone count as well.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = [
    "common",
    "launch",
    "measuring",
    "tables",
    "machine",
    "tuning",
    "reporting",
    "page",
    "completion",
    "commands",
]
# Modules of the top that every package may import, since they import nothing; others are imported by none.
FOUNDATION = {"unisono", "unisono.regions"}
MOST_LINES, MOST_LINES_OF_A_FUNCTION, MOST_MEMBERS = 400, 60, 25


def module_name(path: Path, root: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def package_of(module: str) -> str | None:
    """The package that a module belongs to; None: it lies at the top."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in PACKAGES else None


def imported(tree: ast.Module, modules: set[str]) -> Iterator[str]:
    """The project's own modules that are named in imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "unisono")
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "unisono":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules else str(node.module)


def complaint(module: str, other: str) -> str | None:
    """What is wrong with `module` importing `other`, if anything."""
    own, its = package_of(module), package_of(other)
    if own is None or own == its or other in FOUNDATION:
        return None
    if its is None:
        return f"imports {other}, which lies in no package"
    if PACKAGES.index(its) > PACKAGES.index(own):
        return f"imports {other}: {its} stands above {own}"
    return None


def circle(imports: dict[str, set[str]]) -> list[str] | None:
    """Modules that import each other in turn, if there are such."""
    done: set[str] = set()

    def visit(module: str, way: list[str]) -> list[str] | None:
        if module in way:
            return [*way[way.index(module) :], module]
        if module in done:
            return None
        for other in sorted(imports.get(module, ())):
            found = visit(other, [*way, module])
            if found:
                return found
        done.add(module)
        return None

    return next((found for module in sorted(imports) if (found := visit(module, []))), None)


def members_of(of_class: ast.ClassDef) -> set[str]:
    """The variables that an object keeps: fields of its class, and what its methods set of `self`."""
    fields = {
        node.target.id
        for node in of_class.body
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    methods = (node for node in of_class.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return fields | {
        node.attr
        for method in methods
        for node in ast.walk(method)
        if isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and isinstance(node.value, ast.Name)
        and node.value.id == "self"
    }


def lengths(tree: ast.Module, text: str) -> Iterator[str]:
    """What is too long in a file."""
    count = len(text.splitlines())
    if count > MOST_LINES:
        yield f"has {count} lines, more than {MOST_LINES}"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MOST_LINES_OF_A_FUNCTION:
                yield f"function {node.name} has {lines} lines, more than {MOST_LINES_OF_A_FUNCTION}"
        elif isinstance(node, ast.ClassDef) and (members := len(members_of(node))) > MOST_MEMBERS:
            yield f"class {node.name} has {members} members, more than {MOST_MEMBERS}"


def complaints(root: Path) -> list[str]:
    """Of all files under `root`, which holds the package unisono."""
    files = {module_name(path, root): path for path in sorted((root / "unisono").rglob("*.py"))}
    imports: dict[str, set[str]] = {}
    found: list[str] = []
    for module, path in files.items():
        text = path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        imports[module] = set(imported(tree, set(files))) - {module}
        texts = [complaint(module, other) for other in sorted(imports[module])]
        texts += lengths(tree, text)
        if len(module.split(".")) > 2 and package_of(module) is None:
            texts.append("lies in no package that tools/check_packages.py knows")
        found += [f"{path.relative_to(root)}: {line}" for line in texts if line]
    around = circle(imports)
    if around:
        found.append(f"circle of imports: {' -> '.join(around)}")
    return found


def main() -> int:
    found = complaints(ROOT / "python")
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
