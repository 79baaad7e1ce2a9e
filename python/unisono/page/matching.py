# SPDX-License-Identifier: BSD-3-Clause
"""A page of one trace of messages: the verdict, how long queues were, and for which pairs of ranks they were searched."""

from __future__ import annotations

import importlib.resources
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from unisono import __version__
from unisono.common import units
from unisono.page import colours, templates
from unisono.page.graph import Rectangle
from unisono.reporting import matching, matching_text

_WIDTH, _HEIGHT = 560.0, 200.0  # of a chart of bars
_EDGE = 480.0  # of a heat map
_CELLS = 128
_RANKS = 50  # that are listed
_QUEUES = (("posted", "Receives that wait"), ("unexpected", "Messages that wait"))


@dataclass(frozen=True)
class Chart:
    title: str
    note: str
    bars: Sequence[Rectangle]
    labels: Sequence[tuple[float, str]]


def page(answer: dict[str, Any]) -> str:
    """All in one file that loads nothing and runs no script."""
    environment = templates.environment()
    environment.filters |= {"count": units.count_text, "percent": matching.percent_text}
    style = (importlib.resources.files("unisono") / "page/assets/page.css").read_text() + colours.css()
    each, rows = matching_text.heat_map(answer, _CELLS)
    most = max((max(row) for row in rows), default=0.0)
    return environment.get_template("matching.html").render(
        answer=answer,
        version=__version__,
        style=style,
        verdict=matching.verdict(answer),
        option=matching.option(answer),
        notes=matching_text.notes(answer),
        shares=[
            (share.rank, matching.range_text(share.low, share.high, matching.percent_text), share.own)
            for share in matching.shares(answer)[:_RANKS]
        ],
        charts=[
            _chart(text, answer["low"][queue]["lengths"], answer["high"][queue]["lengths"])
            for queue, text in _QUEUES
        ],
        width=_WIDTH,
        height=_HEIGHT,
        edge=_EDGE,
        each=each,
        most=max(most, 0.0),
        element=matching.element_text(answer["ns_per_element"]),
        cells=_cells(rows, most, each),
    )


def _chart(text: str, low: dict[str, Any], high: dict[str, Any]) -> Chart:
    places = max(len(low["counts"]), len(high["counts"]), 1)
    bars, labels = [], []
    highest = max([*low["counts"], *high["counts"], 1])
    step = _WIDTH / places
    for place in range(places):
        labels.append((step * (place + 0.5), matching_text.class_text(place)))
        for index, (name, one) in enumerate((("low", low), ("high", high))):
            count = one["counts"][place] if place < len(one["counts"]) else 0
            height = _HEIGHT * count / highest
            tip = f"{matching_text.class_text(place)} long: {units.count_text(count)} searches ({name})"
            left = step * place + index * step / 2
            bars.append(
                Rectangle(left, _HEIGHT - height, max(1.0, step / 2 - 1), height, 1.0 - 0.45 * index, tip)
            )
    mean = matching.range_text(low["mean"], high["mean"], lambda value: f"{value:.1f}")
    longest = matching.range_text(low["max"], high["max"], units.count_text)
    return Chart(text, f"{mean} in the mean when searched, at most {longest}", bars, labels)


def _cells(rows: Sequence[Sequence[float]], most: float, each: int) -> list[Rectangle]:
    cell = _EDGE / max(1, len(rows))
    return [
        Rectangle(
            column * cell,
            row * cell,
            cell,
            cell,
            0.12 + 0.88 * value / (most or 1),
            f"to {row * each} from {column * each}: {value:.1f} elements a message",
        )
        for row, values in enumerate(rows)
        for column, value in enumerate(values)
        if value >= 0
    ]
