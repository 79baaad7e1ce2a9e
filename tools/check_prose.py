#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks that prose is easy to read: lines, sentences and table cells of pages, sentences of comments.

    tools/check_prose.py           what is too long in any file that git knows
    tools/check_prose.py FILE...   what is too long in these

Pages: lines of at most 120 columns, sentences of at most 30 words, cells of at most 200 characters. Code blocks are
left out, and so are lines and cells of pages that a program writes. Comments of C, C++ and Python sources: sentences.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from check_sources import ROOT, tracked_files
from markdown_it import MarkdownIt
from markdown_it.token import Token

COLUMNS, WORDS, CELL = 120, 30, 200
GENERATED = re.compile(r"<!-- Written by ")
C_SUFFIXES = {".c", ".cc", ".h"}
LICENCE = "SPDX-License-Identifier"
# A sentence ends with a full stop and what may close behind it, before a capital, a quotation, code or a number.
END = re.compile(r"""(?<=[.!?])[)\]"'*_]*\s+(?=[(\["'*_`]*[A-Z0-9`<])""")
ABBREVIATIONS = re.compile(r"\b(e\.g|i\.e|cf|vs|etc|Fig|Sec|No|pp?)\.(?=\s)")
COMMENT_MARK = re.compile(r"^\s*(?://[/!]?<?|/\*[*!]?|\*/|\*|#)?\s?")
LONG_CODE = re.compile(r"`[^`]{80,}`")
ITEM = re.compile(r"^\s*(?:[-*+]|\d+[.)])\s")


@dataclass(frozen=True)
class Finding:
    """Something that is too long."""

    line: int
    text: str


def sentences(text: str) -> Iterator[str]:
    text = ABBREVIATIONS.sub(r"\1", re.sub(r"`[^`]*`", "`code`", text))
    yield from END.split(" ".join(text.split()))


def long_sentences(line: int, text: str) -> Iterator[Finding]:
    for sentence in sentences(text):
        count = len([word for word in sentence.split() if re.search(r"\w", word)])
        if count > WORDS:
            yield Finding(line, f"{count} words: {sentence[:90]}...")


# --- Pages ---


def of_page(text: str) -> Iterator[Finding]:
    is_generated = bool(GENERATED.search(text))
    tokens = MarkdownIt().enable("table").parse(text)
    if not is_generated:
        yield from _long_lines(text, tokens)
    row = 0
    inside_cell = False
    for token in tokens:
        if token.type == "tr_open" and token.map:
            row = token.map[0] + 1
        inside_cell = token.type in ("td_open", "th_open") or (inside_cell and token.type == "inline")
        if token.type != "inline":
            continue
        if inside_cell and not is_generated and len(token.content) > CELL:
            yield Finding(row, f"a cell of {len(token.content)} characters: {token.content[:60]}...")
        elif not inside_cell:
            yield from long_sentences(token.map[0] + 1 if token.map else row, _words(token))


def _words(inline: Token) -> str:
    """The text that readers see: without the addresses of links, code as one word."""
    parts = []
    for child in inline.children or []:
        if child.type == "code_inline":
            parts.append("`code`")
        elif child.type in ("text", "text_special"):
            parts.append(child.content)
        elif child.type in ("softbreak", "hardbreak"):
            parts.append("\n")
    return "".join(parts)


def _long_lines(text: str, tokens: list[Token]) -> Iterator[Finding]:
    left_out = set()
    for token in tokens:
        if token.type in ("fence", "code_block", "table_open", "html_block") and token.map:
            left_out.update(range(*token.map))
    for number, line in enumerate(text.splitlines()):
        # A command cannot be broken: a line that holds little else may be longer.
        if (
            number not in left_out
            and len(line.rstrip()) > COLUMNS
            and len(LONG_CODE.sub("", line)) > COLUMNS // 4
        ):
            yield Finding(number + 1, f"{len(line.rstrip())} columns: {line[:60]}...")


# --- Comments ---


def of_comments(path: Path, text: str) -> Iterator[Finding]:
    for line, lines in _python_comments(text) if path.suffix == ".py" else _c_comments(text):
        for first, paragraph in _paragraphs(line, lines):
            yield from long_sentences(first, paragraph)


def _paragraphs(line: int, lines: list[str]) -> Iterator[tuple[int, str]]:
    """The paragraphs and list items of a comment. What is set in by four blanks is code, and so is what follows
    `\\b`: the help of a command shows it line by line."""
    first, words = line, list[str]()
    for number, content in enumerate([*lines, ""], line):
        if (
            not content.strip()
            or ITEM.match(content)
            or content.startswith("    ")
            or content.lstrip()[:1] == "|"
        ):
            if words and words[0] != "\b":
                yield first, " ".join(words)
            first, words = number, [ITEM.sub("", content)] if ITEM.match(content) else []
        else:
            first = first if words else number
            words.append(content)


def _joined(found: list[tuple[int, int, str]], source: str) -> Iterator[tuple[int, list[str]]]:
    """Comments of a line each, as line, column, text. Those of lines that follow one another are one comment; but what
    stands behind code begins anew."""
    code = source.split("\n")
    last = (-1, -1)
    block: list[str] = []
    begin = 0
    for line, column, text in found:
        if LICENCE in text:
            continue
        if block and ((line - 1, column) != last or code[line - 1][:column].strip()):
            yield begin, block
            block = []
        begin = begin if block else line
        block.append(COMMENT_MARK.sub("", text))
        last = (line, column)
    if block:
        yield begin, block


def _python_comments(text: str) -> Iterator[tuple[int, list[str]]]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    comments = [(*token.start, token.string) for token in tokens if token.type == tokenize.COMMENT]
    yield from _joined(comments, text)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (
            found := ast.get_docstring(node)
        ):
            yield node.body[0].lineno, found.splitlines()


@cache
def _c_parser() -> object:
    import tree_sitter
    import tree_sitter_cpp

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_cpp.language()))


def _c_comments(text: str) -> Iterator[tuple[int, list[str]]]:
    found: list[tuple[int, int, str]] = []
    pending = [_c_parser().parse(text.encode()).root_node]  # type: ignore[attr-defined]
    while pending:
        node = pending.pop()
        if node.type != "comment":
            pending += reversed(node.children)
            continue
        line, column = node.start_point
        content = node.text.decode()
        if content.startswith("/*"):
            inner = content.removeprefix("/*").removesuffix("*/").lstrip("*")
            yield line + 1, [COMMENT_MARK.sub("", part) for part in inner.splitlines()]
        else:
            found.append((line + 1, column, content))
    yield from _joined(found, text)


# --- All files ---


def findings(path: Path) -> list[Finding]:
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix == ".md":
        return list(of_page(text))
    return list(of_comments(path, text))


def is_checked(path: Path) -> bool:
    return path.suffix in {".md", ".py", *C_SUFFIXES}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="only these")
    arguments = parser.parse_args()
    files = [path.resolve() for path in arguments.files] or [
        path for path in tracked_files() if is_checked(path)
    ]
    lines = [
        f"{path.relative_to(ROOT) if path.is_relative_to(ROOT) else path}:{finding.line}: {finding.text}"
        for path in files
        for finding in findings(path)
    ]
    print("\n".join(lines), end="\n" if lines else "")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
