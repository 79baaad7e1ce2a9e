# SPDX-License-Identifier: BSD-3-Clause
"""Values of UNISONO_ALGORITHM that together force each algorithm of the registry once."""

from __future__ import annotations

from collections.abc import Iterable

from harness import registry


def forced_choices(levels: Iterable[int] = (1, 2)) -> list[str]:
    """Return as many values as the richest operation has algorithms of these levels; each forces one of every operation.

    Algorithms with segments are cut into small ones, so that pieces, slots and windows are all in use. Where
    two levels overlap, they do so once as they do by themselves, and once in part.
    """
    by_operation: dict[str, list[str]] = {}
    for entry in registry():
        if entry["levels"] not in levels:
            continue
        name = f"{entry['operation']}:{entry['name']}"
        parameters = {parameter["name"] for parameter in entry["parameters"]}
        choices = by_operation.setdefault(entry["operation"], [])
        choices.append(name + ("(segment=4K)" if "segment" in parameters else ""))
        if "overlap" in parameters:
            choices.append(name + "(segment=4K,overlap=1K)")
    rounds = max(map(len, by_operation.values()), default=0)
    return [
        ",".join(choices[turn] for choices in by_operation.values() if turn < len(choices))
        for turn in range(rounds)
    ]
