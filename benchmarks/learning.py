#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What learning while a program runs finds, and what it costs (S7, S8, the source's tables 1 and 7), by one command:

    .venv/bin/python benchmarks/learning.py [--mpi openmpi5] [--ranks 2] [--nodes 2x4] [--runs 3]

The same program runs natively, with the rules' decisions and with each way of learning, in turns; figures are medians over the
runs. `trials`: calls in which candidates were measured. `loss`: by how much longer these took than with the best candidate.
`bookkeeping` and `monitoring`: agreeing, aligning and keeping times, as a share of the time in calls, while candidates were
measured and afterwards.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/integration")]

import job  # noqa: E402
import mpis  # noqa: E402
from harness import COMPILED, SHIM  # noqa: E402
from unisono import tables  # noqa: E402

SOURCE = ROOT / "benchmarks/learning.c"
MODES: dict[str, dict[str, str]] = {
    "native": {"UNISONO_ENABLE": "0"},
    "off": {"UNISONO_LEARN": "off"},
    "auto": {"UNISONO_LEARN": "auto"},
    "star": {"UNISONO_LEARN": "star"},
    "star, groups": {"UNISONO_LEARN": "star", "UNISONO_LEARN_GROUPS": "1"},
}
CELLS = [
    (operation, size, calls)
    for operation in ("allreduce", "alltoall", "allgather", "bcast")
    for size, calls in ((8, 100_000), (16 << 10, 20_000), (256 << 10, 4_000))
]


def compiled(mpi: mpis.Mpi) -> Path:
    target = COMPILED / mpi.name / "benchmark-learning"
    target.parent.mkdir(parents=True, exist_ok=True)
    command = [mpi.compilers["c"], "-O2", SOURCE, "-o", target, *mpi.link_flags]
    job.run(command, mpis.launcher_environment(mpi), timeout=120).check()
    return target


def run(
    mpi: mpis.Mpi, mode: str, cell: tuple[str, int, int], arguments: argparse.Namespace
) -> dict[str, Any]:
    """One job: its times, and what its report has of learning."""
    operation, size, calls = cell
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.json"
        environment = {"UNISONO_CACHE": "", "UNISONO_REPORT": str(report), **MODES[mode]}
        if arguments.nodes:
            environment["UNISONO_NODES"] = arguments.nodes
        program = [SHIM, compiled(mpi), operation, str(size), str(calls // arguments.divide)]
        line = mpi.launch(arguments.ranks, program, environment)
        result = job.run(line, mpis.launcher_environment(mpi), timeout=arguments.timeout).check()
        times = json.loads(result.output.strip().splitlines()[-1])
        learned = json.loads(report.read_text())["learning"] if report.exists() else []
    rows = [row for row in learned if row["operation"] == operation and row["bytes_high"] >= size]
    return {**times, "learned": max(rows, key=lambda row: row["calls"]) if rows else None}


def costs(runs: list[dict[str, Any]]) -> list[str]:
    """Chosen algorithm, trials, loss and overheads, as text."""
    rows = [one["learned"] for one in runs if one["learned"]]
    if not rows:
        return ["", "", "", "", ""]
    trials = [sum(candidate["measured_calls"] for candidate in row["candidates"]) for row in rows]

    def median(name: str) -> float:
        return statistics.median(row[name] for row in rows)

    seconds = statistics.median(one["all_s"] for one in runs)
    return [
        statistics.mode(row["chosen"] for row in rows),
        f"{statistics.median(trials):.0f}",
        tables.seconds_text(median("trial_loss_s")),
        f"{median('measuring_overhead_s') / seconds:.2%}",
        f"{median('monitoring_overhead_s') / seconds:.2%}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mpi", default="openmpi5", choices=[mpi.name for mpi in mpis.ALL])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--nodes", default="", help="pretended nodes, as in UNISONO_NODES")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--divide", type=int, default=1, help="make so many times fewer calls")
    parser.add_argument(
        "--cells", default="", help="only operations, or OPERATION:BYTES, separated by commas"
    )
    parser.add_argument("--timeout", type=float, default=120)
    arguments = parser.parse_args()
    mpi = mpis.BY_NAME[arguments.mpi]
    wanted = [word for word in arguments.cells.split(",") if word]
    print(
        "| calls | mode | per call at the end | all, of native | chosen | trials | loss | bookkeeping | monitoring |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for cell in CELLS:
        operation, size, calls = cell
        if wanted and operation not in wanted and f"{operation}:{size}" not in wanted:
            continue
        runs: dict[str, list[dict[str, Any]]] = {mode: [] for mode in MODES}
        for _ in range(arguments.runs):
            for mode in MODES:
                runs[mode].append(run(mpi, mode, cell, arguments))
        native_s = statistics.median(one["all_s"] for one in runs["native"])
        made = calls // arguments.divide
        for mode, of_mode in runs.items():
            last_s = statistics.median(one["last_s"] for one in of_mode) / (made // 4)
            share = statistics.median(one["all_s"] for one in of_mode) / native_s
            words = [
                f"{made} {operation} of {tables.bytes_text(size)}",
                mode,
                tables.seconds_text(last_s),
                f"{share:.2f}",
            ]
            print("| " + " | ".join([*words, *costs(of_mode)]) + " |", flush=True)


if __name__ == "__main__":
    main()
