# SPDX-License-Identifier: BSD-3-Clause
"""Maps of which algorithm serves which calls: as a run has recorded it, or as the compiled code decides by a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from unisono.common import units
from unisono.common.operations import OPERATIONS
from unisono.page import asking, text
from unisono.page.colours import Algorithms
from unisono.page.grid import SIZELESS, Entry, Grid, grid
from unisono.page.marks import Mark
from unisono.page.sources import Run, Source, Table
from unisono.reporting import report


@dataclass(frozen=True)
class DecisionMap:
    title: str
    note: str
    grid: Grid
    algorithms: Sequence[str]  # that stand in it, without parameters


@dataclass(frozen=True)
class _Decision:
    operation: str
    label: str
    low: int
    high: int | None
    algorithm: str  # with parameters
    source: str
    reasons: tuple[str, ...]
    remark: str = ""


def of_sources(
    sources: Sequence[Source], layouts: Sequence[str]
) -> list[tuple[str, str, Mark, list[_Decision]]]:
    """Title, note, mark and decisions of each map. `layouts`: for which tables are asked; empty: for those of their rules."""
    found = []
    for source in sources:
        if isinstance(source, Run):
            found += list(_recorded(source))
        elif isinstance(source, Table):
            found += list(_asked(source, layouts))
    return found


def draw(
    title: str, note: str, mark: Mark, decisions: Iterable[_Decision], colours: Algorithms
) -> DecisionMap:
    listed = list(decisions)
    entries = [
        Entry(
            operation=one.operation,
            label=one.label,
            low=one.low,
            high=one.high,
            text=text.bare(one.algorithm),
            tip=_tip(one),
            style=colours.css_class(text.bare(one.algorithm)),
            mark=replace(mark, operation=one.operation),
        )
        for one in listed
    ]
    return DecisionMap(
        title, note, grid(entries), list(dict.fromkeys(text.bare(one.algorithm) for one in listed))
    )


def _tip(decision: _Decision) -> str:
    size = "" if decision.operation in SIZELESS else f", {text.sizes(decision.low, decision.high)}"
    lines = [decision.label + size, decision.algorithm]
    lines += [f"{decision.source}: {reason}" for reason in decision.reasons]
    lines += [decision.remark] if decision.remark else []
    return "\n".join(lines)


def _recorded(run: Run) -> Iterator[tuple[str, str, Mark, list[_Decision]]]:
    """What served most of the calls of each class."""
    shapes: dict[tuple[str, str], dict[tuple[str, str, int, int], list[dict[str, Any]]]] = {}
    for row in run.report["classes"]:
        key = (row["operation"], row["form"], row["bytes_low"], row["bytes_high"])
        shapes.setdefault((row["shape"], row["layout"]), {}).setdefault(key, []).append(row)
    for (shape, layout), classes in shapes.items():
        decisions = []
        for (operation, form, low, high), rows in sorted(classes.items(), key=_order):
            most, *others = sorted(rows, key=lambda row: -row["calls"])
            calls = text.plural(most["calls"], "call")
            also = ", ".join(f"{row['algorithm']} {units.count_text(row['calls'])}" for row in others)
            decisions.append(
                _Decision(
                    operation=operation,
                    label=report.operation_text({"operation": operation, "form": form}),
                    low=low,
                    high=high,
                    algorithm=text.algorithm(most["algorithm"], most["parameters"]),
                    source=most["source"],
                    reasons=(most["reason"],),
                    remark=f"{calls}; others: {also}" if also else calls,
                )
            )
        note = "what served most calls of each size"
        yield f"{run.name}: {shape}", note, Mark(None, layout), decisions


def _order(entry: tuple[tuple[str, str, int, int], Any]) -> tuple[int, str, int]:
    operation, form, low, _ = entry[0]
    return OPERATIONS.index(operation), form, low


def _asked(source: Table, layouts: Sequence[str]) -> Iterator[tuple[str, str, Mark, list[_Decision]]]:
    has_regions = any(rule.get("region") for _, rule in source.table.rules)
    for found in asking.ask(source, layouts):
        decisions: list[_Decision] = []
        shape = found.layout
        for operation, size, answer in found.answers:
            shape = answer["question"]["shape"]
            _append(decisions, operation, size, answer)
        where = found.circumstances
        mark = Mark(None, found.layout, None, where.region if has_regions else None)
        note = "as a job decides with this table; built-in rules where it says nothing"
        yield f"{source.name}: {shape}{where.text()}", note, mark, decisions


def _append(decisions: list[_Decision], operation: str, size: int, answer: dict[str, Any]) -> None:
    """The decision for one more size, which joins the one before where it is the same one, if for another reason."""
    question, choice = answer["question"], answer["choice"]
    decision = _Decision(
        operation=operation,
        label=operation,
        low=question["bytes_low"] if size else 0,
        high=question["bytes_high"] if size else None,
        algorithm=choice["algorithm"],
        source=choice["source"],
        reasons=(choice["reason"],),
    )
    before = decisions[-1] if decisions else None
    if before is None or (before.operation, before.algorithm, before.source) != (
        operation,
        decision.algorithm,
        decision.source,
    ):
        decisions.append(decision)
    else:
        reasons = tuple(dict.fromkeys(before.reasons + decision.reasons))
        decisions[-1] = replace(before, high=decision.high, reasons=reasons)
