# SPDX-License-Identifier: BSD-3-Clause
"""A simulated platform as a machine's file (docs/reference/machine-format.md), measured by messages inside SMPI."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import smpi
from platforms import Platform
from unisono.machine import measuring

SIZES = (0, 8, 256, 1024, 4096, 16384, 65535, 65536, 262144, 1048576, 4194304)
MANY = 256
MODELLED_FROM = 65536  # bytes from which Hockney's line is drawn


def pairs(ranks: int) -> list[tuple[int, int]]:
    """Ranks near each other and far apart, the same each time; fewer where many ranks wait meanwhile, which takes long."""
    distances = [1, *(max(2, round(ranks * share)) for share in (0.1, 0.23, 0.37, 0.5))]
    chosen = [(17 * i % ranks, (17 * i + distance) % ranks) for i, distance in enumerate(distances)]
    return [*chosen, (0, ranks - 1)] if ranks <= MANY else chosen[::2]


def measure(
    platform: Platform, on_answer: Callable[[dict[str, Any]], None] = lambda _: None
) -> dict[str, Any]:
    """The machine's file. Times are means over some pairs of ranks, of messages that have the network to themselves."""
    orders = [f"messages {a} {b} {size}" for size in SIZES for a, b in pairs(platform.ranks)]
    answers = smpi.run(platform, orders, on_answer=on_answer)
    means = {
        key: [float(np.mean([one[key] for one in answers if one["bytes"] == size])) for size in SIZES]
        for key in ("half", "os", "or", "gap")
    }
    return _document(platform, means)


def _curve(values: Sequence[float]) -> dict[str, Any]:
    return {"bytes": list(SIZES), "us": [round(value, 6) for value in values]}


def _document(platform: Platform, means: dict[str, list[float]]) -> dict[str, Any]:
    large = [i for i, size in enumerate(SIZES) if size >= MODELLED_FROM]
    slope, constant = np.polyfit([SIZES[i] for i in large], [means["half"][i] for i in large], 1)
    gap_slope = np.polyfit([SIZES[i] for i in large], [means["gap"][i] for i in large], 1)[0]
    empty = {key: values[0] for key, values in means.items()}
    link = {
        "hockney": {"alpha_us": max(0.0, float(constant)), "beta_us_per_byte": float(slope)},
        "loggp": {
            "L_us": empty["half"] - empty["os"] - empty["or"],
            "o_us": (empty["os"] + empty["or"]) / 2,
            "g_us": empty["gap"],
            "G_us_per_byte": float(gap_slope),
            "word_bytes": 8,
        },
        "plogp": {
            "L_us": max(0.0, empty["half"] - empty["gap"]),
            "os_us": _curve(means["os"]),
            "or_us": _curve(means["or"]),
            "g_us": _curve(means["gap"]),
            "whole_us": _curve(means["half"]),
        },
    }
    made = copy.deepcopy(dict(measuring.read_base("typical")))
    free = {"bytes": [0, 1 << 20], "us": [0, 0]}
    made |= {
        "name": platform.name,
        "note": f"messages inside SMPI on a {platform.kind} of {platform.ranks} nodes; what cores do takes no time there",
        "node": link,
        "network": link,
        "network_card": {"message_us": 0, "us_per_byte": 0},
        "cores_per_node": 1,
        "nodes_on_cores": 1,
        "call_us": 0,
        "step_us": 0,
    }
    made["shared_memory"] |= {"copy_us": free, "combine_us": free}
    for key in ("fresh_message_us", "overlap_penalty_us", "findings", "measured", "filled"):
        made.pop(key, None)
    return made
