# SPDX-License-Identifier: BSD-3-Clause
"""A job that measures, and the description of the machine that comes of it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from unisono.common import files, tool
from unisono.common.budget import Budget
from unisono.machine import catalogue, fit, values
from unisono.machine.costs import (
    CALLS,
    CHANNEL_BYTES,
    COPY_SIZES,
    LINK_SIZES,
    Question,
    measure,
    plan,
)
from unisono.machine.document import assemble
from unisono.machine.host import processor_name, usable_cores
from unisono.machine.predictions import predicted_us
from unisono.measuring.candidates import parse
from unisono.measuring.measurer import Measurer, Place

_COLLECTIVES = ("barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall")
_COLLECTIVE_SIZES = (8, 4 << 10, 256 << 10)
BY_SHARED_MEMORY = ("fused", "shared", "single_copy")
# As parts of switch_us: from a look for messages that costs nothing to several turns without one, or a look at sockets.
_MESSAGE_SWITCHES = (1.0, 1.15, 1.3, 1.5, 1.75, 2.0, 2.3, 2.65, 3.0, 3.5, 4.0)
# What the measuring program is told, and what the job needs for it.
PROGRAM_OPTIONS = ["--serve", "--sizes", str(max(*LINK_SIZES, *COPY_SIZES))]
SETTINGS = {"UNISONO_CHANNEL_BYTES": str(CHANNEL_BYTES)}


def cores_of(place: Place) -> int:
    """That the ranks of a node may use; of this machine no more than the control group allows."""
    cores = place.cores or usable_cores()
    return min(cores, usable_cores()) if place.nodes in (1, place.nodes_on_cores) else cores


def questions_for(place: Place) -> list[Question]:
    return plan(place, cores_of(place))


def describe(
    job: Measurer,
    base: Mapping[str, Any],
    budget_s: float,
    facts: Mapping[str, Any],
    on_question: Callable[[Question], None],
) -> dict[str, Any]:
    """The machine's file, without its name; what is not measured is as in `base`."""
    place = job.place
    costs = measure(job, questions_for(place), budget_s, on_question)
    all_facts = {
        "processor": processor_name(),
        "mpi": place.mpi,
        "layout": place.layout,
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
        "base": base["name"],
    }
    document = assemble(costs, place, cores_of(place), base, _channel_bytes(base), all_facts | dict(facts))
    document["note"] = f"measured with {place.mpi} on {processor_name()}, {place.layout}"
    document |= fit.calls(costs, _predicted_calls(document))
    calls = fit.message_calls(costs, place)
    switch = fit.message_switch(calls, _predicted_by_messages(document, place, list(calls)))
    if switch is not None:
        document["message_switch_us"] = switch
    else:
        document["measured"]["not_measured"].append("message_switch_us")
    return document


def _channel_bytes(base: Mapping[str, Any]) -> int:
    """The product's own, not what measuring needs."""
    return int(values.number(base["shared_memory"]["channel_bytes"]))


def _predicted_calls(document: Mapping[str, Any]) -> dict[tuple[str, int], tuple[float, float]]:
    """Microseconds, and steps of a rank, of the collectives that CALLS names between two ranks."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        file = catalogue.write(document, Path(folder) / "machine.json")
        for name, size in CALLS:
            words = ["--operation", name, "--layout", "1x2", "--bytes", str(size), "--machine", str(file)]
            answer = tool.ask("predict", *words, "--algorithm", "shared")
            [one] = answer["predictions"]
            if one["us"] is not None:
                found[name, size] = (float(one["us"]), one["steps"] / answer["ranks"])
    return found


def _predicted_by_messages(
    document: Mapping[str, Any], place: Place, asked: Sequence[tuple[str, str, int]]
) -> dict[float, dict[tuple[str, str, int], float]]:
    """Microseconds of these of MESSAGE_CALLS on the ranks that share cores, by each message_switch_us that is tried."""
    layout = f"1x{place.ranks_per_node[1]}" if place.nodes_on_cores == 1 else place.predicted_layout
    switch_us = values.number(document["switch_us"])
    found: dict[float, dict[tuple[str, str, int], float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for factor in _MESSAGE_SWITCHES if asked else ():
            tried = factor * switch_us
            file = catalogue.write({**document, "message_switch_us": tried}, Path(folder) / "machine.json")
            for call in asked:
                [us] = predicted_us(str(file), layout, call[0], call[2], [parse(call[1])])
                if us is not None:
                    found.setdefault(tried, {})[call] = us
    return found


def collectives(job: Measurer, budget: Budget) -> list[dict[str, Any]]:
    """5.3.1 (6): collectives by shared memory alone, which one node's jobs have."""
    if job.place.nodes > 1:
        return []
    found = []
    cells = [
        (name, size) for name in _COLLECTIVES for size in (_COLLECTIVE_SIZES if name != "barrier" else (0,))
    ]
    for number, (name, size) in enumerate(cells):
        if budget.is_spent:
            break
        share = max(0.01, budget.left_s / (len(cells) - number))
        tried = [way for way in BY_SHARED_MEMORY if name != "barrier" or way != "single_copy"]
        for candidate in job.compare(name, size, tried, share).candidates:
            if candidate.seconds is not None:
                us = values.rounded(candidate.seconds * values.US)
                found.append({"operation": name, "bytes": size, "algorithm": candidate.name, "us": us})
    return found


def read_base(name: str) -> dict[str, Any]:
    """The machine whose parameters stand for those that are not measured."""
    resolved = catalogue.resolve(name)
    known: dict[str, Any] = tool.ask("machine", "--machine", resolved)
    if not Path(resolved).is_file():
        return known
    kept: dict[str, Any] = files.read_json(Path(resolved), "is no machine's file")
    return {key: what for key, what in kept.items() if key not in ("measured", "findings")}
