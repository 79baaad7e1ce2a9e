# SPDX-License-Identifier: BSD-3-Clause
"""Maps of operations by sizes, as the rows of an HTML table: which columns there are, and how many of them a cell takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from unisono.common import units
from unisono.common.operations import WITHOUT_SIZE
from unisono.page.marks import Mark

_NO_LIMIT = 1 << 62
SIZELESS = ("barrier", *WITHOUT_SIZE)


@dataclass(frozen=True)
class Entry:
    """What a map says of an operation for messages of `low` to `high` bytes; None: without limit. Operations whose calls have
    no size say it for all columns."""

    operation: str
    label: str  # of its row
    low: int
    high: int | None
    text: str
    tip: str
    style: str  # names of CSS classes
    mark: Mark = field(default_factory=Mark)

    @property
    def end(self) -> int:
        """Of the sizes, the first that is too large."""
        return _NO_LIMIT if self.high is None else self.high + 1


@dataclass(frozen=True)
class Row:
    label: str
    mark: Mark
    spans: Sequence[tuple[int, Entry | None]]  # how many columns, and what stands in them


@dataclass(frozen=True)
class Grid:
    columns: Sequence[str]
    rows: Sequence[Row]


def grid(entries: Iterable[Entry]) -> Grid:
    """The map of the entries. Sizes that no entry speaks of have no column; where entries of one row overlap there are several
    rows of that label."""
    listed = list(entries)
    sized = [entry for entry in listed if entry.operation not in SIZELESS]
    ends = sorted({bound for entry in sized for bound in (entry.low, entry.end)})
    columns = [
        (low, end) for low, end in pairwise(ends) if any(e.low <= low and end <= e.end for e in sized)
    ] or [(0, _NO_LIMIT)]
    rows = []
    for label in dict.fromkeys(entry.label for entry in listed):
        of = [entry for entry in listed if entry.label == label]
        if of[0].operation in SIZELESS:
            rows += [Row(label, entry.mark, [(len(columns), entry)]) for entry in of]
        else:
            rows += [Row(label, of[0].mark, list(_spans(lane, columns))) for lane in _lanes(of)]
    return Grid([_column_text(low, end) for low, end in columns], rows)


def _lanes(entries: Iterable[Entry]) -> list[list[Entry]]:
    lanes: list[list[Entry]] = []
    for entry in sorted(entries, key=lambda e: (e.low, e.end)):
        lane = next((lane for lane in lanes if lane[-1].end <= entry.low), None)
        if lane is None:
            lanes.append([entry])
        else:
            lane.append(entry)
    return lanes


def _spans(lane: Sequence[Entry], columns: Sequence[tuple[int, int]]) -> Iterable[tuple[int, Entry | None]]:
    column = 0
    for entry in lane:
        inside = [i for i, (low, end) in enumerate(columns) if entry.low <= low and end <= entry.end]
        if inside[0] > column:
            yield inside[0] - column, None
        yield len(inside), entry
        column = inside[-1] + 1
    if column < len(columns):
        yield len(columns) - column, None


def _column_text(low: int, end: int) -> str:
    if end == _NO_LIMIT:
        return f"> {units.bytes_text(low - 1)}" if low > 1 else "any size"
    return units.bytes_text(end - 1)
