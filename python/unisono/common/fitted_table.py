# SPDX-License-Identifier: BSD-3-Clause
"""A table that fits the terminal. Numbers are never cut and words never broken: sentences take more lines,
and columns that find no room are named below the table. Where nothing more may be left out, each row becomes
a list of its values."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

_GAP, _NARROW_GAP = 3, 2  # columns of the terminal between those of the table
_LEAST_TEXT = 20  # a column of sentences is at least so wide, or as wide as its longest word
_LEAST_VALUE = 20  # the same of a value in a list
PROSE = 100  # columns of a paragraph, however wide the terminal is


class FittedTable:
    """Columns in `right` hold numbers; those in `whole` hold text that takes one line; those in `prose` hold sentences, which take
    more than one however wide the output is. Where there is no room those in `give_way`
    are left out, the first one first; `elsewhere` says what shows them besides a wider terminal. `legend` explains columns, below
    the table. Names of columns that a table does not have this time are passed over. Cells may have markup."""

    def __init__(
        self,
        title: str | None,
        columns: Sequence[str],
        *,
        right: Sequence[str] = (),
        whole: Sequence[str] = (),
        give_way: Sequence[str] = (),
        prose: Sequence[str] = (),
        elsewhere: str = "--json",
        legend: Mapping[str, str] | None = None,
    ) -> None:
        self.title = title
        self.columns = list(columns)
        self.rows: list[list[Text]] = []
        self.right = {*right}
        self._whole = {*whole}
        self._give_way = [name for name in give_way if name in self.columns]
        self._prose = {*prose}
        self._elsewhere = elsewhere
        self._legend = legend or {}

    def add_row(self, *cells: str, style: str = "") -> None:
        row = [Text.from_markup(cell, style=style) for cell in cells]
        self.rows.append([cell for cell, _ in zip(row, self.columns, strict=True)])

    def left_out(self, width: int) -> list[str]:
        """The columns that so many columns of a terminal have no room for."""
        return [self.columns[i] for i in self._left_out(width)]

    def width(self) -> int:
        """What it takes to show everything without a sentence that is wrapped."""
        return _total([self._natural(i) for i in self._filled()], _GAP)

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = options.max_width
        hidden = self._left_out(width)
        shown = [i for i in self._filled() if i not in hidden]
        if self.title:
            yield from prose(console, Text.from_markup(self.title, style="bold"), width, width)
        if self._needs(shown) > width:
            yield from self._lists(width, shown)
        else:
            yield from self._lines(console, width, shown)
        if hidden:
            names = ", ".join(f"'{self.columns[i].strip()}'" for i in hidden)
            also = f", and so does {self._elsewhere}" if self._elsewhere else ""
            need = f"A terminal of {self._needs(self._filled())} columns shows them{also}."
            yield from prose(console, Text(f"Left out for lack of room: {names}. {need}"), width)
        explained = [self.columns[i] for i in shown if self.columns[i] in self._legend]
        if explained:
            said = "; ".join(f"{name.strip()}: {self._legend[name]}" for name in explained)
            yield from prose(console, Text(f"{said}."), width)

    def _needs(self, columns: Sequence[int]) -> int:
        return _total([self._least(i) for i in columns], _NARROW_GAP)

    def _filled(self) -> list[int]:
        """The columns that say anything: where all cells are empty there is nothing to miss."""
        every = range(len(self.columns))
        return [i for i in every if not self.rows or any(row[i].plain.strip() for row in self.rows)]

    def _left_out(self, width: int) -> list[int]:
        shown, hidden = self._filled(), []
        for name in self._give_way:
            if self._needs(shown) <= width:
                break
            i = self.columns.index(name)
            if i in shown:
                shown.remove(i)
                hidden.append(i)
        return hidden if self._needs(shown) <= width else []  # lists have room for all

    def _natural(self, i: int) -> int:
        """The column's width where nothing is wrapped."""
        lines = [line for row in self.rows for line in row[i].plain.splitlines()]
        if self.columns[i] in self._prose:
            longest = max((_cells(word) for line in lines for word in line.split()), default=0)
            lines = [line[: max(longest, PROSE)] for line in lines]
        return max(map(_cells, [self.columns[i], *lines]))

    def _least(self, i: int) -> int:
        """What the column needs."""
        if self.columns[i] in self._whole:
            return self._natural(i)
        words = [word for row in self.rows for word in row[i].plain.split()]
        if self.columns[i] in self.right:  # only its head is wrapped
            words = [line for row in self.rows for line in row[i].plain.splitlines()]
            return max(map(_cells, [*self.columns[i].split(), *words]), default=0)
        longest = max(map(_cells, [*self.columns[i].split(), *words]), default=0)
        return max(longest, min(self._natural(i), _LEAST_TEXT))

    def _widths(self, width: int, shown: Sequence[int]) -> list[int]:
        """Those of the columns `shown` in so many columns of the terminal: the widest give way first, down to what they need."""
        widths, least = [self._natural(i) for i in shown], [self._least(i) for i in shown]
        while sum(widths) > width:
            widest = max((k for k in range(len(shown)) if widths[k] > least[k]), key=lambda k: widths[k])
            widths[widest] -= 1
        return widths

    def _lines(self, console: Console, width: int, shown: Sequence[int]) -> Iterator[Text]:
        gap = _GAP if _total([self._least(i) for i in shown], _GAP) <= width else _NARROW_GAP
        widths = self._widths(width - _total([0] * len(shown), gap), shown)
        is_right = [self.columns[i] in self.right for i in shown]
        heads = [
            list(Text(self.columns[i], style="bold").wrap(console, w))
            for i, w in zip(shown, widths, strict=True)
        ]
        most = max(map(len, heads))
        for number in range(most):  # heads end together, above their columns
            lines = [
                head[number - most + len(head)] if number >= most - len(head) else Text() for head in heads
            ]
            yield _line(lines, widths, is_right, gap)
        yield Text("─" * _total(widths, gap))
        for row in self.rows:
            wrapped = [list(row[i].wrap(console, w)) for i, w in zip(shown, widths, strict=True)]
            for parts in zip_longest(*wrapped, fillvalue=Text()):
                yield _line(parts, widths, is_right, gap)

    def _lists(self, width: int, shown: Sequence[int]) -> Iterator[Text]:
        """A row is a list of its values, each beside the name of its column."""
        indent = max((_cells(self.columns[i].strip()) for i in shown), default=0) + 2
        for row in self.rows:
            for i in shown:
                head = f"{self.columns[i].strip():{indent}}"
                value = row[i].plain
                # A number keeps its unit, whatever the terminal makes of the line.
                is_whole = self.columns[i] in self.right
                lines = [value] if is_whole else _wrapped(value, max(width - indent, _LEAST_VALUE))
                for number, line in enumerate(lines):
                    text = (head if number == 0 else " " * indent) + line
                    yield Text(text.rstrip(), no_wrap=True, overflow="ignore")
            yield Text()


def prose(console: Console, text: Text, width: int, most: int = PROSE) -> Iterator[Text]:
    """The lines of a paragraph, without blanks at their ends."""
    for line in text.wrap(console, min(width, most)):
        line.rstrip()
        yield line


def _line(parts: Sequence[Text], widths: Sequence[int], is_right: Sequence[bool], gap: int) -> Text:
    line = Text(no_wrap=True, overflow="ignore")
    for part, width, right in zip(parts, widths, is_right, strict=True):
        part.rstrip()
        before = width - part.cell_len if right else 0
        line.append(" " * before).append_text(part).append(" " * (width - before - part.cell_len + gap))
    line.rstrip()
    return line


def _total(widths: Sequence[int], gap: int) -> int:
    return sum(widths) + gap * (len(widths) - 1)


def _cells(text: str) -> int:
    return Text(text).cell_len


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]
