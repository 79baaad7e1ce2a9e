#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts groups of ranks with common neighbours, and messages after combining, on the graphs that they were published with.
These are Moore neighbourhoods of 4096 ranks, 40 a node, and random graphs of 1024 ranks, 32 a node. Prints tables.

  .venv/bin/python benchmarks/neighbor_groups.py [GRAPH...]      moore:2,4, random:0.4, ...  [default: all]
"""

from __future__ import annotations

import sys
from typing import Any

from unisono.common import tool

MOORE = ("moore:2,1", "moore:2,2", "moore:2,3", "moore:2,4", "moore:3,1", "moore:4,1")
RANDOM = ("random:0.05", "random:0.2", "random:0.4", "random:0.6", "random:0.8")
# A first program's, with its own random graphs: groups for each k inside nodes, then of any ranks.
EARLIER = {
    "moore:2,1": ("3.8", "8"),
    "moore:2,2": ("7.5", "68"),
    "moore:2,3": ("10.9, 69.4, 0, 0", "156, 5492, 0, 0"),
    "moore:2,4": ("14.2, -, 12.2, 0", "276, -, 0, 0"),
    "moore:3,1": ("11.7", "92"),
    "moore:4,1": ("18.0, -, 3.6, 0", "544, -, 0, 0"),
    "random:0.05": ("14.5, 0, 0, 0", ""),
    "random:0.2": ("31, 448, 112.7, 0", ""),
    "random:0.4": ("31, 465, 4495, 22733", ""),
    "random:0.6": ("31, 465, 4495, 169911", ""),
    "random:0.8": ("31, 465, 4495, 169911", ""),
}
EARLIER_MESSAGES = {
    "moore:2,1": "8; 7.0, 8, 7.0, 7.0",
    "moore:2,2": "24; 16.1, 18.7, 15.0, 11.2",
    "moore:2,3": "48; 29.3, 33.3, 25.9, 16.1",
    "moore:2,4": "80; 46.4, 38.8, 36.2, 20.6",
    "moore:3,1": "26; 17.4, 23.3, 17.4, 12.4",
    "moore:4,1": "80; 47.5, 51.4, 42.8, 23.7",
    "random:0.2": "205; 131, 197, 131, 61.6",
    "random:0.4": "409; 234, 291, 234, 61.8",
    "random:0.6": "614; 336, 346, 301, 61.5",
}


def ask(graph: str, methods: list[str], *more: str) -> list[dict[str, Any]]:
    """One line for each method, `linear` first."""
    ranks, per_node = ("4096", "40") if graph in MOORE else ("1024", "32")
    words = [
        "graph",
        "--graph",
        graph,
        "--ranks",
        ranks,
        "--ppn",
        per_node,
        "--most-steps",
        str(1 << 34),
        *more,
    ]
    words += [word for name in methods for word in ("--method", name)]
    return [line for line in tool.ask_lines(*words) if "messages" in line]


def number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 or value == int(value) else f"{value:.1f}"


def hyperedges(graph: str) -> list[str]:
    sizes = (2, 4, 8, 16) if graph in MOORE else (2, 3, 4, 6)
    cells = []
    for scope in ("node", "all") if graph in MOORE else ("node",):
        lines = ask(graph, [f"count(k={size},scope={scope})" for size in sizes])
        cells.append(", ".join(number(line["hyperedges"]) for line in lines[1:]))
    return [*cells, *([""] if len(cells) == 1 else [])]


def main() -> None:
    graphs = sys.argv[1:] or [*MOORE, *RANDOM]
    print("| graph | inside a node | earlier | any ranks | earlier |\n| --- | --- | --- | --- | --- |")
    for graph in graphs:
        inside, anywhere = hyperedges(graph)
        earlier = EARLIER.get(graph, ("", ""))
        print(f"| {graph} | {inside} | {earlier[0]} | {anywhere} | {earlier[1]} |", flush=True)
    print("\n| graph | native; k=2, k=4, grown, cumulative | earlier | between nodes | most of a rank |")
    print("| --- | --- | --- | --- | --- |")
    for graph in graphs:
        lines = ask(graph, ["friends(k=2)", "friends(k=4)", "grown", "cumulative"])
        texts = []
        for name, field in (("messages", "mean"), ("messages_between", "mean"), ("messages", "most")):
            first, *others = (number(line[name][field]) for line in lines)
            texts.append(f"{first}; {', '.join(others)}")
        print(
            f"| {graph} | {texts[0]} | {EARLIER_MESSAGES.get(graph, '')} | {texts[1]} | {texts[2]} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
