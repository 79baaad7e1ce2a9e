# SPDX-License-Identifier: BSD-3-Clause
"""The page of the C interface, `unisono.3`, from the comments of its header."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from unisono import __version__

from man.roff import Page, alias, bold

_COMMENT = re.compile(r"/\*(.*?)\*/", re.DOTALL)
_FUNCTION = re.compile(r"UNISONO_API\s+([^;]*?(\w+)\([^;]*\));", re.DOTALL)
_CONSTANT = re.compile(r"#define (UNISONO_\w+) (\d+)")


@dataclass(frozen=True)
class Part:
    """A comment, and what is declared below it."""

    text: str
    functions: tuple[tuple[str, str], ...]  # name and declaration
    constants: tuple[tuple[str, str], ...]  # name and value


def parts(header: str) -> list[Part]:
    """Comments without a declaration among them, such as the file's own."""
    found = list(_COMMENT.finditer(header))
    ends = [match.start() for match in found[1:]] + [len(header)]
    made = []
    for match, end in zip(found, ends, strict=True):
        below = header[match.end() : end]
        functions = tuple(
            (name, " ".join(declaration.split())) for declaration, name in _FUNCTION.findall(below)
        )
        made.append(Part(_plain(match[1]), functions, tuple(_CONSTANT.findall(below))))
    return made


def _plain(comment: str) -> str:
    """Without the stars at the beginnings of lines."""
    lines = [re.sub(r"^\s*\* ?", "", line) for line in comment.strip().splitlines()]
    return "\n".join(line.rstrip() for line in lines)


def page(header: Path) -> Page:
    found = parts(header.read_text())
    made = Page("unisono", 3, "interface of Unisono to C and C++ programs", __version__)
    made.title("SYNOPSIS")
    declared = [line for part in found for _, text in part.functions for line in _lines(text)]
    made.code(["#include <unisono/unisono.h>", "", *declared])
    made.title("DESCRIPTION")
    _text(made, next(part.text for part in found if "SPDX" not in part.text))
    made.title("FUNCTIONS")
    for part in found:
        if part.functions:
            made.subtitle(", ".join(name for name, _ in part.functions))
            made.code(line for _, text in part.functions for line in _lines(text))
            _text(made, part.text)
    made.title("CONSTANTS")
    for part in found:
        if part.constants:
            _text(made, part.text)
            for name, value in part.constants:
                made.tagged(bold(name), f"{value}")
    made.see_also([("unisono-run", 1), ("unisono.conf", 5), ("unisono", 1)])
    return made


def aliases(made: Page, header: Path) -> Iterator[tuple[str, str]]:
    """`man unisono_is_active` finds the page."""
    for part in parts(header.read_text()):
        yield from (alias(made, name) for name, _ in part.functions)


def _lines(declaration: str) -> list[str]:
    return textwrap.wrap(f"{declaration};", 72, subsequent_indent="    ")


def _text(made: Page, text: str) -> None:
    """Paragraphs; indented ones are code. Names of the interface stand out."""
    for paragraph in re.split(r"\n\s*\n", text):
        if paragraph.startswith("    "):
            made.code(line.removeprefix("    ") for line in paragraph.splitlines())
        else:
            made.paragraph(re.sub(r"(?<![`\w])((?:unisono|UNISONO)_\w+|MPI_\w+)(?!`)", r"`\1`", paragraph))
