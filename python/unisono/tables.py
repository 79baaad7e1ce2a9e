# SPDX-License-Identifier: BSD-3-Clause
"""What all tables share: where they are printed, and how numbers are written."""

from __future__ import annotations

import json
import os
import re
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

from unisono.shown import shown, shown_json

LEAST_WIDTH = 80  # columns; on narrower terminals lines wrap, which is better than to lose numbers
_WIDTH_OF_A_FILE = 140  # where the output is no terminal
_UNLIMITED = 10_000
_LEAST_TEXT = 20  # columns of words that are broken
_GAP = 3  # between columns
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


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
    shown, hidden = list(columns), []
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


def bytes_text(count: float) -> str:
    """1536 -> `1.5 KiB`."""
    for unit in _UNITS:
        if abs(count) < 1024 or unit == _UNITS[-1]:
            break
        count /= 1024
    return f"{count:.0f} {unit}" if count == int(count) or count >= 100 else f"{count:.3g} {unit}"


def size_text(operation: str, count: float) -> str:
    """Of a cell; a barrier has no size."""
    return bytes_text(count) if operation != "barrier" else ""


def bytes_from_text(text: str) -> int | None:
    """4096, 8K, 64KiB, 1 MiB -> bytes; None: it is no size."""
    match = re.fullmatch(r"(\d+)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    return None if match is None else int(match[1]) << 10 * " KMGT".index(match[2].upper() or " ")


def seconds_text(seconds: float) -> str:
    """0.00123 -> `1.23 ms`."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= scale:
            return f"{_three_digits(seconds / scale)} {unit}"
    return f"{_three_digits(seconds / 1e-9)} ns" if seconds > 0 else "0 s"


def count_text(count: int) -> str:
    """1234567 -> `1,234,567`."""
    return f"{count:,}"


def _three_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
