# SPDX-License-Identifier: BSD-3-Clause
"""What the source asks of a machine beside the models' parameters (sections 5.3.1 to 5.3.3). Where does
bandwidth count? Which segments, overlaps and buffers are worth a test? How had ranks better wait?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from unisono.machine.costs import (
    BUFFER_COUNTS,
    PIECE_SIZES,
    SEGMENT_SIZES,
    SLOT_SIZES,
    WAITS,
    Costs,
    Question,
)
from unisono.machine.values import Document, at, curve, value

_EFFICIENT = 2.0  # a segment costs at most so many times its share of an endless one ...
_SATURATED = 1.1  # ... and beyond this nothing is gained


def switch_point(of: Mapping[str, Any]) -> int:
    """5.3.2 (2): the bytes from which on a message is bound by bandwidth: it takes longer than all else (Hockney's n 1/2)."""
    alpha, beta = (of["hockney"][key]["value"] for key in ("alpha_us", "beta_us_per_byte"))
    return round(alpha / beta) if beta > 0 else 0


def segment_range(of: Mapping[str, Any]) -> tuple[int, int]:
    """5.3.2 (4): the powers of two between which a segment is neither too dear nor longer than it need be."""
    gap, per_byte = of["plogp"]["g_us"], of["loggp"]["G_us_per_byte"]["value"]
    sizes = [1 << k for k in range(10, 23)]
    dear = [at(gap, size) / (size * per_byte) if per_byte > 0 else 1.0 for size in sizes]
    first = next((s for s, d in zip(sizes, dear, strict=True) if d <= _EFFICIENT), sizes[-1])
    last = next((s for s, d in zip(sizes, dear, strict=True) if s >= first and d <= _SATURATED), sizes[-1])
    return first, last


def overlap_ranges(machine: Mapping[str, Any]) -> list[Document]:
    """5.3.3 (2): for each segment in range, the most of it that is copied in the time that its wire leaves.
    Filter 1 looks at shares from a quarter on; a segment where not even that fits is not worth a test."""
    first, last = segment_range(machine["network"])
    found, segment = [], first
    while segment <= last:
        wire = at(machine["network"]["plogp"]["g_us"], segment)
        copied = [
            share
            for share in (1.0, 0.5, 0.25)
            if at(machine["shared_memory"]["put_us"], share * segment)
            + at(machine["overlap_penalty_us"], share * segment)
            <= wire
        ]
        if copied:
            found.append({"segment": segment, "overlap": [segment // 4, int(copied[0] * segment)]})
        segment *= 2
    return found


def buffers(costs: Costs) -> list[Document]:
    """5.3.1 (3), (4): bytes a second through so many buffers of one size, with the best piece and number first."""
    found = []
    for piece in PIECE_SIZES:
        for count in BUFFER_COUNTS:
            estimate = costs.estimate(Question("pipeline", "pair", piece, count))
            if estimate is not None:
                found.append({"piece_bytes": piece, "buffers": count, "us": value(estimate)})
    return sorted(found, key=lambda one: one["us"]["value"] / one["piece_bytes"])


def operations(costs: Costs) -> Document:
    """5.3.1 (5): the seven operations (section 2.4), by the source's names."""
    ways: dict[str, tuple[str, str, Sequence[int]]] = {
        "sender_put": ("put", "pair", SLOT_SIZES),
        "receiver_get": ("get", "pair", SLOT_SIZES),
        "pair_sync": ("pair_sync", "pair", (0,)),
        "group_get": ("get", "node", SEGMENT_SIZES),
        "group_seg_get": ("group_seg_get", "node", SEGMENT_SIZES),
        "group_seg_put": ("group_seg_put", "node", SEGMENT_SIZES),
    }
    made = {
        name: curve(costs, [Question(what, group, size) for size in sizes])
        for name, (what, group, sizes) in ways.items()
    }
    usual = min(waits(costs).items(), key=lambda item: item[1]["value"], default=None)
    if usual is not None:
        made["group_sync"] = {"bytes": [0], "us": [usual[1]["value"]]} | {
            name: [usual[1][name]] for name in ("low", "high")
        }
    return {name: points for name, points in made.items() if points is not None}


def waits(costs: Costs) -> Document:
    """2.5.1, A3: what a synchronisation of the node takes in each way to wait, microseconds."""
    found = {wait: costs.estimate(Question("group_sync", "node", wait=wait)) for wait in WAITS}
    return {wait: value(estimate) for wait, estimate in found.items() if estimate is not None}


def findings(
    costs: Costs, made: Mapping[str, Any], inside: Document | None, between: Document | None
) -> Document:
    found: Document = {"operations": operations(costs), "waits_us": waits(costs), "buffers": buffers(costs)}
    for level, one in (("node", inside), ("network", between)):
        if one is not None:
            found[f"{level}_switch_point_bytes"] = switch_point(one)
            found[f"{level}_segment_bytes"] = list(segment_range(one))
    if between is not None:
        found["overlap"] = overlap_ranges(made)
    return found
