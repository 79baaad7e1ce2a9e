# SPDX-License-Identifier: BSD-3-Clause
"""The document's rows, kept in a file of the repository, so that they outlive the results of one checkout."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

from cells import BAD, NATIVE, PASSED, SKIPPED, Place, Store

Both = tuple[int, int]  # natively, under Unisono


@dataclass(frozen=True)
class Row:
    """What was found of one variant of a place, beside the native run.

    `parts` of `all_parts` were run in both. What is named has, by `part case`, how it ended natively and under Unisono.
    """

    suite: str
    mpi: str
    ranks: int
    variant: str
    parts: int
    all_parts: int
    cases: int
    passed: Both
    skipped: Both
    failed: Both
    new: dict[str, str] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    both: dict[str, str] = field(default_factory=dict)
    only_native: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    date: str = ""

    @property
    def key(self) -> tuple[str, str, int, str]:
        return self.suite, self.mpi, self.ranks, self.variant


def found(store: Store, place: Place, variant: str, all_parts: int) -> Row:
    """Return the row that the local results make."""
    comparison, parts = store.compare(place, variant)
    native, unisono = store.load(place, NATIVE), store.load(place, variant)

    def how(cases: Iterable[str]) -> dict[str, str]:
        return {case: f"{native.how(case)} / {unisono.how(case)}" for case in sorted(cases)}

    return Row(
        place.suite,
        place.mpi,
        place.ranks,
        variant,
        len(parts),
        all_parts,
        len(comparison.native.keys() | comparison.unisono.keys()),
        comparison.counts(frozenset((PASSED,))),
        comparison.counts(frozenset((SKIPPED,))),
        comparison.counts(BAD),
        how(comparison.new_failures),
        how(comparison.lost),
        how(comparison.both_fail),
        how(comparison.only_native_fails),
        unisono.versions,
        unisono.date,
    )


class Rows:
    """The kept rows. One that is found takes the place of a kept one as soon as it covers at least as many parts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        lines = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
        kept = (
            Row(**{name: tuple(v) if isinstance(v, list) else v for name, v in line.items()})
            for line in lines
        )
        self._rows = {row.key: row for row in kept}

    def get(self, place: Place, variant: str) -> Row | None:
        return self._rows.get((place.suite, place.mpi, place.ranks, variant))

    def merge(self, row: Row) -> None:
        kept = self._rows.get(row.key)
        if kept is None or row.parts >= kept.parts:
            self._rows[row.key] = row

    def mpi_version(self, mpi: str) -> str:
        """Return the version of an MPI in one of its rows, or nothing."""
        return next((row.versions["mpi"] for row in self._rows.values() if row.mpi == mpi), "")

    def write(self) -> None:
        """Write them sorted, one a line, without what is empty."""
        lines = [
            json.dumps(
                {name: value for name, value in asdict(self._rows[key]).items() if value not in ({}, "")}
            )
            for key in sorted(self._rows)
        ]
        partial = self.path.with_suffix(".partial")
        partial.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
        partial.replace(self.path)
