#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The gain of a two-level broadcast over a flat one, predicted and measured side by side (G4), on 4 emulated nodes of 4 ranks (needs root).

    .venv/bin/python benchmarks/two_level_gain.py --mpi openmpi5 --seconds 0.5

Ranks are dealt out over the nodes in turn, so that the flat binomial tree crosses the network in each of its
steps. The other broadcast is the same tree over the ranks in the order of their nodes. The alpha and beta of
both levels (G1) are fitted to exchanges between two ranks of one node and of two nodes. Gains are predicted in two
ways. The source's formula knows no contention. In a run in virtual time the ranks of a node share its card.
Measured are medians of the longest rank; both broadcasts alternate in one run.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import side_by_side
from side_by_side import ROOT

# isort: split
import mpis
from harness import Cluster
from mpis import Layout, Mpi
from unisono.common import files, printing, tool, units
from unisono.measuring import bench

KIB, MIB = 1 << 10, 1 << 20
FITTED_SIZES = (16 * KIB, 64 * KIB, 256 * KIB, MIB)
SIZES = (16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB)
NODES, LOCALS = 4, 4
FLAT, TWO_LEVEL = "bcast:binomial", "bcast:renumbered_binomial"


def sizes(all_of_them: tuple[int, ...], arguments: argparse.Namespace) -> tuple[int, ...]:
    return tuple(size for size in all_of_them if size <= arguments.largest)


def cells(
    arguments: argparse.Namespace,
    mpi: Mpi,
    cluster: Cluster,
    layout: Layout,
    operation: str,
    sizes: tuple[int, ...],
    candidates: list[str],
) -> list[bench.Cell]:
    options = [
        "--operations",
        operation,
        "--sizes",
        ",".join(map(str, sizes)),
        "--candidates",
        ";".join(candidates),
    ]
    options += ["--finalists", str(len(candidates)), "--samples", "60", "--seconds", str(arguments.seconds)]
    words = side_by_side.words(mpi, layout.ranks, options, layout)
    found, status = side_by_side.measure(mpi, words, arguments.timeout, lambda _: None, cluster)
    if status != 0 or not found:
        raise SystemExit(f"{operation} on {layout}: the benchmark ended with status {status}")
    return found


def alpha_and_beta(found: list[bench.Cell]) -> tuple[float, float]:
    """Least squares of relative errors: alpha in microseconds, beta per byte. Of two ranks that exchange a block each sends one message."""
    sizes = np.array([cell.bytes for cell in found], dtype=float)
    times = np.array([cell.candidates[0].seconds for cell in found], dtype=float) * 1e6
    system = np.column_stack([1 / times, sizes / times])
    (alpha, beta), *_ = np.linalg.lstsq(system, np.ones(len(times)), rcond=None)
    return max(0.0, float(alpha)), max(0.0, float(beta))


def machine_with(node: tuple[float, float], network: tuple[float, float]) -> dict[str, Any]:
    machine: dict[str, Any] = tool.ask("machine", "--machine", "ethernet")
    machine["name"] = "emulated"
    for level, (alpha, beta) in (("node", node), ("network", network)):
        machine[level]["hockney"] = {"alpha_us": alpha, "beta_us_per_byte": beta}
    machine["network_card"] = {"message_us": 0, "us_per_byte": network[1]}
    return machine


def by_formula(node: tuple[float, float], network: tuple[float, float], size: int) -> tuple[float, float]:
    """Flat and two-level in microseconds: log2(p) steps over the network, or log2 of the nodes, then of a node's ranks."""
    message = [alpha + beta * size for alpha, beta in (network, node)]
    flat = math.ceil(math.log2(NODES * LOCALS)) * message[0]
    return flat, math.ceil(math.log2(NODES)) * message[0] + math.ceil(math.log2(LOCALS)) * message[1]


def in_virtual_time(machine: Path, size: int) -> tuple[float, float]:
    names = [name.removeprefix("bcast:") for name in (FLAT, TWO_LEVEL)]
    asked = [word for name in names for word in ("--algorithm", name)]
    question = ["--operation", "bcast", "--layout", f"{NODES}x{LOCALS}/cyclic", "--bytes", str(size)]
    answer = tool.ask("predict", *question, "--machine", str(machine), "--model", "hockney", *asked)
    times = {one["algorithm"]: float(one["us"]) for one in answer["predictions"]}
    return times[names[0]], times[names[1]]


def gain(flat: float, two_level: float) -> float:
    return 1 - two_level / flat


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    mpi = mpis.BY_NAME[arguments.mpi]
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster(Path(folder) / "cluster", NODES, rate=arguments.rate)
        try:
            exchange = ["allgather:recursive_doubling"]
            pairs = (Layout((2,)), Layout((1, 1)))
            node, network = (
                alpha_and_beta(
                    cells(
                        arguments, mpi, cluster, pair, "allgather", sizes(FITTED_SIZES, arguments), exchange
                    )
                )
                for pair in pairs
            )
            layout = Layout((LOCALS,) * NODES, cyclic=True)
            found = cells(
                arguments, mpi, cluster, layout, "bcast", sizes(SIZES, arguments), [FLAT, TWO_LEVEL]
            )
        finally:
            cluster.down()
        machine = Path(folder) / "machine.json"
        files.write_whole(machine, json.dumps(machine_with(node, network)))
        rows = []
        for cell in found:
            seconds = {
                candidate.name.removeprefix("bcast:"): candidate.seconds for candidate in cell.candidates
            }
            measured = [float(seconds[name.removeprefix("bcast:")] or 0) * 1e6 for name in (FLAT, TWO_LEVEL)]
            pairs_of_times = {
                "formula": by_formula(node, network, cell.bytes),
                "virtual_time": in_virtual_time(machine, cell.bytes),
                "measured": (measured[0], measured[1]),
            }
            rows.append(
                {"bytes": cell.bytes}
                | {
                    name: {"flat_us": flat, "two_level_us": two_level, "gain": gain(flat, two_level)}
                    for name, (flat, two_level) in pairs_of_times.items()
                }
            )
    return {
        "mpi": mpi.name,
        "rate": arguments.rate,
        "node": {"alpha_us": node[0], "beta_us_per_byte": node[1]},
        "network": {"alpha_us": network[0], "beta_us_per_byte": network[1]},
        "rows": rows,
    }


def print_table(outcome: dict[str, Any]) -> None:
    columns = ("by formula", "in virtual time", "measured", "flat", "two-level")
    table = printing.table(
        "Gain of the two-level broadcast over the flat one", "bytes", *columns, right=("bytes", *columns)
    )
    for row in outcome["rows"]:
        times = [units.seconds_text(row["measured"][kind] * 1e-6) for kind in ("flat_us", "two_level_us")]
        gains = [f"{row[name]['gain']:.0%}" for name in ("formula", "virtual_time", "measured")]
        table.add_row(units.bytes_text(row["bytes"]), *gains, *times)
    printing.console().print(table)
    for level in ("node", "network"):
        alpha, beta = outcome[level]["alpha_us"], outcome[level]["beta_us_per_byte"]
        print(f"{level}: alpha {alpha:.1f} us, beta {beta * 1000:.2f} ns per byte")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mpi", default="openmpi5", choices=[mpi.name for mpi in mpis.ALL])
    parser.add_argument("--rate", default="1gbit", help="of each node's link (default 1gbit)")
    parser.add_argument("--seconds", type=float, default=0.5, help="most time for a cell (default 0.5)")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="the longest in bytes (default 4 MiB)")
    parser.add_argument("--timeout", type=float, default=100, help="most seconds for a job (default 100)")
    parser.add_argument(
        "--output", type=Path, default=ROOT / "reports/two_level_gain.json", help="the figures"
    )
    arguments = parser.parse_args()
    outcome = measure(arguments)
    print_table(outcome)
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    files.write_whole(arguments.output, json.dumps(outcome, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
