# SPDX-License-Identifier: BSD-3-Clause
"""The ways that data may take inside a node, compared by what a table's rules have measured. They are the MPI's own collectives,
algorithms of messages alone, shared memory, and the network (A13; the table of the source's section 3.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rich.console import Console
from rich.markup import escape

from unisono.common import printing, units
from unisono.measuring import candidates
from unisono.tables.decision_table import Rule, meeting, native_of, sizes_text, where_text

MPI, MESSAGES, SHARED, NETWORK = "the MPI's own", "messages", "shared memory", "network"
WAYS = (MPI, MESSAGES, SHARED)
Algorithms = Mapping[tuple[str, str], Mapping[str, Any]]


@dataclass(frozen=True)
class Timed:
    """A candidate of a rule: its time of a call in microseconds, the way inside nodes, and how messages go between them."""

    algorithm: str
    time_us: float
    way: str
    is_blocking: bool = False
    is_overlapped: bool = False
    has_levels: bool = False

    def described(self) -> str:
        """As in the source: `two_level_chain(nb, ovp, shm)`."""
        if self.way in (MPI, NETWORK):
            return self.way
        inside = "shm" if self.way == SHARED else "msg"
        name = candidates.parse(self.algorithm).algorithm
        if self.way == SHARED and not self.has_levels:
            return f"{name}({inside})"
        marks = ("b" if self.is_blocking else "nb", "ovp" if self.is_overlapped else "novp", inside)
        return f"{name}({', '.join(marks)})"


@dataclass
class Compared:
    """A rule with the fastest candidate of each way; `fastest` lacks the ways of which nothing was measured."""

    rule: Rule
    fastest: dict[str, Timed] = field(default_factory=dict)

    @property
    def best(self) -> Timed:
        return min(self.fastest.values(), key=lambda timed: timed.time_us)


def compared(
    rules: Sequence[Rule], algorithms: Algorithms, by_network: Sequence[Rule] = ()
) -> Iterator[Compared]:
    """The rules that were measured. `by_network`: rules for the same calls, made while the MPI sent all by the network."""
    for rule in rules:
        one = Compared(rule)
        for timed in (rule, *rule.get("others", [])):
            if "time_us" not in timed:
                continue
            found = _timed(rule["operation"], timed, algorithms)
            known = one.fastest.get(found.way)
            if known is None or found.time_us < known.time_us:
                one.fastest[found.way] = found
        if (time_us := _native_like(rule, by_network)) is not None:
            one.fastest[NETWORK] = Timed("native", time_us, NETWORK)
        if one.fastest:
            yield one


def _timed(operation: str, timed: Rule, algorithms: Algorithms) -> Timed:
    candidate = candidates.parse(timed["algorithm"])
    known = algorithms.get((operation, candidate.algorithm))
    if known is None:
        return Timed(timed["algorithm"], timed["time_us"], MPI)
    values = {one["name"]: one["default"] for one in known["parameters"]} | dict(candidate.parameters)
    return Timed(
        timed["algorithm"],
        timed["time_us"],
        SHARED if known["shared_memory"] else MESSAGES,
        is_blocking=values.get("blocking") == 1 or values.get("rounds") == 1,
        is_overlapped=values.get("overlap", 0) > 0,
        has_levels=known["levels"] > 1,
    )


def _native_like(rule: Rule, others: Sequence[Rule]) -> float | None:
    """What the MPI's own took in them for the same size."""
    for other in others:
        if meeting(rule, other) is None or other.get("measured_bytes") != rule.get("measured_bytes"):
            continue
        native = native_of(other)
        if native is not None:
            return float(native["time_us"])
    return None


def ranges(rows: Sequence[Compared]) -> list[tuple[str, str]]:
    """Of rules in the order of their sizes: the sizes that one way is best for, and the way."""
    found: list[tuple[str, list[Rule]]] = []
    for one in rows:
        if not found or found[-1][0] != one.best.way:
            found.append((one.best.way, []))
        found[-1][1].append(one.rule)
    return [(_span(rules), way) for way, rules in found]


def _ranges_text(rows: Sequence[Compared]) -> str:
    return "; ".join(f"{sizes} {way}" for sizes, way in ranges(rows))


def range_lines(rows: Sequence[Compared]) -> list[str]:
    """A line for each operation and layout: `bcast, 2x4, best inside nodes: 0 B to 1 KiB messages; ...`."""
    return [
        f"{operation}, {where}, best inside nodes: {_ranges_text(of_group)}"
        for (operation, where), of_group in groups(rows).items()
    ]


def _span(rules: Sequence[Rule]) -> str:
    first, last = rules[0], rules[-1]
    if "bytes" not in first or "bytes" not in last:
        return "all sizes"
    return sizes_text({"bytes": [first["bytes"][0], last["bytes"][1]]})


def _size_of(one: Compared) -> int:
    return int(one.rule.get("measured_bytes", one.rule.get("bytes", [0])[0]))


def groups(rows: Sequence[Compared]) -> dict[tuple[str, str], list[Compared]]:
    """By operation and layout, each in the order of sizes."""
    found: dict[tuple[str, str], list[Compared]] = {}
    for one in sorted(rows, key=_size_of):
        found.setdefault((one.rule["operation"], where_text(one.rule)), []).append(one)
    return found


def render(rows: Sequence[Compared], console: Console) -> None:
    """Prints a table for each operation and layout, and for which sizes which way is best."""
    ways = [way for way in (*WAYS, NETWORK) if any(way in one.fastest for one in rows)]
    for (operation, where), of_group in groups(rows).items():
        printing.print_rows(
            console,
            escape(f"{operation}, {where}"),
            ["size", "best", "its time", *ways],
            [
                [
                    units.bytes_text(_size_of(one)),
                    escape(one.best.described()),
                    units.seconds_text(one.best.time_us * 1e-6),
                    *(
                        units.seconds_text(one.fastest[way].time_us * 1e-6) if way in one.fastest else ""
                        for way in ways
                    ),
                ]
                for one in of_group
            ],
            right=("size", "its time", *ways),
        )
        console.print(escape(f"best inside nodes: {_ranges_text(of_group)}"), soft_wrap=True)
        console.print()
    console.print(
        "b, nb: messages one at a time, or several under way. ovp, novp: the nodes' part overlaps with messages between them, or "
        "not. shm, msg: shared memory inside nodes, or messages.",
        soft_wrap=True,
    )


def as_data(rows: Sequence[Compared]) -> list[dict[str, Any]]:
    """The same for programs: of each rule its calls, the best, and each way's fastest with its time in microseconds."""
    return [
        {
            "operation": one.rule["operation"],
            "where": where_text(one.rule),
            "bytes": _size_of(one),
            "best": one.best.described(),
            "way": one.best.way,
            "ways": {
                way: {"algorithm": timed.algorithm, "time_us": timed.time_us}
                for way, timed in one.fastest.items()
            },
        }
        for one in rows
    ]
