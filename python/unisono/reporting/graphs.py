# SPDX-License-Identifier: BSD-3-Clause
"""Graphs of neighbours: where `unisono graph` has them from, and what the tool says of them."""

from __future__ import annotations

import array
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from unisono.common import extras, tool
from unisono.common.errors import UsageError
from unisono.reporting import report

Edges = list[tuple[int, int]]


@dataclass(frozen=True)
class Graph:
    """Who sends to whom, of all ranks of a communicator."""

    title: str
    ranks: int
    edges: Edges
    layout: str | None = None  # as a report says it


@dataclass(frozen=True)
class Counted:
    """A graph that a report only has the numbers of: `out` and `in_` are degrees with how many ranks have them."""

    title: str
    ranks: int
    edges: int
    out: list[tuple[int, int]]
    in_: list[tuple[int, int]]


def from_matrix(path: Path, ranks: int) -> Graph:
    """Rows, and columns alike, in stripes over the ranks: who has a column sends to those that have an entry in it."""
    extras.require("graphs")
    scipy_io = extras.load("scipy.io", "graphs")
    numpy = extras.load("numpy", "graphs")
    try:
        matrix = scipy_io.mmread(path)
    except MemoryError as error:
        raise UsageError(f"{path}: is too large a matrix for this machine's memory") from error
    except (OSError, ValueError, TypeError, IndexError, EOFError, OverflowError) as error:
        raise UsageError(f"{path}: is no matrix in Matrix Market's format: {error}") from error
    rows, columns = map(int, matrix.shape)
    least = min(rows, columns)
    if least == 0:
        raise UsageError(f"{path}: has {rows} rows and {columns} columns, none for a rank to have")
    if ranks > least:
        raise UsageError(
            f"{path}: has {rows} rows and {columns} columns, too few for a stripe on each of {ranks} ranks; --ranks {least}"
        )
    row, column = matrix.nonzero()
    row_owner, column_owner = (
        _owners(numpy, of, count, ranks) for of, count in ((row, rows), (column, columns))
    )
    pairs = numpy.unique(numpy.stack([row_owner, column_owner], axis=1)[row_owner != column_owner], axis=0)
    edges = [(int(sender), int(receiver)) for receiver, sender in pairs]
    return Graph(f"{path.name}, {rows} x {columns} in stripes", ranks, edges)


def _owners(numpy: Any, of: Any, count: int, ranks: int) -> Any:
    """Which ranks have these of `count` rows; the first ranks have one more where the number is not divisible."""
    each, more = divmod(count, ranks)
    of = numpy.asarray(of, dtype=numpy.int64)  # 32 bits are too few for the sums
    return numpy.where(of < (each + 1) * more, of // (each + 1), (of - more) // each)


def from_report(path: Path, communicator: int | None) -> Graph | Counted:
    """The graph of a communicator of a run."""
    graphs = report.load(path).get("graphs", [])
    if not graphs:
        raise UsageError(f"{path}: tells of no communicator with neighbours")
    known = ", ".join(str(one["communicator"]) for one in graphs)
    if communicator is None:
        if len(graphs) > 1:
            raise UsageError(
                f"{path}: communicators {known} have neighbours; say which: --comm {graphs[0]['communicator']}"
            )
        found = graphs[0]
    else:
        of_it = [one for one in graphs if one["communicator"] == communicator]
        if not of_it:
            raise UsageError(f"{path}: communicator {communicator} has no neighbours; there are {known}")
        found = of_it[0]
    return _of_report(path, found)


def _of_report(path: Path, found: dict[str, Any]) -> Graph | Counted:
    title = f"communicator {found['communicator']} of {path.name}"
    try:
        ranks = int(found["ranks"])
        if found["edges"] is None:
            out, in_ = ([(int(a), int(b)) for a, b in found[name]] for name in ("out_degrees", "in_degrees"))
            return Counted(title, ranks, int(found["edge_count"]), out, in_)
        edges = [(int(sender), int(receiver)) for sender, receiver in found["edges"]]
    except (KeyError, TypeError, ValueError) as error:
        raise UsageError(f"{path}: what it says of neighbours is damaged") from error
    if ranks < 1 or any(not (0 <= rank < ranks) for edge in edges for rank in edge):
        raise UsageError(f"{path}: what it says of neighbours is damaged")
    return Graph(title, ranks, edges, found.get("layout"))


@contextmanager
def as_file(graph: Graph) -> Iterator[str]:
    """The edges as the tool reads them (src/tool/graph_input.h)."""
    numbers = array.array("I", (rank for edge in graph.edges for rank in edge))
    if sys.byteorder == "big":
        numbers.byteswap()
    with tempfile.NamedTemporaryFile(prefix="unisono-edges-") as file:
        file.write(f"unisono edges 1 {graph.ranks} {len(graph.edges)}\n".encode())
        file.write(numbers.tobytes())
        file.flush()
        yield file.name


def ask(question: Sequence[str], progress: Callable[[float, str], None]) -> dict[str, Any]:
    """What the tool says of a graph: what all methods have in common, and a list of `methods`."""
    answer: dict[str, Any] = {}
    for line in tool.ask_lines("graph", "--progress", *question):
        if "progress" in line:
            progress(line["progress"], line["method"])
        elif "out" in line:
            answer = {**line, "methods": []}
        else:
            answer["methods"].append(line)
    return answer


def best(answer: dict[str, Any], size: int = 0) -> dict[str, Any]:
    """The fastest method at one of the sizes; where two are equal, the simpler one."""
    methods: list[dict[str, Any]] = answer["methods"]
    return min(methods, key=lambda one: one["us"][size])
