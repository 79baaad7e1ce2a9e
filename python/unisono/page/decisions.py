# SPDX-License-Identifier: BSD-3-Clause
"""Maps of which algorithm serves which calls: as a run has recorded it, or as the compiled code decides by a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

from unisono import bench, explanation, tables
from unisono.page import text
from unisono.page.colours import Algorithms
from unisono.page.grid import SIZELESS, Entry, Grid, grid
from unisono.page.marks import Mark
from unisono.page.sources import Run, Source, Table

_MOST_LAYOUTS = 6
_STANDARD_RANKS = 8
_LEAST_LARGEST = 4 << 20  # bytes up to which it is asked at least
_AT_ONCE = 4  # questions: each is a process of a few milliseconds


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
            also = ", ".join(f"{row['algorithm']} {tables.count_text(row['calls'])}" for row in others)
            decisions.append(
                _Decision(
                    operation=operation,
                    label=("i" if form == "non-blocking" else "") + operation,
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
    return bench.OPERATIONS.index(operation), form, low


def _asked(source: Table, layouts: Sequence[str]) -> Iterator[tuple[str, str, Mark, list[_Decision]]]:
    operations = list(dict.fromkeys(rule["operation"] for _, rule in source.table.rules))
    sizes = _sizes(source)
    chosen = list(layouts) or _layouts(source)
    questions = [
        (layout, operation, size)
        for layout in chosen
        for operation in operations
        for size in ([0] if operation in SIZELESS else sizes)
    ]

    def ask(question: tuple[str, str, int]) -> dict[str, Any]:
        layout, operation, size = question
        words = ["--operation", operation, "--bytes", str(size), "--layout", layout, "--table", source.file]
        return explanation.ask([*words, "--no-environment", "--no-predictions"]).answer

    with ThreadPoolExecutor(_AT_ONCE) as threads:
        answers = list(zip(questions, threads.map(ask, questions), strict=True))
    for layout in chosen:
        decisions: list[_Decision] = []
        shape = layout
        for (at, operation, size), answer in answers:
            if at == layout:
                shape = answer["question"]["shape"]
                _append(decisions, operation, size, answer)
        note = "as a job decides with this table; built-in rules where it says nothing"
        yield f"{source.name}: {shape}", note, Mark(None, layout), decisions


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


def _sizes(source: Table) -> list[int]:
    """The size classes' upper ends, to one class beyond the largest that a rule names."""
    named = [bound for _, rule in source.table.rules for bound in rule.get("bytes", ()) if bound is not None]
    largest = max([_LEAST_LARGEST, *named])
    return [1 << i for i in range(largest.bit_length() + 1)]


def _layouts(source: Table) -> list[str]:
    """The layouts that rules are for: where they name ranges, the smallest and the largest. Rules for all layouts are shown at
    those of the others."""
    found: dict[str, None] = {}
    for _, rule in source.table.rules:
        nodes, per_node = (
            {bound for bound in rule.get(name, ()) if bound} for name in ("nodes", "ranks_per_node")
        )
        if not nodes and not per_node:
            continue
        for count in sorted(nodes or {1}):
            for ranks in sorted(per_node or {_STANDARD_RANKS}):
                found[f"{count}x{ranks}" if count > 1 else str(ranks)] = None
    return list(found)[:_MOST_LAYOUTS] or [str(_STANDARD_RANKS)]
