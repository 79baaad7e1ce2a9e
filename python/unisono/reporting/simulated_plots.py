# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of simulated calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unisono.common import extras
from unisono.reporting import simulated_text
from unisono.reporting.plots import save
from unisono.reporting.simulated import Row

extras.require("plots")

from matplotlib import pyplot  # noqa: E402


def draw(answer: Mapping[str, Any], path: Path) -> None:
    """The histogram; the suffix of `path` says what is written. The last bin, of all that took longer, is drawn as wide as the others."""
    bins = answer["distribution"]["histogram"]
    width = bins[0][1] - bins[0][0] or 1.0
    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    axes.bar([low for low, *_ in bins], [count for *_, count in bins], width=width, align="edge")
    axes.axvline(answer["quiet_us"], color="black", linestyle=":", label="without noise")
    axes.axvline(answer["distribution"]["mean_us"], color="tab:red", label="mean")
    axes.set_xlabel("time of a call (us)")
    axes.set_ylabel("calls")
    axes.set_title(f"{simulated_text.title(answer)}\n{answer['algorithm']}", fontsize=9)
    axes.legend(fontsize="small")
    save(figure, path)


def draw_published(rows: Sequence[Row], path: Path) -> None:
    """How far ours are from the source's figures."""
    shown = [row for row in rows if row.error is not None]
    figure, axes = pyplot.subplots(figsize=(9, 1 + 0.3 * len(shown)), layout="constrained")
    colours = [
        "tab:gray" if row.is_met is None else "tab:green" if row.is_met else "tab:red" for row in shown
    ]
    axes.barh(range(len(shown)), [100 * (row.error or 0.0) for row in shown], color=colours)
    axes.set_yticks(range(len(shown)), [f"{row.place}: {row.what}" for row in shown], fontsize=7)
    axes.invert_yaxis()
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_xlabel("error (%); grey: not to be met")
    save(figure, path)
