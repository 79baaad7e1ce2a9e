#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Predicts how much faster combined messages are than one for each edge, on graphs of published studies.
These are Moore neighbourhoods, random graphs, and such of the size of sparse matrices. Prints tables for pages.

  .venv/bin/python benchmarks/neighbor_model.py ['--moore 2,1 --ranks 64 --ppn 16'...]      [default: all]
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

SIZES = "8,512,4K,64K"
# What is asked, and what is looked at beside 'linear'.
ALLGATHERS = (
    ("--moore 2,1 --ranks 4096 --ppn 40", "bundles,once"),
    ("--moore 2,2 --ranks 4096 --ppn 40", "bundles,once"),
    ("--moore 2,3 --ranks 4096 --ppn 40", "bundles,once"),
    ("--moore 2,4 --ranks 4096 --ppn 40", "bundles,once"),
    ("--moore 3,1 --ranks 4096 --ppn 40", "bundles,once"),
    ("--moore 3,2 --ranks 4096 --ppn 40", "bundles,once"),
    ("--moore 4,1 --ranks 4096 --ppn 40", "bundles,once"),
    ("--random 1024,0.05 --ppn 32", "bundles,once"),
    ("--random 1024,0.2 --ppn 32", "bundles,once"),
    ("--random 1024,0.4 --ppn 32", "bundles,once"),
    ("--random 1024,0.8 --ppn 32", "bundles,once"),
    ("--random 124,0.78 --layout 4x31", "bundles,once"),
    ("--random 292,0.026 --ppn 32", "bundles,once"),
    ("--random 1024,0.2 --ppn 4", "bundles,mesh(lengths=16x16)"),
    ("--moore 2,4 --ranks 1024 --ppn 1", "mesh(of=ranks,lengths=32x32)"),
    ("--moore 3,1 --ranks 1000 --ppn 1", "mesh(of=ranks,lengths=10x10x10)"),
    ("--random 1024,0.4 --ppn 1", "mesh(of=ranks,lengths=11x10x10),mesh(of=ranks,lengths=2)"),
    ("--random 4096,0.4 --ppn 32", "bundles,once"),
)
ALLTOALLS = (
    "--moore 2,4 --ranks 4096 --ppn 40",
    "--moore 4,1 --ranks 4096 --ppn 40",
    "--random 1024,0.2 --ppn 32",
    "--random 1024,0.8 --ppn 32",
)


def ask(question: str, methods: str, *more: str) -> dict[str, Any]:
    words = [sys.executable, "-m", "unisono", "graph", *question.split(), "--methods", f"linear,{methods}"]
    result = subprocess.run([*words, "--json", *more], capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(result.stdout)
    return answer


def speedups(answer: dict[str, Any]) -> list[list[str]]:
    """Of each method but the first: its name, then how many times as fast it is at each size."""
    linear, *others = answer["methods"]
    return [
        [
            other["method"],
            *(f"{before / us:.2f}" for before, us in zip(linear["us"], other["us"], strict=True)),
        ]
        for other in others
    ]


def row(*cells: str) -> None:
    print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    heads = ["graph", "method", "8 B", "512 B", "4 KiB", "64 KiB"]
    row(
        *heads,
        "messages between nodes / least",
        "blocks into a node / least",
        "set-up of a node",
        "pays after",
    )
    row(*["---"] * 2, *["---:"] * 8)
    asked = [(question, "bundles,once") for question in sys.argv[1:]]
    for question, methods in asked or ALLGATHERS:
        answer = ask(question, methods, "--size", SIZES)
        least = answer["bounds"]
        for cells, method in zip(speedups(answer), answer["methods"][1:], strict=True):
            calls = method["break_even_calls"][0]
            row(
                f"`{question}`",
                f"`{cells[0]}`",
                *cells[1:],
                f"{method['all_messages_between']:,} / {least['node_pairs']:,}",
                f"{method['blocks_into_node']['mean']:.0f} / {least['blocks_into_node']['mean']:.0f}",
                f"{method['setup_us'] / 1000:.2f} ms",
                "never" if calls is None else f"{calls:.0f} calls",
            )
    print()
    row("graph", "method", "8 B", "64 B", "512 B")
    row(*["---"] * 2, *["---:"] * 3)
    for question in sys.argv[1:] or ALLTOALLS:
        answer = ask(question, "bundles", "--operation", "neighbor_alltoall", "--size", "8,64,512")
        for cells in speedups(answer):
            row(f"`{question}`", f"`{cells[0]}`", *cells[1:])


if __name__ == "__main__":
    main()
