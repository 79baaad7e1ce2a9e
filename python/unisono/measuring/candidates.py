# SPDX-License-Identifier: BSD-3-Clause
"""Algorithms with their parameters, as they are measured, predicted and tuned, and which ones a measurement
tries. It tries each of the registry, with corner values of its parameters. They are texts that option
`algorithm` takes ("bcast:chain(segment=65536)")."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from unisono.common import source_names
from unisono.common.errors import UsageError
from unisono.common.units import KIB, bytes_from_text

CUTTING = ("segment", "piece")
SEGMENTS = (8 * KIB, 64 * KIB, 256 * KIB)
PIECES = (64 * KIB, 256 * KIB)
DEGREES = (2, 8)
OVERLAP_SEGMENT = 64 * KIB


@dataclass(frozen=True)
class Candidate:
    """An algorithm with the parameters that are not standard."""

    algorithm: str
    parameters: tuple[tuple[str, int], ...] = ()

    def with_(self, **values: int) -> Candidate:
        return Candidate(self.algorithm, tuple(sorted((dict(self.parameters) | values).items())))

    def without(self, values: Mapping[str, int]) -> Candidate:
        """Less the parameters that have these values: what is standard needs no words."""
        kept = tuple((name, value) for name, value in self.parameters if values.get(name) != value)
        return Candidate(self.algorithm, kept)

    def without_cuts(self, size: int) -> Candidate:
        """Less segments and pieces that cut no message of `size` bytes."""
        kept = tuple((name, value) for name, value in self.parameters if name not in CUTTING or value < size)
        return Candidate(self.algorithm, kept)

    def __str__(self) -> str:
        inside = ",".join(f"{name}={value}" for name, value in self.parameters)
        return f"{self.algorithm}({inside})" if inside else self.algorithm


def parse(text: str) -> Candidate:
    """What `str` of a candidate gives, and what Unisono prints of a decision."""
    name, _, inside = text.rstrip(")").partition("(")
    pairs = (item.split("=") for item in inside.split(",") if item)
    values = ((key, bytes_from_text(value)) for key, value in pairs)
    return Candidate(name, tuple(sorted((key, value) for key, value in values if value is not None)))


def standard(algorithms: Sequence[dict[str, Any]], operations: Sequence[str]) -> list[str]:
    """Each algorithm of the operations with its standard parameters."""
    return [f"{a['operation']}:{a['name']}" for a in algorithms if a["operation"] in operations]


def varied(algorithms: Sequence[dict[str, Any]], operations: Sequence[str]) -> list[str]:
    """The same, and each once more for every value of a parameter that is worth a look, one parameter at a
    time. Where two levels overlap, none and half of a segment are overlapped (A6)."""
    return [
        f"{a['operation']}:{a['name']}{values}"
        for a in algorithms
        if a["operation"] in operations
        for values in ("", *_variants(a["parameters"]))
    ]


def _variants(parameters: Sequence[dict[str, Any]]) -> Iterator[str]:
    standards = {p["name"]: p["default"] for p in parameters}
    grid = {"segment": SEGMENTS, "degree": DEGREES}
    if "segment" not in standards:
        grid["piece"] = PIECES
    for name, values in grid.items():
        for value in values:
            if name in standards and value != standards[name]:
                yield f"({name}={value})"
    if "overlap" in standards and "segment" in standards:
        for overlap in (0, OVERLAP_SEGMENT // 2):
            yield f"(segment={OVERLAP_SEGMENT},overlap={overlap})"


def split(text: str) -> list[str]:
    """`ring,chain(segment=64K,window=4)` -> its items: commas inside brackets do not separate."""
    items, depth = [""], 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        if character == "," and depth == 0:
            items.append("")
        else:
            items[-1] += character
    return [item.strip() for item in items if item.strip()]


def named(algorithms: Sequence[dict[str, Any]], operations: Sequence[str], names: Sequence[str]) -> list[str]:
    """What the user lists, `ring` or `allreduce:ring(segment=64K)`: a name alone stands for every operation that has the
    algorithm. Raises UsageError for one that no operation has."""
    known = {(a["operation"], a["name"]) for a in algorithms}
    found = []
    for text in names:
        operation, _, choice = text.rpartition(":")
        name = choice.split("(", 1)[0]
        having = [o for o in operations if (o, name) in known and operation in ("", "all", o)]
        if not having:
            hint = source_names.hint((a for a in algorithms if a["operation"] in operations), name)
            raise UsageError(
                f"there is no algorithm '{text}' for {', '.join(operations)}{hint}; see `unisono list`"
            )
        found += [f"{o}:{choice}" for o in having]
    return found
