# SPDX-License-Identifier: BSD-3-Clause
"""Where everything is printed, and the tables on it: in one style, with nothing on the terminal that is not text."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any

import click
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.segment import Segment
from rich.text import Text
from rich.theme import Theme

from unisono.common.fitted_table import FittedTable, prose
from unisono.common.shown import shown, shown_json

_UNLIMITED = (
    10_000  # columns, where the output is no terminal: whoever reads it has room, or wraps lines as he likes
)
LINE_S = 10.0  # seconds between two lines that say how far a long command is
# Colours that can be read on a dark and on a light ground: neither yellow nor cyan, and no shade of grey.
THEME = Theme({"good": "green", "bad": "red", "warning": "bold magenta", "hint": "bold"})


class _ShownConsole(Console):
    """No text reaches the terminal as anything else than text, whoever wrote it; colours are the console's own."""

    def print(self, *objects: Any, crop: bool = False, **how: Any) -> None:
        """A word that is longer than the line reaches the terminal whole."""
        super().print(*objects, crop=crop, **how)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=shown(segment.text))


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """A line without colours."""
    click.echo(shown(text), err=err, nl=nl)


def console(file: IO[str] | None = None) -> Console:
    """A console on the given file (standard output). Where that is no terminal, lines are as long as they are."""
    target = file or sys.stdout
    is_given = target.isatty() or "COLUMNS" in os.environ
    width = Console(file=target).width if is_given else _UNLIMITED
    return _ShownConsole(file=target, width=width, highlight=False, theme=THEME)


def table(
    title: str | None,
    *columns: str,
    right: tuple[str, ...] = (),
    whole: tuple[str, ...] = (),
    give_way: tuple[str, ...] = (),
    prose: tuple[str, ...] = (),
    elsewhere: str = "--json",
    legend: Mapping[str, str] | None = None,
) -> FittedTable:
    """A table in the house's style, which a console prints. Title and cells may have markup."""
    return FittedTable(
        title,
        columns,
        right=right,
        whole=whole,
        give_way=give_way,
        prose=prose,
        elsewhere=elsewhere,
        legend=legend,
    )


def print_rows(
    target: Console,
    title: str | None,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: tuple[str, ...] = (),
    whole: tuple[str, ...] = (),
    give_way: Sequence[str] = (),
    elsewhere: str = "--json",
) -> None:
    """Prints a table of cells without markup."""
    made = FittedTable(title, columns, right=right, whole=whole, give_way=give_way, elsewhere=elsewhere)
    for row in rows:
        made.add_row(*map(escape, row))
    target.print(made)


def indented(text: str, columns: int) -> Padding:
    """A paragraph that begins so many columns further right. It may have markup."""
    return Padding(text, (0, 0, 0, columns), expand=False)


def print_prose(target: Console, text: str, style: str = "") -> None:
    """A paragraph without markup, in lines that are easy to read."""
    for line in prose(target, Text(text, style=style), target.width):
        target.print(line)


class _LineProgress(Progress):
    """A bar on a terminal; elsewhere a line every LINE_S seconds."""

    def start(self) -> None:
        super().start()
        self._is_over = threading.Event()
        if self.disable:
            self._lines = threading.Thread(target=self._say, daemon=True)
            self._lines.start()

    def stop(self) -> None:
        super().stop()
        if self.disable:
            self._is_over.set()
            self._lines.join()

    def _say(self) -> None:
        begin = time.monotonic()
        while not self._is_over.wait(LINE_S):
            for task in self.tasks:
                part = f"{task.completed:.0f} of {task.total:.0f}" if (task.total or 0) > 1 else ""
                now = task.fields.get("now", "")
                said = ", ".join(filter(None, (task.description, now, part)))
                echo(f"unisono: {said} ({time.monotonic() - begin:.0f} s)", err=True)


def progress(*more: ProgressColumn) -> Progress:
    """What is done of what is to be done, on standard error: a bar on a terminal, with the columns `more` behind it; elsewhere a
    line now and then."""
    target = console(sys.stderr)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return _LineProgress(*columns, *more, console=target, transient=True, disable=not target.is_terminal)


def fits(made: FittedTable, console: Console) -> bool:
    """Whether the table needs no more columns than there are."""
    return made.width() <= console.width


def print_json(value: Any) -> None:
    click.echo(shown_json(json.dumps(value, indent=2, ensure_ascii=False)))
