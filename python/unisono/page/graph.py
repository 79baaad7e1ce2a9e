# SPDX-License-Identifier: BSD-3-Clause
"""A page of one graph of neighbours: degrees, methods, times, and who sends to which node before and after."""

from __future__ import annotations

import importlib.resources
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unisono import __version__
from unisono.common import units
from unisono.page import colours, templates, text
from unisono.reporting import graphs

_WIDTH, _HEIGHT = 560.0, 220.0  # of a chart of bars
_CELL = 10.0
_EDGE = 420.0  # of a picture of messages between nodes, at most


@dataclass(frozen=True)
class Rectangle:
    x: float
    y: float
    width: float
    height: float
    opacity: float
    tip: str


@dataclass(frozen=True)
class Bars:
    title: str
    note: str
    bars: Sequence[Rectangle]
    least: int
    most: int
    ranks: int  # of the highest bar


@dataclass(frozen=True)
class Matrix:
    title: str
    note: str
    edge: float
    cells: Sequence[Rectangle]


def page(answer: dict[str, Any]) -> str:
    """All in one file that loads nothing and runs no script."""
    environment = templates.environment()
    environment.filters |= {
        "us": lambda us: text.seconds(us * 1e-6),
        "times": text.times,
        "count": units.count_text,
        "bytes": units.bytes_text,
    }
    style = (importlib.resources.files("unisono") / "page/assets/page.css").read_text() + colours.css()
    linear, best = answer["methods"][0], graphs.best(answer)
    compared = [linear] + ([best] if best is not linear else [])
    return environment.get_template("graph.html").render(
        answer=answer,
        version=__version__,
        style=style,
        best=best,
        speedup=linear["us"][0] / best["us"][0] if best["us"][0] else 1.0,
        fastest=[graphs.best(answer, index)["method"] for index in range(len(answer["bytes"]))],
        degrees=[_bars(answer[name], what) for name, what in (("out", "destinations"), ("in", "sources"))],
        width=_WIDTH,
        height=_HEIGHT,
        matrices=_matrices(compared) if answer["nodes"] > 1 else [],
        nodes_in_cell=math.ceil(answer["nodes"] / len(linear["matrix"])),
    )


def _bars(degrees: dict[str, Any], what: str) -> Bars:
    lines = degrees["histogram"]
    most = max(ranks for _, _, ranks in lines)
    # Places between the least and the most degree: a gap stays a gap.
    span = degrees["most"] - degrees["least"] + 1
    bars = [
        Rectangle(
            _WIDTH * (low - degrees["least"]) / span,
            _HEIGHT * (1 - ranks / most),
            max(1.0, _WIDTH * (high - low + 1) / span - 1),
            _HEIGHT * ranks / most,
            1.0,
            f"{low if low == high else f'{low} to {high}'} {what}: {text.plural(ranks, 'rank')}",
        )
        for low, high, ranks in lines
    ]
    note = f"{degrees['least']} to {degrees['most']} {what}, {degrees['mean']:.1f} in the mean"
    return Bars(what, note, bars, degrees["least"], degrees["most"], most)


def _matrices(methods: Sequence[dict[str, Any]]) -> list[Matrix]:
    most = max(number for one in methods for row in one["matrix"] for number in row) or 1
    return [_matrix(one, most) for one in methods]


def _matrix(one: dict[str, Any], most: int) -> Matrix:
    rows = one["matrix"]
    cell = min(_CELL, _EDGE / len(rows)) if len(rows) > 16 else _EDGE / 16
    cells = [
        Rectangle(
            column * cell,
            row * cell,
            cell,
            cell,
            0.15 + 0.85 * number / most,
            f"{row} to {column}: {text.plural(number, 'message')}",
        )
        for row, numbers in enumerate(rows)
        for column, number in enumerate(numbers)
        if number
    ]
    note = f"{units.count_text(one['all_messages_between'])} messages between nodes, at most {units.count_text(most)} in a cell"
    return Matrix(one["method"], note, cell * len(rows), cells)
