# SPDX-License-Identifier: BSD-3-Clause
"""Maps of how many times faster than the MPI's own collective calls are, by operation and size."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unisono.common.operations import OPERATIONS
from unisono.measuring import bench
from unisono.page import asking, text
from unisono.page.colours import speedup_class
from unisono.page.grid import SIZELESS, Entry, Grid, grid
from unisono.page.marks import Mark
from unisono.page.sources import Cells, Run, Source, Table, layout_of_rule
from unisono.reporting import report
from unisono.tables import decision_table


@dataclass(frozen=True)
class SpeedupMap:
    title: str
    note: str  # what the times are
    grid: Grid
    mean: float  # geometric
    cells: int


@dataclass(frozen=True)
class _Measured:
    """One cell before it is drawn. Times are seconds a call."""

    operation: str
    low: int
    high: int | None
    algorithm: str
    time_s: float
    native_s: float
    interval: tuple[float, float] | None = None
    samples: int | None = None
    remark: str = ""
    label: str = ""  # of the row, where it is not the operation

    @property
    def speedup(self) -> float:
        return self.native_s / self.time_s

    @property
    def is_doubtful(self) -> bool:
        """Whether the interval does not say which is faster."""
        return self.interval is not None and self.interval[0] <= 1 <= self.interval[1]

    def text(self) -> str:
        number = text.times(self.speedup)
        return f"({number})" if self.is_doubtful else number

    def tip(self) -> str:
        size = "" if self.operation in SIZELESS else f", {text.sizes(self.low, self.high)}"
        lines = [
            self.operation + size,
            f"{self.algorithm}: {text.seconds(self.time_s)}",
            f"native: {text.seconds(self.native_s)}",
            f"{self.speedup:.3g} times as fast",
        ]
        if self.interval is not None:
            lines[-1] += f", 95 % interval {self.interval[0]:.3g} to {self.interval[1]:.3g}"
        lines += [text.plural(self.samples, "sample")] if self.samples else []
        lines += [self.remark] if self.remark else []
        return "\n".join(lines)


def of_sources(sources: Sequence[Source]) -> list[SpeedupMap]:
    return [found for source in sources for found in _of(source)]


def _of(source: Source) -> Iterator[SpeedupMap]:
    if isinstance(source, Run):
        yield from _of_run(source)
    elif isinstance(source, Cells):
        yield from _of_cells(source.name, source.cells, source.layout)
    elif source.cells:
        yield from _of_cells(source.name, source.cells, None)
    else:
        yield from _of_table(source)


def _map(
    title: str,
    note: str,
    measured: Sequence[_Measured],
    mark: Mark = Mark(),  # noqa: B008 - it is frozen
) -> SpeedupMap:
    entries = [
        Entry(
            operation=one.operation,
            label=one.label or one.operation,
            low=one.low,
            high=one.high,
            text=one.text(),
            tip=one.tip(),
            style=speedup_class(one.speedup) + (" doubtful" if one.is_doubtful else ""),
            mark=Mark(one.operation, mark.layout, mark.communicator, mark.region),
        )
        for one in sorted(measured, key=lambda one: OPERATIONS.index(one.operation))
    ]
    mean = text.geometric_mean([one.speedup for one in measured])
    return SpeedupMap(title, note, grid(entries), mean, len(measured))


def _of_run(run: Run) -> Iterator[SpeedupMap]:
    """What was learned: for each communicator and region the time of the chosen algorithm against the native one's."""
    kinds: dict[tuple[int, str], list[dict[str, Any]]] = {}
    for row in learned(run):
        kinds.setdefault((row["communicator"], row["region"]), []).append(row)
    for (communicator, region), rows in kinds.items():
        where = f"{run.name}: {rows[0]['shape']}" + (f", region {region}" if region else "")
        measured = [
            _Measured(
                operation=row["operation"],
                label=row["operation"] + ("" if row["commutative"] else " (ordered)"),
                low=row["bytes_low"],
                high=row["bytes_high"],
                algorithm=row["chosen"],
                time_s=row["time_s"],
                native_s=row["native_s"],
                remark=f"{_whose_time(row['compared'])}; {text.plural(row['calls'], 'call')}",
            )
            for row in rows
        ]
        mark = Mark(None, rows[0]["layout"], f"{run.name}/{communicator}", region)
        yield _map(where, "learned while the program ran", measured, mark)


def _whose_time(compared: str) -> str:
    return "least of the ranks' mean times" if compared == "mean" else f"least time of the {compared} rank"


def learned(run: Run) -> list[dict[str, Any]]:
    """The kinds of calls whose native time and chosen time are both known, with `native_s`."""
    found = []
    for row in run.report["learning"]:
        native_s = next((c["time_s"] for c in row["candidates"] if c["algorithm"] == "native"), None)
        if native_s and row["time_s"]:
            found.append({**row, "native_s": native_s})
    return found


def _of_cells(name: str, cells: Sequence[bench.Cell], layout: str | None) -> Iterator[SpeedupMap]:
    mark = Mark(None, layout)
    own = [
        _Measured(
            operation=c.operation,
            low=c.bytes,
            high=c.bytes,
            algorithm=c.algorithm or "Unisono",
            time_s=c.native_s / c.speedup,
            native_s=c.native_s,
            interval=(c.speedup_low, c.speedup_high),
            samples=c.samples,
            remark="" if c.is_same else "RESULTS DIFFER from the MPI's",
        )
        for c in cells
    ]
    where = f"{name}: {text.plural(cells[0].ranks, 'rank')}"
    yield _map(where, "Unisono's own choice, in turn with native", own, mark)
    if any(c.best for c in cells):
        yield _map(where, "the fastest of all that were tried", [_fastest(c) for c in cells], mark)


def _fastest(cell: bench.Cell) -> _Measured:
    best = cell.best
    if best is None or (best.speedup or 0.0) <= cell.speedup:
        name, speedup = cell.algorithm or "Unisono", cell.speedup
        interval = (cell.speedup_low, cell.speedup_high)
    else:
        name, speedup = best.name, best.speedup or 0.0
        interval = (best.speedup_low or 0.0, best.speedup_high or 0.0)
    return _Measured(
        operation=cell.operation,
        low=cell.bytes,
        high=cell.bytes,
        algorithm=name,
        time_s=cell.native_s / speedup,
        native_s=cell.native_s,
        interval=interval,
        samples=cell.samples,
    )


def _of_table(source: Table) -> Iterator[SpeedupMap]:
    places: dict[tuple[str, str | None, str], list[_Measured]] = {}
    for number, rule in source.table.rules:
        native = decision_table.native_of(rule)
        if native is None or "time_us" not in rule:
            continue
        low, high = rule.get("bytes", (0, None))
        measured = _Measured(
            operation=rule["operation"],
            low=low,
            high=high,
            algorithm=rule["algorithm"],
            time_s=rule["time_us"] * 1e-6,
            native_s=native["time_us"] * 1e-6,
            samples=rule.get("samples"),
            remark=_remark(number, rule),
        )
        places.setdefault(_place_of(rule), []).append(measured)
    has_regions = any(rule.get("region") for _, rule in source.table.rules)
    for (where, layout, region), there in places.items():
        note = "the table's choice, as it was measured"
        mark = Mark(None, layout, None, region if has_regions else None)
        yield _map(f"{source.name}: {where}", note, there, mark)


def _remark(number: int, rule: Mapping[str, Any]) -> str:
    at = f", at {rule['measured_bytes']} bytes" if "measured_bytes" in rule else ""
    lines = [f"rule {number}{at}" + (f", {rule['note']}" if rule.get("note") else "")]
    if "interval_us" in rule:
        low, high = (text.seconds(bound * 1e-6) for bound in rule["interval_us"])
        lines.insert(0, f"95 % interval of its time {low} to {high}")
    runner_up = decision_table.runner_up_of(dict(rule))
    if runner_up is not None and runner_up["algorithm"] != "native":
        lines.insert(0, f"runner-up: {runner_up['algorithm']}: {text.seconds(runner_up['time_us'] * 1e-6)}")
    return "\n".join(lines)


def _place_of(rule: Mapping[str, Any]) -> tuple[str, str | None, str]:
    """What a rule is for beside operation, size and operator, in words; its layout, where it is one; its region."""
    region, layout = rule.get("region", ""), layout_of_rule(rule)
    if layout is None:
        others = {k: v for k, v in rule.items() if k != "operator"}
        return decision_table.where_text(others), None, region
    nodes = [{"ranks": rule["ranks_per_node"][0]}] * rule["nodes"][0]
    return report.layout_text(nodes) + asking.of_rule(rule).text(), layout, region
