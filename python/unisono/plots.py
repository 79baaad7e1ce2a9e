# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of measurements, drawn without a display."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

from unisono import tables
from unisono.bench import Cell

matplotlib.use("Agg")
matplotlib.rcParams["svg.hashsalt"] = "unisono"  # the same picture twice is the same file

from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.colors import TwoSlopeNorm  # noqa: E402
from matplotlib.image import AxesImage  # noqa: E402

MOST_TIMES = 8.0  # speed-ups beyond this have one colour


def speedup_maps(panels: Mapping[str, Sequence[Cell]], path: Path, title: str) -> None:
    """Maps of operations by sizes, one for each entry of `panels`: how many times faster than native Unisono's own choice
    is, and below it, where algorithms were tried, the fastest of them. The suffix of `path` says what is written."""
    has_best = any(c.best for cells in panels.values() for c in cells)
    rows = ("Unisono's own choice", "fastest of all algorithms") if has_best else ("Unisono's own choice",)
    operations = list(dict.fromkeys(c.operation for cells in panels.values() for c in cells))
    sizes = sorted({c.bytes for cells in panels.values() for c in cells if c.operation != "barrier"}) or [0]
    figure, axes = pyplot.subplots(
        len(rows),
        len(panels),
        squeeze=False,
        figsize=(2.2 + len(panels) * (1.2 + 0.62 * len(sizes)), len(rows) * (1.4 + 0.32 * len(operations))),
        layout="constrained",
    )
    image = None
    for row, kind in enumerate(rows):
        for column, (name, cells) in enumerate(panels.items()):
            image = _map(axes[row][column], cells, operations, sizes, is_best=row == 1)
            axes[row][column].set_title(f"{name}\n{kind}", fontsize=9)
    if image is not None:
        bar = figure.colorbar(
            image, ax=axes, label="times as fast as native", ticks=_ticks(), shrink=0.7, aspect=40
        )
        bar.ax.set_yticklabels([f"{2.0**t:g}" for t in _ticks()])
    figure.suptitle(title, fontsize=11)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp{path.suffix}")
    figure.savefig(temporary, dpi=110, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)
    temporary.replace(path)


def _ticks() -> list[float]:
    most = np.log2(MOST_TIMES)
    return [-most, -2, -1, 0, 1, 2, most]


def _map(
    axes: Axes, cells: Sequence[Cell], operations: Sequence[str], sizes: Sequence[int], is_best: bool
) -> AxesImage:
    grid = np.full((len(operations), len(sizes)), np.nan)
    for c in cells:
        speedup = c.speedup
        if is_best:
            speedup = max(c.speedup, (c.best.speedup or 0) if c.best else 0)
        # A barrier has no size: it stands in the first column.
        column = 0 if c.operation == "barrier" else sizes.index(c.bytes)
        grid[operations.index(c.operation), column] = speedup
    most = float(np.log2(MOST_TIMES))
    image = axes.imshow(
        np.log2(grid), cmap="RdYlGn", norm=TwoSlopeNorm(0, -most, most), aspect="auto", interpolation="none"
    )
    for (row, column), value in np.ndenumerate(grid):
        if not np.isnan(value):
            text = f"{value:.2f}" if value < 10 else f"{value:.0f}"
            axes.text(column, row, text, ha="center", va="center", fontsize=7)
    axes.set_xticks(range(len(sizes)), [tables.bytes_text(s) for s in sizes], rotation=60, fontsize=7)
    axes.set_yticks(range(len(operations)), operations, fontsize=7)
    return image


def predicted_times(answers: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Predicted times over sizes, a curve for each algorithm in its fastest setting: first those that come out ahead
    somewhere. The suffix of `path` says what is written."""
    most_curves = 10
    times: dict[str, dict[int, float]] = {}
    best_place: dict[str, int] = {}
    for answer in answers:
        names: list[str] = []
        for prediction in answer["predictions"]:
            name = prediction["algorithm"]
            if prediction["us"] is not None and name not in names:
                names.append(name)
                times.setdefault(name, {})[answer["bytes"]] = prediction["us"]
                best_place[name] = min(best_place.get(name, len(names)), len(names))
    figure, axes = pyplot.subplots(figsize=(8, 5), layout="constrained")
    for name in sorted(times, key=lambda name: best_place[name])[:most_curves]:
        points = sorted(times[name].items())
        axes.plot([size for size, _ in points], [us for _, us in points], "o-", markersize=3, label=name)
    sizes = sorted(answer["bytes"] for answer in answers)
    axes.set_xscale("symlog", base=2)
    axes.set_xticks(sizes, [tables.bytes_text(size) for size in sizes])
    axes.set_yscale("log")
    axes.set_ylabel("predicted time (us)")
    first = answers[0]
    axes.set_title(
        f"{first['operation']}, {first['ranks']} ranks on {first['nodes']} nodes, machine {first['machine']}",
        fontsize=10,
    )
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize="small")
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.tmp{path.suffix}")
    figure.savefig(temporary, dpi=110, metadata={"Date": None} if path.suffix == ".svg" else None)
    pyplot.close(figure)
    temporary.replace(path)
