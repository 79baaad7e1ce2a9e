# SPDX-License-Identifier: BSD-3-Clause
"""How well the models' predictions fit what was measured: every measured time against the predicted one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from unisono.common import tool, units
from unisono.common.operations import OF_NEIGHBORS
from unisono.machine import model_fit
from unisono.page import axes, text
from unisono.page.marks import Mark
from unisono.page.sources import Cells, Run, Source, Table, layout_of_rule
from unisono.tuning import results

WIDTH, HEIGHT = 660, 460  # of the plot itself
_MOST_STEPS = "1000000"  # of large jobs those algorithms that take more are left out: a page should come soon
_FACTOR = 2.0  # of the band around equality


@dataclass(frozen=True)
class Measured:
    """Times in seconds a call, by algorithm, of one operation at one size."""

    source: str
    layout: str
    operation: str
    bytes: int
    times_s: dict[str, float]


@dataclass(frozen=True)
class Point:
    operation: str
    shape: str  # its marker
    css_class: str
    mark: Mark
    style: str
    tip: str


@dataclass(frozen=True)
class ErrorRow:
    operation: str
    errors: model_fit.Errors
    regret: float


@dataclass(frozen=True)
class ModelFit:
    machine: str
    points: Sequence[Point]
    axis: axes.Both  # of both directions
    band: dict[str, str]  # the outline of a factor of 2, for each kind of axis
    legend: Sequence[tuple[str, str, str]]  # operation, marker, class
    rows: Sequence[ErrorRow]


def measured(sources: Sequence[Source]) -> list[Measured]:
    return [found for source in sources for found in _of(source)]


def _of(source: Source) -> Iterator[Measured]:
    if isinstance(source, Run):
        yield from _of_run(source)
    elif isinstance(source, Table):
        yield from _of_table(source)
    elif isinstance(source, Cells):
        for cell in source.cells:
            times = model_fit.measured_times(_as_row(cell))
            yield Measured(source.name, source.layout, cell.operation, cell.bytes, times)


def _as_row(cell: Any) -> dict[str, Any]:
    return {
        "native_s": cell.native_s,
        "candidates": [{"name": c.name, "seconds": c.seconds, "tried_s": c.tried_s} for c in cell.candidates],
    }


def _of_run(run: Run) -> Iterator[Measured]:
    for row in run.report["learning"]:
        if row["operation"] in OF_NEIGHBORS:
            continue  # one kind of calls has blocks of all sizes, and what they take depends on the graph
        times = {
            text.algorithm(one["algorithm"], one["parameters"]): one["time_s"]
            for one in row["candidates"]
            if one["time_s"]
        }
        if times:
            yield Measured(run.name, row["layout"], row["operation"], row["bytes_high"], times)


def _of_table(source: Table) -> Iterator[Measured]:
    for _, rule in source.table.rules:
        layout, size = layout_of_rule(rule), results.measured_bytes(rule)
        timed = [one for one in (rule, *rule.get("others", [])) if one.get("time_us")]
        if layout is not None and size is not None and timed:
            times = {one["algorithm"]: one["time_us"] * 1e-6 for one in timed}
            yield Measured(source.name, layout, rule["operation"], size, times)


def of_measured(listed: Sequence[Measured], machine: str, machine_name: str) -> ModelFit | None:
    """None: nothing was measured, or nothing of it can be predicted."""
    pairs = [(one, fit) for one in listed for fit in _fits(one, machine)]
    if not pairs:
        return None
    times = [t for _, fit in pairs for t in (fit.measured_s, fit.predicted_s)]
    axis = axes.Both(
        axes.linear(max(times), text.seconds), axes.logarithmic(min(times), max(times), text.seconds)
    )
    operations = list(dict.fromkeys(fit.operation for _, fit in pairs))
    looks = {name: _look(i) for i, name in enumerate(operations)}
    points = [_point(one, fit, axis, *looks[fit.operation]) for one, fit in pairs]
    return ModelFit(
        machine=machine_name,
        points=points,
        axis=axis,
        band={"lin": _band(axis.linear, times), "log": _band(axis.logarithmic, times)},
        legend=[(name, *looks[name]) for name in operations],
        rows=_rows(pairs, operations),
    )


def _fits(one: Measured, machine: str) -> list[model_fit.Fit]:
    def ask(operation: str, size: int, names: list[str]) -> Any:
        words = ["--operation", operation, "--bytes", str(size), "--layout", one.layout]
        words += ["--machine", machine, "--steps", _MOST_STEPS]
        return tool.ask("predict", *words, *(word for name in names for word in ("--algorithm", name)))

    cell = {
        "operation": one.operation,
        "bytes": one.bytes,
        "native_s": one.times_s.get("native", 0.0),
        "candidates": [
            {"name": name, "seconds": seconds} for name, seconds in one.times_s.items() if name != "native"
        ],
    }
    return model_fit.fits([cell], ask)


def _look(number: int) -> tuple[str, str]:
    """Marker and colour of an operation: eight colours, each with two markers."""
    return ("circle", "square")[number // 8 % 2], f"a{number % 8}"


def _point(one: Measured, fit: model_fit.Fit, axis: axes.Both, shape: str, css_class: str) -> Point:
    size = f", {units.bytes_text(fit.bytes)}" if fit.operation != "barrier" else ""
    return Point(
        operation=fit.operation,
        shape=shape,
        css_class=css_class,
        mark=Mark(fit.operation, one.layout),
        style=axis.style(x=fit.measured_s, y=fit.predicted_s),
        tip="\n".join(
            [
                f"{fit.operation}{size}: {fit.algorithm}",
                f"measured {text.seconds(fit.measured_s)}",
                f"predicted {text.seconds(fit.predicted_s)} ({fit.error:+.0%})",
                f"layout {one.layout}, {one.source}",
            ]
        ),
    )


def _band(axis: axes.Axis, times: Sequence[float]) -> str:
    """Between half and double of what was measured: a polygon over the plot."""
    low, high = min(times) / 10, max(times) * 10
    steps = [low * (high / low) ** (i / 200) for i in range(201)]
    above = [(axis.share(t), axis.share(t * _FACTOR)) for t in steps]
    below = [(axis.share(t), axis.share(t / _FACTOR)) for t in reversed(steps)]
    return " ".join(f"{x * WIDTH:.1f},{(1 - y) * HEIGHT:.1f}" for x, y in above + below)


def _rows(pairs: Sequence[tuple[Measured, model_fit.Fit]], operations: Sequence[str]) -> list[ErrorRow]:
    fits = [fit for _, fit in pairs]
    named = [("all", fits)] + [(name, [fit for fit in fits if fit.operation == name]) for name in operations]
    return [ErrorRow(name, model_fit.errors(of), _regret(pairs, of)) for name, of in named]


def _regret(pairs: Sequence[tuple[Measured, model_fit.Fit]], of: Sequence[model_fit.Fit]) -> float:
    """As `model_fit.regret`, with the cells of each source by themselves."""
    wanted = {id(fit) for fit in of}
    cells: dict[int, list[model_fit.Fit]] = {}
    for one, fit in pairs:
        if id(fit) in wanted:
            cells.setdefault(id(one), []).append(fit)
    return text.geometric_mean([model_fit.regret(cell) for cell in cells.values()])
