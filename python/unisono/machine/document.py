# SPDX-License-Identifier: BSD-3-Clause
"""A machine's file, put together of what was measured and of a base machine where nothing was."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from unisono.machine.costs import Costs, Question
from unisono.machine.findings import findings
from unisono.machine.fit import (
    fresh_messages,
    link,
    network_card,
    overlap_penalty,
    serial_reductions,
    shared_memory,
)
from unisono.machine.values import Document, number, rounded, value
from unisono.measuring.measurer import Place


def assemble(
    costs: Costs,
    place: Place,
    cores: int,
    base: Mapping[str, Any],
    channel_bytes: int,
    facts: Mapping[str, Any],
) -> Document:
    """The file: what was measured in place of what the base machine has. `facts` go to `measured`."""
    made: Document = copy.deepcopy(dict(base))
    taken = []
    inside, between, card = link(costs, "pair"), link(costs, "net"), network_card(costs, place)
    penalty, fresh = overlap_penalty(costs), fresh_messages(costs)
    for key, found in (
        ("node", inside),
        ("network", between),
        ("network_card", card),
        ("overlap_penalty_us", penalty),
        ("fresh_message_us", fresh),
    ):
        if found is not None:
            made[key] = found
        elif key in made:
            taken.append(key)
    if between is not None and card is None:
        # One rank a node has the card for itself.
        made["network_card"] = {"message_us": 0, "us_per_byte": between["loggp"]["G_us_per_byte"]}
        taken.remove("network_card")
    made["cores_per_node"], made["nodes_on_cores"] = cores, place.nodes_on_cores
    made.pop("call_us", None)
    made.pop("step_us", None)
    switched = costs.estimate(Question("switch", "pair"), "switch")
    ratio = number(made.get("message_switch_us", made["switch_us"])) / number(made["switch_us"])
    if switched is not None:
        made["switch_us"] = value(switched)
    else:
        taken.append("switch_us")
    # As in the base machine, until it is known by message_switch().
    made["message_switch_us"] = rounded(ratio * number(made["switch_us"]))
    serial = serial_reductions(costs)
    made.pop("serial_reductions", None)  # of another machine they would be wrong
    if serial:
        made["serial_reductions"] = serial
    shared = shared_memory(costs, place, channel_bytes)
    taken += [f"shared_memory.{key}" for key in made["shared_memory"] if key not in shared]
    made["shared_memory"] |= shared
    made["measured"] = dict(facts) | {
        "samples": costs.count,
        "is_steady": costs.is_steady,
        "not_measured": taken,
    }
    # What the base machine's file left out is said of what was not measured.
    left = [part for part in made.pop("filled", ()) if part.split(".")[0] in taken]
    if left:
        made["filled"] = left
    made["findings"] = findings(costs, made, inside, between)
    return made
