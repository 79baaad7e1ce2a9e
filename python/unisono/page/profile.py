# SPDX-License-Identifier: BSD-3-Clause
"""The profile of a run (option `profile`): time and calls of all MPI functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from unisono.page.sources import Run
from unisono.reporting import profile


@dataclass(frozen=True)
class Columns:
    """A table as rows of text: the first column names the row, those in `words` are text, all others numbers."""

    caption: str
    names: Sequence[str]
    rows: Sequence[Sequence[str]]
    words: frozenset[str] = frozenset()

    def is_number(self, place: int) -> bool:
        return place > 0 and self.names[place] not in self.words


@dataclass(frozen=True)
class Profile:
    title: str
    headline: str
    verdict: Sequence[str]
    tables: Sequence[Columns]
    sent: str


def of_run(run: Run) -> Profile | None:
    """None where the run was not profiled."""
    found = run.report.get("profile")
    if found is None:
        return None
    tables = [
        Columns("By kind", profile.KIND_COLUMNS, profile.kind_rows(found)),
        Columns("By function", profile.FUNCTION_COLUMNS, profile.function_rows(found)),
        Columns(
            "By message size and partner",
            profile.SIZE_COLUMNS,
            profile.size_rows(found),
            frozenset({"partner"}),
        ),
    ]
    return Profile(
        run.name,
        profile.headline(found),
        profile.verdict(found),
        [table for table in tables if table.rows],
        profile.partner_text(found),
    )
