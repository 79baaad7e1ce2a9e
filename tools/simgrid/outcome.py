# SPDX-License-Identifier: BSD-3-Clause
"""What came of a comparison over SMPI, as tables and a plot."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from unisono.common.units import bytes_text
from unisono.reporting.plots import pyplot, save

if TYPE_CHECKING:
    from compare import Cell

BEHIND = 1.02  # times as long: less is called equal
# Operations for which a selector chooses; SMPI has one algorithm for each of the others.
CHOSEN = ("barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall")
CHOSEN += ("allgatherv", "alltoallv", "reduce_scatter", "reduce_scatter_block")
Time = Callable[["Cell"], float]


def predicted_choice(cell: Cell) -> float:
    """Microseconds of the algorithm that the model puts first."""
    return cell.unisono_us[cell.chosen]


def learned_choice(cell: Cell) -> float:
    """Of the fastest of those that learning tries."""
    return min(cell.unisono_us.values())


def mean_gain(cells: Sequence[Cell], selector: str, ours: Time) -> float:
    """The geometric mean of how many times as fast Unisono is."""
    return math.exp(float(np.mean([math.log(cell.native_us[selector] / ours(cell)) for cell in cells])))


def behind(cells: Sequence[Cell], selector: str, ours: Time) -> list[Cell]:
    return [cell for cell in cells if ours(cell) > BEHIND * cell.native_us[selector]]


def places(cells: Sequence[Cell]) -> dict[str, list[Cell]]:
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(f"{cell.platform}, {cell.ranks}", []).append(cell)
    return found


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    for row in rows:
        yield f"| {' | '.join(row)} |"
    yield ""


def _gains(groups: dict[str, list[Cell]], first: str, selectors: Sequence[str]) -> Iterator[str]:
    for ours, title in ((predicted_choice, "As predicted"), (learned_choice, "As learned")):
        yield f"{title}: how many times as fast as each selector's choices (geometric mean), and cells behind of all."
        yield ""
        rows = []
        for name, some in groups.items():
            row = [name]
            for selector in selectors:
                count = len(behind(some, selector, ours))
                row.append(f"{mean_gain(some, selector, ours):.2f} ({count} of {len(some)})")
            rows.append(row)
        yield from _table((first, *selectors), rows)


def _cells_behind(cells: Sequence[Cell], selectors: Sequence[str]) -> Iterator[str]:
    yield "## Cells behind"
    yield ""
    for ours, title in ((learned_choice, "As learned"), (predicted_choice, "As predicted")):
        yield f"{title}: how many times as long as each selector's choice, where that is more than {BEHIND}."
        yield ""
        rows = []
        for cell in cells:
            ratios = [ours(cell) / cell.native_us[selector] for selector in selectors]
            if max(ratios) > BEHIND:
                size = "" if cell.operation == "barrier" else f" of {bytes_text(cell.bytes)}"
                name = f"{cell.operation}{size}, {cell.platform}, {cell.ranks} ranks"
                rows.append((max(ratios), [name, *(f"{r:.2f}" if r > BEHIND else "" for r in ratios)]))
        yield from _table(("cell", *selectors), [row for _, row in sorted(rows, key=lambda one: -one[0])])


def _errors(groups: dict[str, list[Cell]]) -> Iterator[str]:
    yield "## The model"
    yield ""
    yield "Time in virtual time over what was predicted, of all algorithms that were tried."
    yield ""
    rows = []
    for name, some in groups.items():
        ratios = np.array(
            [cell.unisono_us[text] / us for cell in some for text, us in cell.predicted_us.items() if us > 0]
        )
        regret = math.exp(
            float(np.mean([math.log(predicted_choice(cell) / learned_choice(cell)) for cell in some]))
        )
        near = float(np.mean((ratios > 0.8) & (ratios < 1.25)))
        quantiles = [f"{np.quantile(ratios, share):.2f}" for share in (0.1, 0.5, 0.9)]
        rows.append([name, str(len(ratios)), *quantiles, f"{near:.0%}", f"{regret:.2f}"])
    yield from _table(
        ("network, ranks", "times", "lowest tenth", "median", "highest tenth", "within 1.25", "regret"), rows
    )


def plot(cells: Sequence[Cell], path: Path) -> None:
    """Predicted times against those in SMPI, a panel for each network."""
    groups = places(cells)
    columns = min(3, len(groups))
    figure, axes = pyplot.subplots(
        -(-len(groups) // columns), columns, squeeze=False, sharex=True, sharey=True,
        figsize=(4 * columns, 3.6 * -(-len(groups) // columns)), layout="constrained",
    )  # fmt: skip
    for axis, (name, some) in zip(axes.flat, groups.items(), strict=False):
        points = [
            (us, cell.unisono_us[text]) for cell in some for text, us in cell.predicted_us.items() if us > 0
        ]
        predicted, virtual = np.array(points).T
        axis.loglog(predicted, virtual, ".", markersize=4)
        ends = [predicted.min(), predicted.max()]
        axis.loglog(ends, ends, color="grey", linewidth=1)
        axis.set_title(f"{name} ranks", fontsize=9)
        axis.set_xlabel("predicted, us")
        axis.set_ylabel("in SMPI, us")
    save(figure, path)


def report(cells: Sequence[Cell], output: Path) -> str:
    """Writes OUTPUT.md and OUTPUT.png; returns the text."""
    selectors = list(cells[0].native_us) if cells else []
    by_operation: dict[str, list[Cell]] = {}
    for cell in cells:
        by_operation.setdefault(cell.operation, []).append(cell)
    lines = [
        "# Unisono's choices in SMPI's virtual time",
        "",
        "## Operations for which selectors choose",
        "",
        *_gains(places([cell for cell in cells if cell.operation in CHOSEN]), "network, ranks", selectors),
        "## All operations",
        "",
        *_gains(places(cells), "network, ranks", selectors),
        *_gains(by_operation, "operation", selectors),
        *_errors(places(cells)),
        *_cells_behind(cells, selectors),
    ]
    text = "\n".join(lines)
    output.with_suffix(".md").write_text(text)
    plot(cells, output.with_suffix(".png"))
    return text
