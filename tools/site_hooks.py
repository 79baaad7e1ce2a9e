# SPDX-License-Identifier: BSD-3-Clause
"""What MkDocs calls when it makes the site: the order of pages, and pages as CommonMark has them.

Python-Markdown wants lists set in by four blanks, blank lines before lists and tables, and code blocks with nothing but
a language. Pages are written for people and for CommonMark, so they are read as that and handed on as the other.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt

# Sections of the site: the folder, the title, and the pages that come first, in this order. Others follow by name.
SECTIONS = [
    (
        "",
        "Start",
        [
            "index",
            "install",
            "start",
            "tutorial",
            "cluster",
            "without-run",
            "faq",
            "troubleshooting",
            "glossary",
        ],
    ),
    ("guide", "Guide", ["profile", "report", "explain", "tuning", "learning", "tables"]),
    (
        "reference",
        "Reference",
        [
            "cli",
            "options",
            "algorithms",
            "table-format",
            "machine-format",
            "trace-format",
            "queue-profile-format",
            "c-api",
            "python-api",
        ],
    ),
    ("figures", "Figures", ["index", "measurements"]),
    (
        "inside",
        "Inside",
        [
            "architecture",
            "layers",
            "state",
            "engines",
            "builders",
            "memory",
            "choosing",
            "calls",
            "adapters",
            "communicators",
            "profile",
            "decisions",
            "adding-an-algorithm",
            "testing",
        ],
    ),
]
HIDDEN = re.compile(r"<!-- *run\b.*?-->\n?", re.DOTALL)
MARK = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+")


def on_config(config: Any) -> Any:
    docs = Path(config["docs_dir"])
    config["nav"] = [
        {title: [path.relative_to(docs).as_posix() for path in ordered(docs / folder, first)]}
        for folder, title, first in SECTIONS
        if (docs / folder).is_dir()
    ]
    return config


def ordered(folder: Path, first: list[str]) -> list[Path]:
    pages = {path.stem: path for path in sorted(folder.glob("*.md"))}
    return [pages.pop(name) for name in first if name in pages] + list(pages.values())


def on_page_markdown(markdown: str, **_: Any) -> str:
    return converted(HIDDEN.sub("", markdown))


def converted(text: str) -> str:
    """The page for Python-Markdown."""
    lines = text.split("\n")
    items: list[tuple[int, int]] = []
    parted, fences, code = set(), set(), set()
    for token in MarkdownIt().enable("table").parse(text):
        if token.map is None:
            continue
        begin, end = token.map
        if token.type == "list_item_open":
            items.append((begin, end))
        elif token.type in ("bullet_list_open", "ordered_list_open", "table_open"):
            parted.add(begin)
        elif token.type == "fence":
            fences.add(begin)
            code.update(range(begin, end))
    written = []
    for number, line in enumerate(lines):
        around = [item for item in items if item[0] <= number < item[1]]
        inner = [item for item in around if item[0] < number]
        stripped = line[min(_offset(lines, inner), len(line) - len(line.lstrip())) :]
        if number in fences:
            stripped = re.sub(r"^(\s*[`~]{3,})\s*(\w*).*$", r"\1\2", stripped)
        if number in parted and written and written[-1].strip() and number not in code:
            written.append("")
        written.append(" " * 4 * len(inner) + stripped if stripped.strip() else "")
    return "\n".join(written)


def _offset(lines: list[str], items: list[tuple[int, int]]) -> int:
    """How many columns the content of the innermost of these items is set in."""
    if not items:
        return 0
    mark = MARK.match(lines[items[-1][0]])
    return mark.end() if mark else 0
