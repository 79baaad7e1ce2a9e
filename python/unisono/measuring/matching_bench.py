# SPDX-License-Identifier: BSD-3-Clause
"""Matching between real ranks: the source's micro-benchmarks (M5, section 6.3), the MPI's own functions and Unisono's in turns.

What an element of the MPI's queues takes comes of them, and is kept for `unisono match report`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from statistics import median
from typing import Any

from unisono.common import files, own_folder, places
from unisono.common.errors import UnisonoError, UsageError
from unisono.launch.process import started
from unisono.measuring import bench
from unisono.measuring.measurer import mpi_name

PROGRAM = "matching.c"
_KEPT = "matching-costs.json"
_LEAST_DEPTH = 1024  # of the queue that tells an element's cost: what else a match takes is little beside it


@dataclass(frozen=True)
class Cell:
    """One way to fill a queue and to empty it. `any_source` is percent of the receives; times are medians, in ns a message."""

    queue: str
    order: str
    any_source: int
    depth: int
    senders: int
    native_ns: float
    unisono_ns: float

    @property
    def speedup(self) -> float:
        return self.native_ns / self.unisono_ns


@dataclass(frozen=True)
class Asked:
    queues: Sequence[str]
    orders: Sequence[str]
    wild: Sequence[int]
    depths: Sequence[int]
    apart: int
    rounds: int

    def words(self) -> list[str]:
        cells = [
            f"{queue[0]}:{order[0]}:{wild}:{depth}"
            for queue in self.queues
            for order in self.orders
            for wild in self.wild
            for depth in self.depths
        ]
        return [str(self.rounds), str(self.apart), *cells]


def command_line(
    launcher: Sequence[str], settings: Mapping[str, str], asked: Asked, mpicc: Path | None
) -> list[str]:
    return bench.command_line(
        launcher, {"UNISONO_MESSAGES": "node", **settings}, asked.words(), mpicc, PROGRAM
    )


def measure(command: Sequence[str], on_cell: Callable[[Cell], None]) -> tuple[str, list[Cell], int]:
    """The MPI's name, the cells, and the job's exit status."""
    name = ""
    cells: list[Cell] = []
    with started(command) as job:
        assert job.stdout is not None
        for line in job.stdout:
            if not line.startswith("{"):
                continue
            said = json.loads(line)
            if said.get("ranks") == 1:
                raise UsageError(
                    "messages are matched between ranks, and this launcher starts 1: it takes 2 at least, as in "
                    "`unisono match bench -- mpirun -n 2`. Where it was to start more, it is not the launcher of mpicc's MPI"
                )
            if "library" in said:
                name = mpi_name(said["library"])
                continue
            cells.append(_cell(said))
            on_cell(cells[-1])
    return name, cells, job.returncode


def _cell(said: Mapping[str, Any]) -> Cell:
    native, own = (1e9 * median(said[way]) for way in ("native_s", "unisono_s"))
    return Cell(said["queue"], said["order"], said["any_source"], said["depth"], said["senders"], native, own)


def element_ns(cells: Iterable[Cell]) -> dict[str, float]:
    """What the MPI takes to look at an element of each queue, by queue: of one from one sender that is emptied in reverse each match
    looks at half. A queue that was nowhere deep enough is left out."""
    found: dict[str, float] = {}
    for cell in cells:
        is_one_senders = cell.order == "reverse" and cell.any_source == 0 and cell.senders == 1
        if is_one_senders and cell.depth >= _LEAST_DEPTH:
            ns = cell.native_ns / ((cell.depth + 1) / 2)
            found[cell.queue] = min(ns, found.get(cell.queue, ns))
    return found


def _file() -> Path:
    return places.cache() / _KEPT


def kept_costs() -> dict[str, Any]:
    """By the MPI's name: ns for an element of each queue, and when that was measured."""
    path = _file()
    if not path.is_file() or not own_folder.is_own(path):
        return {}
    try:
        known: dict[str, Any] = files.read_json(path, "holds no costs of matching")
    except UnisonoError:
        return {}
    return known


def keep_cost(mpi: str, ns: Mapping[str, float]) -> None:
    """For later reports. Of a queue that was not measured now, what was known before stays."""
    own_folder.make(places.cache())
    date = datetime.now(timezone.utc).strftime("%Y-%m-%d")
    costs = kept_costs()
    before = costs.get(mpi)
    queues = before["ns"] if isinstance(before, dict) and isinstance(before.get("ns"), dict) else {}
    known = costs | {mpi: {"ns": queues | {queue: round(one, 3) for queue, one in ns.items()}, "date": date}}
    files.write_whole(_file(), json.dumps(known, indent=1, sort_keys=True) + "\n")
