# SPDX-License-Identifier: BSD-3-Clause
"""Where everything is printed, and the tables on it: in one style, with nothing on the terminal that is not text."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import IO, Any

import click
from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.measure import Measurement
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.segment import Segment
from rich.table import Table

from unisono.common.shown import shown, shown_json

LEAST_WIDTH = 80  # columns; on narrower terminals lines wrap, which is better than to lose numbers
_WIDTH_OF_A_FILE = 140  # where the output is no terminal
_UNLIMITED = 10_000
_LEAST_TEXT = 20  # columns of words that are broken
_GAP = 3  # between columns


class _ShownConsole(Console):
    """No text reaches the terminal as anything else than text, whoever wrote it; colours are the console's own."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=shown(segment.text))


def echo(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """A line without colours."""
    click.echo(shown(text), err=err, nl=nl)


def console(file: IO[str] | None = None) -> Console:
    """A console on the given file (standard output). Where that is no terminal, lines may be long."""
    target = file or sys.stdout
    is_given = target.isatty() or "COLUMNS" in os.environ
    width = max(LEAST_WIDTH, Console(file=target).width) if is_given else _WIDTH_OF_A_FILE
    return _ShownConsole(file=target, width=width, highlight=False)


def table(
    title: str | None, *columns: str, right: tuple[str, ...] = (), whole: tuple[str, ...] = ()
) -> Table:
    """A table in the house's style; the columns in `right` hold numbers, those in `whole` words that are not broken."""
    made = Table(
        title=title,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
    )
    for column in columns:
        made.add_column(
            column,
            justify="right" if column in right else "left",
            no_wrap=column in right or column in whole,
            overflow="fold",
        )
    return made


def print_rows(
    target: Console,
    title: str | None,
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    right: tuple[str, ...] = (),
    whole: tuple[str, ...] = (),
    give_way: Sequence[str] = (),
) -> None:
    """Prints a table as `table` makes it. Words are broken to _LEAST_TEXT columns and no further: where there are too few for that
    the columns in `give_way` are left out, the first one first, and said to be."""
    shown = list(columns)
    hidden: list[str] = []
    kept = (*right, *whole)
    while _least_width(shown, columns, rows, kept) > target.width and len(hidden) < len(give_way):
        hidden.append(give_way[len(hidden)])
        shown.remove(hidden[-1])
    made = table(title, *shown, right=right, whole=whole)
    for row in rows:
        made.add_row(*(escape(cell) for name, cell in zip(columns, row, strict=True) if name in shown))
    target.print(made)
    if hidden:
        target.print(f"Left out, as they need more than {target.width} columns: {', '.join(hidden)}")


def _least_width(
    shown: Sequence[str], columns: Sequence[str], rows: Sequence[Sequence[str]], kept: Collection[str]
) -> int:
    """What the columns `shown` need: those in `kept` all of their words, others what can be read."""
    widths = []
    for name, cells in zip(columns, zip(columns, *rows, strict=True), strict=True):
        width = max(map(cell_len, cells))
        widths += [width if name in kept else min(width, _LEAST_TEXT)] if name in shown else []
    return sum(widths) + _GAP * (len(widths) - 1)


def progress() -> Progress:
    """A bar over what is to be done, on a terminal's standard error."""
    target = console(sys.stderr)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    return Progress(*columns, console=target, transient=True, disable=not target.is_terminal)


def fits(made: Table, console: Console) -> bool:
    """Whether the table needs no more columns than there are."""
    return Measurement.get(console, console.options.update(width=_UNLIMITED), made).maximum <= console.width


def print_json(value: Any) -> None:
    click.echo(shown_json(json.dumps(value, indent=2, ensure_ascii=False)))
