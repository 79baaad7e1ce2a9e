# SPDX-License-Identifier: BSD-3-Clause
"""What a job would decide by a table, asked of the compiled code for all operations and sizes that the table speaks of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from unisono.page.grid import SIZELESS
from unisono.page.sources import Table
from unisono.reporting import explanation

_MOST_LAYOUTS = 6
_STANDARD_RANKS = 8
_LEAST_LARGEST = 4 << 20  # bytes up to which it is asked at least
_AT_ONCE = 4  # questions: each is a process of a few milliseconds


@dataclass(frozen=True)
class Circumstances:
    """What rules may ask for beside operation, size and layout."""

    is_oversubscribed: bool = False
    is_ordered: bool = False
    is_non_blocking: bool = False
    region: str = ""
    mpi: str = ""

    def holds(self, rule: Mapping[str, Any]) -> bool:
        """Whether a rule may be for calls in these circumstances."""
        own = of_rule(rule)
        pairs = (
            ("oversubscribed", self.is_oversubscribed, own.is_oversubscribed),
            ("operator", self.is_ordered, own.is_ordered),
            ("form", self.is_non_blocking, own.is_non_blocking),
            ("region", self.region, own.region),
            ("mpi", self.mpi, own.mpi),
        )
        return all(name not in rule or asked == wanted for name, asked, wanted in pairs)

    def question(self) -> list[str]:
        words = ["--oversubscribed"] if self.is_oversubscribed else []
        words += ["--ordered"] if self.is_ordered else []
        words += ["--non-blocking"] if self.is_non_blocking else []
        words += ["--region", self.region] if self.region else []
        return [*words, "--mpi", self.mpi] if self.mpi else words

    def text(self) -> str:
        """What is to be said of them, behind the layout."""
        parts = ["cores shared"] if self.is_oversubscribed else []
        parts += ["ordered operators"] if self.is_ordered else []
        parts += ["non-blocking"] if self.is_non_blocking else []
        parts += [f"region {self.region}"] if self.region else []
        parts += [self.mpi] if self.mpi else []
        return "".join(f", {part}" for part in parts)


def of_rule(rule: Mapping[str, Any]) -> Circumstances:
    """Those that a rule is for; where it does not say, the common ones."""
    return Circumstances(
        is_oversubscribed=bool(rule.get("oversubscribed", False)),
        is_ordered=rule.get("operator") == "ordered",
        is_non_blocking=rule.get("form") == "non-blocking",
        region=rule.get("region", ""),
        mpi=rule.get("mpi", ""),
    )


@dataclass(frozen=True)
class Answers:
    """What is decided on one layout in the same circumstances: operation, size (0: there is none), the tool's answer."""

    layout: str
    circumstances: Circumstances
    answers: Sequence[tuple[str, int, dict[str, Any]]]


def ask(source: Table, layouts: Sequence[str]) -> Iterator[Answers]:
    """For the given layouts, or else for those of the rules."""
    rules = [rule for _, rule in source.table.rules]
    for circumstances in dict.fromkeys(map(of_rule, rules)):
        there = [rule for rule in rules if circumstances.holds(rule)]
        operations = list(dict.fromkeys(rule["operation"] for rule in there))
        for layout in layouts or _layouts(there):
            yield Answers(
                layout, circumstances, _answers(source.file, layout, circumstances, operations, _sizes(rules))
            )


def _answers(
    file: str, layout: str, circumstances: Circumstances, operations: Sequence[str], sizes: Sequence[int]
) -> list[tuple[str, int, dict[str, Any]]]:
    cells = [
        (operation, size) for operation in operations for size in ([0] if operation in SIZELESS else sizes)
    ]

    def answer(cell: tuple[str, int]) -> dict[str, Any]:
        operation, size = cell
        words = ["--operation", operation, "--bytes", str(size), "--layout", layout, "--table", file]
        words += [*circumstances.question(), "--no-environment", "--no-predictions"]
        return explanation.ask(words).answer

    with ThreadPoolExecutor(_AT_ONCE) as threads:
        return [(*cell, found) for cell, found in zip(cells, threads.map(answer, cells), strict=True)]


def _sizes(rules: Sequence[Mapping[str, Any]]) -> list[int]:
    """The size classes' upper ends, to one class beyond the largest that a rule names."""
    named = [bound for rule in rules for bound in rule.get("bytes", ()) if bound is not None]
    largest = max([_LEAST_LARGEST, *named])
    return [1 << i for i in range(largest.bit_length() + 1)]


def _layouts(rules: Sequence[Mapping[str, Any]]) -> list[str]:
    """The layouts that rules are for: where they name ranges, the smallest and the largest. Rules for all layouts are shown at
    those of the others."""
    found: dict[str, None] = {}
    for rule in rules:
        nodes, per_node = (
            {bound for bound in rule.get(name, ()) if bound} for name in ("nodes", "ranks_per_node")
        )
        if not nodes and not per_node:
            continue
        for count in sorted(nodes or {1}):
            for ranks in sorted(per_node or {_STANDARD_RANKS}):
                found[f"{count}x{ranks}" if count > 1 else str(ranks)] = None
    return list(found)[:_MOST_LAYOUTS] or [str(_STANDARD_RANKS)]
