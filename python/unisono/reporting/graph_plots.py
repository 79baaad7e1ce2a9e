# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of a graph of neighbours: degrees, times, and messages between nodes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from unisono.common import extras, units
from unisono.reporting import graphs
from unisono.reporting.plots import save

extras.require("plots")

from matplotlib import pyplot  # noqa: E402
from matplotlib.axes import Axes  # noqa: E402


def draw(answer: Mapping[str, Any], path: Path) -> None:
    """The suffix of `path` says what is written."""
    linear, best = answer["methods"][0], graphs.best(dict(answer))
    has_nodes = answer["nodes"] > 1
    figure, axes = pyplot.subplots(
        2 if has_nodes else 1, 2, squeeze=False, figsize=(11, 9 if has_nodes else 4.5), layout="constrained"
    )
    _degrees(axes[0][0], answer)
    _times(axes[0][1], answer)
    if has_nodes:
        most = max(number for one in (linear, best) for row in one["matrix"] for number in row) or 1
        for place, one in zip(axes[1], (linear, best), strict=True):
            image = place.imshow(one["matrix"], cmap="viridis", vmin=0, vmax=most, interpolation="none")
            place.set_title(
                f"messages between nodes, {one['method']}: {one['all_messages_between']:,}", fontsize=9
            )
            place.set_xlabel(
                "to node" if answer["nodes"] == len(one["matrix"]) else "to nodes, several in one", fontsize=8
            )
            place.set_ylabel("from", fontsize=8)
        figure.colorbar(image, ax=list(axes[1]), shrink=0.8, label="messages")
    figure.suptitle(f"{answer['title']}, {answer['layout']}", fontsize=11)
    save(figure, path)


def _degrees(axes: Axes, answer: Mapping[str, Any]) -> None:
    for name, label, shift in (("out", "destinations", 0.0), ("in", "sources", 0.4)):
        lines = answer[name]["histogram"]
        axes.bar(
            [low + shift for low, _, _ in lines],
            [ranks for *_, ranks in lines],
            width=0.4 * (lines[0][1] - lines[0][0] + 1),
            label=label,
            align="edge",
        )
    axes.set_title("neighbours of a rank", fontsize=9)
    axes.set_xlabel("neighbours", fontsize=8)
    axes.set_ylabel("ranks", fontsize=8)
    axes.legend(fontsize=7)


def _times(axes: Axes, answer: Mapping[str, Any]) -> None:
    sizes = answer["bytes"]
    for one in answer["methods"]:
        axes.plot(sizes, one["us"], "o-", markersize=3, label=one["method"])
    axes.set_xscale("symlog", base=2)
    axes.set_xticks(sizes, [units.bytes_text(size) for size in sizes], fontsize=7)
    axes.set_yscale("log")
    axes.set_title("time of a call, by the model", fontsize=9)
    axes.set_xlabel("size of a block", fontsize=8)
    axes.set_ylabel("us", fontsize=8)
    axes.legend(fontsize=6)
