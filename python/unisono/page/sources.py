# SPDX-License-Identifier: BSD-3-Clause
"""What a page is made of: reports of runs, tables, and cells that were measured, told apart by what the files say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unisono.common import files, schemas
from unisono.common.errors import FileError
from unisono.measuring import bench
from unisono.reporting import report
from unisono.tables import decision_table

_WHAT_FILES = "a run's report (`unisono run --report`), a table (`unisono tune`) or measured cells (`unisono bench --json`)"


@dataclass(frozen=True)
class Run:
    """The report of a run."""

    name: str
    report: dict[str, Any]


@dataclass(frozen=True)
class Table:
    """A table of decisions. `cells` is what was measured for it, where that is known better than the table tells."""

    file: str
    name: str
    table: decision_table.DecisionTable
    cells: Sequence[bench.Cell] = ()


@dataclass(frozen=True)
class Cells:
    """What `unisono bench --json` has printed. `layout` is that of its ranks."""

    name: str
    cells: Sequence[bench.Cell]
    layout: str


Source = Run | Table | Cells


def load(file: Path, layout: str | None = None) -> Source:
    """What the file holds; ends the command where it is nothing that a page shows. `layout` is that of measured cells, whose
    files do not say it; by itself one node."""
    read = files.read_json(file, f"is not {_WHAT_FILES}")
    if isinstance(read, list):
        return _cells(file, read, layout)
    schema = read.get("schema") if isinstance(read, dict) else None
    if schema == schemas.REPORT:
        return Run(file.stem, report.of(read, file))
    if schema == schemas.TABLE:
        (table,) = decision_table.require((str(file),))
        return Table(str(file), file.stem, table)
    raise FileError(f"{file} is not {_WHAT_FILES}: its 'schema' says {schema!r}")


def _cells(file: Path, rows: list[Any], layout: str | None) -> Cells:
    try:
        cells = [bench.from_row(row) for row in rows]
    except (AttributeError, KeyError, TypeError) as error:
        raise FileError(
            f"{file} is not {_WHAT_FILES}: its rows are no cells of `unisono bench` ({error})"
        ) from error
    if not cells:
        raise FileError(f"{file} holds no measured cell")
    return Cells(file.stem, cells, layout or str(cells[0].ranks))


def layout_of_rule(rule: Mapping[str, Any]) -> str | None:
    """The one layout that a table's rule is for; None: it is for several."""
    limits = [rule.get(name, (None, None)) for name in ("nodes", "ranks_per_node")]
    if any(low is None or low != high for low, high in limits):
        return None
    nodes, ranks_per_node = (low for low, _ in limits)
    scattered = "/cyclic" if nodes > 1 and rule.get("placement") == "scattered" else ""
    return f"{nodes}x{ranks_per_node}{scattered}" if nodes > 1 else str(ranks_per_node)
