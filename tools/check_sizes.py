#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks how long the C and C++ sources are: files, functions, and how much a class keeps.

What was longer before there was this check stands in STILL_LONGER with what it has: it may shrink, and not grow. What is
no longer too long must leave the list. A part of a file that cannot be parsed is named: nothing there is checked.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import tree_sitter
import tree_sitter_cpp

ROOT = Path(__file__).resolve().parent.parent
SUFFIXES = {".c", ".cc", ".h"}
MOST_LINES = 400
MOST_LINES_OF_FUNCTION = 60
MOST_MEMBERS = 25
# "path", "path:function" or "path:class": lines or members.
STILL_LONGER: dict[str, int] = {}
CLASSES = ("class_specifier", "struct_specifier")
# What the grammar of C++ does not know: annotations of locks, attributes, and around a type C's _Atomic().
UNKNOWN = re.compile(
    rb"UNISONO_(?:THREADS|CAPABILITY|SCOPED_CAPABILITY|(?:PT_)?GUARDED_BY|REQUIRES|EXCLUDES|(?:TRY_)?ACQUIRE|RELEASE"
    rb"|RETURN_CAPABILITY|NOT_CHECKED)\b(?:\((?:[^()]|\([^()]*\))*\))?"
    rb"|__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)"
    rb"|_Atomic\((?P<type>[^()]*)\)"
)
ENDS_AT_THE_MARGIN = ("function_definition", "namespace_definition", "linkage_specification")


def walk(node: tree_sitter.Node) -> Iterator[tree_sitter.Node]:
    yield node
    for child in node.children:
        yield from walk(child)


def text(node: tree_sitter.Node | None) -> str:
    return "" if node is None or node.text is None else node.text.decode()


def name_of_function(node: tree_sitter.Node) -> str:
    declarator = node.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator") or next(
            (child for child in declarator.children if child.type.endswith("declarator")), None
        )
    return text(declarator.child_by_field_name("declarator")) if declarator is not None else "?"


def members_of(body: tree_sitter.Node) -> int:
    """How many variables a class keeps."""
    count = 0
    for child in body.children:
        if child.type != "field_declaration" or "static" in (text(c) for c in child.children):
            continue
        declarators = child.children_by_field_name("declarator")
        if not any(part.type == "function_declarator" for d in declarators for part in walk(d)):
            count += len(declarators)
    return count


def parsed(source: bytes, parser: tree_sitter.Parser) -> tree_sitter.Node:
    def blank(found: re.Match[bytes]) -> bytes:
        return (found["type"] or b"") + re.sub(rb"[^\n]", b" ", found[0])[len(found["type"] or b"") :]

    return parser.parse(UNKNOWN.sub(blank, source)).root_node


def not_parsed(source: bytes, root: tree_sitter.Node) -> Iterator[str]:
    """What the parser did not understand so far that functions may be missing."""
    if root.type == "ERROR":
        yield "cannot be parsed, so its functions are not checked"
        return
    ends = {node.end_point[0] for node in walk(root) if node.type in ENDS_AT_THE_MARGIN}
    lines = [*source.split(b"\n"), b""]
    for i in (i for i, line in enumerate(lines) if line == b"}"):
        # A header for C and C++ ends `extern "C" {` between lines of the preprocessor.
        if i not in ends and not lines[i + 1].startswith(b"#endif"):
            yield f"line {i + 1}: what ends here cannot be parsed, so it is not checked"


def sizes(relative: str, source: bytes, root: tree_sitter.Node) -> Iterator[tuple[str, int, int]]:
    """What a file has: its name, how large it is, how large it may be."""
    yield relative, source.count(b"\n"), MOST_LINES
    for node in walk(root):
        if node.type == "function_definition":
            lines = node.end_point[0] - node.start_point[0] + 1
            yield f"{relative}:{name_of_function(node)}", lines, MOST_LINES_OF_FUNCTION
        elif node.type in CLASSES and (body := node.child_by_field_name("body")) is not None:
            yield f"{relative}:{text(node.child_by_field_name('name'))}", members_of(body), MOST_MEMBERS


def complaints(root: Path, still_longer: dict[str, int]) -> list[str]:
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))
    found = []
    left = dict(still_longer)
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in SUFFIXES:
            continue
        relative, source = path.relative_to(root).as_posix(), path.read_bytes()
        tree = parsed(source, parser)
        found += [f"{relative}: {text}" for text in not_parsed(source, tree)]
        for what, size, most in sizes(relative, source, tree):
            known = left.pop(what, None) if size > most else None
            if size > max(most, known or 0):
                unit = "members" if most == MOST_MEMBERS else "lines"
                found.append(f"{what} has {size} {unit} (at most {max(most, known or 0)})")
    found += [
        f"{what} is not too long any more: take it off the list in {Path(__file__).name}" for what in left
    ]
    return found


def main() -> int:
    found = complaints(ROOT, STILL_LONGER)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
