# SPDX-License-Identifier: BSD-3-Clause
"""One manual page in the language of man(7)."""

from __future__ import annotations

import os
import re
import textwrap
import time
from collections.abc import Iterable

_SPECIAL = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}


def escaped(text: str) -> str:
    """Text as it is, also where it holds what has a meaning in roff."""
    safe = "".join(_SPECIAL.get(one, one if one.isascii() else f"\\[u{ord(one):04X}]") for one in text)
    return safe.replace('"', "\\(dq")


def bold(text: str) -> str:
    return f"\\fB{escaped(text)}\\fR"


def italic(text: str) -> str:
    return f"\\fI{escaped(text)}\\fR"


def prose(text: str) -> str:
    """Running text, in which `...` is typed as it stands."""
    flat = " ".join(text.split())
    parts = re.split(r"`([^`]+)`", flat)
    # Hyphens of words stay hyphens; the minus of options and commands can be copied.
    made = [bold(part) if index % 2 else _words(part) for index, part in enumerate(parts)]
    return "".join(made)


def _words(text: str) -> str:
    return " ".join(
        escaped(word) if re.match(r"\W*-|\S*/", word) else escaped(word).replace("\\-", "-")
        for word in text.split(" ")
    )


def signature(text: str) -> str:
    """`-o, --output PATH`: names of options bold, what they take italic."""
    parts = re.split(r"(--?[A-Za-z][\w-]*)", text)
    made = []
    for index, part in enumerate(parts):
        if index % 2:
            made.append(bold(part))
        else:
            made += [
                italic(piece) if re.search(r"\w", piece) else escaped(piece)
                for piece in re.split(r"(\s+|,\s)", part)
                if piece
            ]
    return "".join(made)


class Page:
    """A page that grows from its head to its end."""

    def __init__(self, name: str, section: int, about: str, version: str) -> None:
        self.name = name
        self.section = section
        head = f'.TH "{escaped(name.upper())}" "{section}" "{_date()}" "unisono {version}" "Unisono"'
        self._lines = ['.\\" SPDX-License-Identifier: BSD-3-Clause', head, ".nh", ".ad l"]
        self.title("NAME")
        # One line, as `apropos` reads it.
        self._lines.append(f"{escaped(name)} \\- {prose(about[0].lower() + about[1:].rstrip('.'))}")

    @property
    def file(self) -> str:
        """Below `man/`."""
        return f"man{self.section}/{self.name}.{self.section}"

    def title(self, text: str) -> None:
        self._lines.append(f".SH {text}")

    def subtitle(self, text: str) -> None:
        self._lines.append(f".SS {escaped(text)}")

    def line(self, made: str) -> None:
        """Text that is roff already."""
        for part in made.split("\n"):
            lines = textwrap.wrap(part, 78, break_long_words=False, break_on_hyphens=False)
            self._lines += [_protected(line) for line in lines]

    def paragraph(self, text: str) -> None:
        # The first one after a title needs no distance to it.
        if not self._lines[-1].startswith((".SH", ".SS")):
            self._lines.append(".PP")
        self.line(prose(text))

    def tagged(self, tag: str, *texts: str) -> None:
        """`tag`, which is roff already, and what it means beside it."""
        self._lines += [".TP", _protected(tag)]
        for index, text in enumerate(texts):
            if index:
                self._lines.append(".br")
            self.line(prose(text))

    def code(self, lines: Iterable[str]) -> None:
        """As it stands, indented."""
        if not self._lines[-1].startswith((".SH", ".SS")):
            self._lines.append(".PP")
        self._lines += [".RS 4", ".nf", *(_protected(escaped(one)) for one in lines), ".fi", ".RE"]

    def help_text(self, text: str) -> None:
        """What stands as help in a command: paragraphs, with those behind \\b as they are."""
        for paragraph in text.split("\n\n"):
            if paragraph.startswith("\b\n"):
                lines = paragraph.removeprefix("\b\n").rstrip().splitlines()
                self.code(line.removeprefix("  ") for line in lines)
            elif paragraph.strip():
                self.paragraph(paragraph)

    def see_also(self, pages: Iterable[tuple[str, int]]) -> None:
        self.title("SEE ALSO")
        self.line(",\n".join(f"{bold(name)}({section})" for name, section in pages))

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"


def alias(page: Page, name: str) -> tuple[str, str]:
    """The file by which `man NAME` finds a page of another name, and what stands in it."""
    return f"man{page.section}/{name}.{page.section}", f".so {page.file}\n"


def _protected(line: str) -> str:
    """A line that is no request, whatever it begins with."""
    return f"\\&{line}" if line.startswith((".", "'")) else line


def _date() -> str:
    """Of the build; SOURCE_DATE_EPOCH makes it repeatable."""
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH", time.time()))
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))
