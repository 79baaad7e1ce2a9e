# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of measurements, drawn without a display."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unisono.common import extras, files, units
from unisono.common.errors import UnisonoError
from unisono.common.extras import numpy as np
from unisono.machine.model_fit import Fit
from unisono.measuring.bench import Cell

extras.require("plots")
matplotlib = extras.load("matplotlib")
matplotlib.use("Agg")
matplotlib.rcParams["svg.hashsalt"] = "unisono"  # the same picture twice is the same file

from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402
from matplotlib.colors import TwoSlopeNorm  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from matplotlib.image import AxesImage  # noqa: E402

MOST_TIMES = 8.0  # speed-ups beyond this have one colour


def speedup_maps(panels: Mapping[str, Sequence[Cell]], path: Path, title: str) -> None:
    """Maps of operations by sizes, one for each entry of `panels`. They show how many times faster than
    native Unisono's own choice is. Below it, where algorithms were tried, they show the fastest of them. The
    suffix of `path` says what is written."""
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
    save(figure, path)


def save(figure: Figure, path: Path) -> None:
    """Whole, and then by its name."""
    metadata = {"Date": None} if path.suffix == ".svg" else None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with files.replacing(path) as stream:
            figure.savefig(stream, dpi=110, metadata=metadata, format=path.suffix.lstrip(".") or "png")
    except OSError as error:
        raise UnisonoError(f"cannot write {path}: {error.strerror}") from error
    finally:
        pyplot.close(figure)


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
    axes.set_xticks(range(len(sizes)), [units.bytes_text(s) for s in sizes], rotation=60, fontsize=7)
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
    axes.set_xticks(sizes, [units.bytes_text(size) for size in sizes])
    axes.set_yscale("log")
    axes.set_ylabel("predicted time (us)")
    first = answers[0]
    axes.set_title(
        f"{first['operation']}, {first['ranks']} ranks on {first['nodes']} nodes, machine {first['machine']}",
        fontsize=10,
    )
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize="small")
    save(figure, path)


def native_and_unisono(cells: Sequence[Cell], path: Path, conditions: str) -> None:
    """Times over sizes, a panel for each operation, with bands for 95 % intervals. The suffix of
    `path` says what is written."""
    operations = list(dict.fromkeys(c.operation for c in cells))
    columns = min(3, len(operations))
    rows = -(-len(operations) // columns)
    figure, axes = pyplot.subplots(
        rows, columns, squeeze=False, figsize=(4.4 * columns, 3.4 * rows + 0.4), layout="constrained"
    )
    for panel in axes.flat[len(operations) :]:
        panel.set_visible(False)
    for panel, operation in zip(axes.flat, operations, strict=False):
        some = sorted((c for c in cells if c.operation == operation), key=lambda c: c.bytes)
        sizes = [c.bytes for c in some]
        for name, label in (("native", "native"), ("unisono", "Unisono")):
            middle, low, high = (
                np.array([getattr(c, f"{name}{part}_s") for c in some]) * 1e6
                for part in ("", "_low", "_high")
            )
            errors = np.maximum(0, [middle - low, high - middle])
            panel.errorbar(sizes, middle, yerr=errors, fmt="o-", markersize=3, capsize=2, label=label)
        panel.set_xscale("symlog", base=2)
        panel.set_xticks(sizes, [units.bytes_text(size) for size in sizes], fontsize="small")
        panel.set_yscale("log")
        panel.set_ylabel("time (us)")
        panel.set_title(operation, fontsize=10)
        panel.grid(True, alpha=0.3)
        panel.legend(fontsize="small")
    figure.suptitle(f"{cells[0].ranks} ranks; {conditions}", fontsize=10)
    save(figure, path)


def prediction_errors(fits: Sequence[Fit], path: Path, title: str) -> None:
    """Predicted over measured times, and how the sizes of errors are distributed, by operation. The suffix of `path` says what is
    written."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    for operation in dict.fromkeys(fit.operation for fit in fits):
        some = [fit for fit in fits if fit.operation == operation]
        measured = [fit.measured_s * 1e6 for fit in some]
        left.plot(
            measured, [fit.predicted_s * 1e6 for fit in some], "o", markersize=3, alpha=0.6, label=operation
        )
        sizes = np.sort(np.abs([fit.error for fit in some]))
        right.plot(100 * sizes, np.linspace(0, 100, len(sizes)), label=operation)
    times = [fit.measured_s * 1e6 for fit in fits]
    ends = np.array([min(times), max(times)])
    left.plot(ends, ends, "k-", linewidth=1)
    for factor in (0.8, 1.2):
        left.plot(ends, factor * ends, "k:", linewidth=1)
    left.set_xscale("log")
    left.set_yscale("log")
    left.set_xlabel("measured (us)")
    left.set_ylabel("predicted (us)")
    right.axvline(20, color="k", linestyle=":", linewidth=1)
    right.set_xlim(0, 150)
    right.set_xlabel("size of the error (%)")
    right.set_ylabel("of the times (%)")
    for axes in (left, right):
        axes.grid(True, alpha=0.3)
    figure.suptitle(title, fontsize=10)
    left.legend(fontsize="small")
    save(figure, path)


_MESSAGE_CURVES = {
    "whole_us": "half a round trip",
    "g_us": "gap g(m)",
    "os_us": "sending os(m)",
    "or_us": "receiving or(m)",
}
_MEMORY_CURVES = {
    "put_us": "put",
    "get_us": "get",
    "copy_us": "copy",
    "combine_us": "combine",
    "single_copy_us": "single copy",
}


def machine_curves(machine: Mapping[str, Any], path: Path) -> None:
    """What a measured machine's file holds: messages inside and between nodes with Hockney's line, shared memory, and rates over
    the total of a pipeline's buffers. Bands are 95 % intervals. The suffix of `path` says what is written."""
    not_measured = machine["measured"]["not_measured"]
    links = [level for level in ("node", "network") if level not in not_measured]
    has_memory = "node" not in not_measured
    count = len(links) + 2 * has_memory
    figure, axes = pyplot.subplots(1, count, squeeze=False, figsize=(4.6 * count, 4.2), layout="constrained")
    panels = list(axes[0])
    titles = {"node": "messages inside a node", "network": "messages between nodes"}
    for level in links:
        _curves(panels[0], machine[level]["plogp"], _MESSAGE_CURVES, titles[level])
        _hockney_line(panels.pop(0), machine[level])
    if has_memory:
        _curves(panels[0], machine["shared_memory"], _MEMORY_CURVES, "operations on shared memory")
        _buffer_rates(panels[1], machine["findings"]["buffers"])
    figure.suptitle(f"{machine['name']}: {machine['note']}", fontsize=10)
    save(figure, path)


def _curves(axes: Axes, of: Mapping[str, Any], names: Mapping[str, str], title: str) -> None:
    for key, name in names.items():
        points = of.get(key, {"bytes": []})
        if not points["bytes"]:
            continue
        line = axes.plot(points["bytes"], points["us"], "o-", markersize=3, label=name)[0]
        if "low" in points:
            axes.fill_between(
                points["bytes"], points["low"], points["high"], alpha=0.25, color=line.get_color()
            )
    _logarithmic(axes, title, "bytes", "time (us)")


def _hockney_line(axes: Axes, link: Mapping[str, Any]) -> None:
    sizes = np.array(link["plogp"]["g_us"]["bytes"], dtype=float)
    alpha, beta = (link["hockney"][key]["value"] for key in ("alpha_us", "beta_us_per_byte"))
    axes.plot(sizes, alpha + beta * sizes, "k--", linewidth=1, label="Hockney")
    axes.legend(fontsize="small")


def _buffer_rates(axes: Axes, buffers: Sequence[Mapping[str, Any]]) -> None:
    for count in sorted({one["buffers"] for one in buffers}):
        some = sorted((one for one in buffers if one["buffers"] == count), key=lambda one: one["piece_bytes"])
        totals = [one["piece_bytes"] * count for one in some]
        axes.plot(
            totals,
            [one["piece_bytes"] / one["us"]["value"] / 1e3 for one in some],
            "o-",
            markersize=3,
            label=f"{count} buffers",
        )
    _logarithmic(axes, "pipeline through shared memory", "bytes of all buffers", "GB/s")
    axes.set_yscale("linear")
    axes.set_ylim(bottom=0)


def _logarithmic(axes: Axes, title: str, x: str, y: str) -> None:
    axes.set_xscale("symlog", base=2, linthresh=64)
    axes.set_yscale("log")
    ticks = [0, 1 << 10, 1 << 14, 1 << 18, 1 << 22]
    axes.set_xticks(ticks, [units.bytes_text(size) for size in ticks], fontsize="small")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.set_title(title, fontsize=10)
    axes.grid(True, alpha=0.3)
    axes.legend(fontsize="small")
