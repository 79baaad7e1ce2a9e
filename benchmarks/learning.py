#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What learning while a program runs finds, and what it costs (S7, S8, the source's tables 1 and 7), by one command:

    .venv/bin/python benchmarks/learning.py [--mpi openmpi5] [--ranks 2] [--nodes 2x4] [--runs 5] [--modes auto,star]

A program makes the same calls again and again, in turns under Unisono and without it.
- `all, of native`: all calls under Unisono against as many of the MPI's own. Trials and whatever else
  learning costs are included. It is the median over the runs, with its 95 % interval (bootstrap over the
  runs).
- `slower` marks where the whole interval is above 1.02.
- `trials`: calls in which candidates were measured.
- `loss`: by how much longer these took than with the best candidate.
- `bookkeeping` and `monitoring`: agreeing, aligning and keeping times, as a share of the time in calls, while
  candidates were measured and afterwards.

The way `left` leaves all calls to the MPI, which tells what standing before it costs. The way `chosen`, behind `star`, makes
all calls by what the run of `star` before it has chosen at its end, without learning: that is STAR' (S10, table 5).
`--computing 5` is the loop of the source's figure 4: each call is followed by computing, so many times as long as a call of the
MPI's own. The time of the calls alone counts then, and so do ranks that come late.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from side_by_side import CALLS_BY_NAME, compiled

# isort: split
import job
import mpis
from harness import SHIM
from lists import AddUp
from unisono.common import units

MODES: dict[str, dict[str, str]] = {
    "left": {"UNISONO_LEARN": "off", "UNISONO_ALGORITHM": "all:native"},
    "off": {"UNISONO_LEARN": "off"},
    "auto": {"UNISONO_LEARN": "auto"},
    "star": {"UNISONO_LEARN": "star"},
    "chosen": {"UNISONO_LEARN": "off"},
    "groups": {"UNISONO_LEARN": "star", "UNISONO_LEARN_GROUPS": "1"},
    "pruned": {"UNISONO_LEARN": "star", "UNISONO_LEARN_GROUPS": "1", "UNISONO_LEARN_PRUNE": "25"},
}
OPERATIONS = ("allreduce", "alltoall", "allgather", "bcast")
SIZES = ((8, 100_000), (16 << 10, 20_000), (256 << 10, 4_000))
TURNS = 50
TOLERATED = 1.02
RESAMPLINGS = 2000


def run(
    mpi: mpis.Mpi, mode: str, cell: tuple[str, int, int], arguments: argparse.Namespace, chosen: str = ""
) -> dict[str, Any]:
    """One job: its times, and what its report has of learning. `chosen`: the algorithm of all calls."""
    operation, size, calls = cell
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.json"
        environment = {"UNISONO_CACHE": "", "UNISONO_REPORT": str(report), **MODES[mode]}
        if chosen:
            environment["UNISONO_ALGORITHM"] = f"{operation}:{chosen}"
        if arguments.machine:
            environment["UNISONO_MACHINE"] = str(arguments.machine.absolute())
        if arguments.nodes:
            environment["UNISONO_NODES"] = arguments.nodes
        program = [
            SHIM,
            compiled(mpi, "learning", CALLS_BY_NAME),
            operation,
            str(size),
            str(calls),
            str(min(TURNS, calls)),
            *([str(arguments.computing)] if arguments.computing else []),
        ]
        line = mpi.launch(arguments.ranks, program, environment)
        result = job.run(line, mpis.launcher_environment(mpi), timeout=arguments.timeout).check()
        times = json.loads(result.output.strip().splitlines()[-1])
        learned = json.loads(report.read_text())["learning"] if report.exists() else []
    rows = [row for row in learned if row["operation"] == operation and row["bytes_high"] >= size]
    return {**times, "learned": max(rows, key=lambda row: row["calls"]) if rows else None}


def summary(cell: tuple[str, int, int], mode: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """What the runs of one way of learning say together."""
    operation, size, calls = cell
    ratios = np.array([sum(one["unisono_s"]) / sum(one["native_s"]) for one in runs])
    random = np.random.default_rng(1)
    drawn = np.median(ratios[random.integers(0, len(ratios), (RESAMPLINGS, len(ratios)))], axis=1)
    low, high = np.quantile(drawn, [0.025, 0.975])
    turn_calls = calls // min(TURNS, calls)
    last = -max(1, len(runs[0]["unisono_s"]) // 4)

    def call_s(key: str) -> float:
        return statistics.median(statistics.median(one[key][last:]) for one in runs) / turn_calls

    made: dict[str, Any] = {
        "operation": operation,
        "bytes": size,
        "calls": calls,
        "mode": mode,
        "native_call_s": call_s("native_s"),
        "call_s": call_s("unisono_s"),
        "ratio": float(np.median(ratios)),
        "low": float(low),
        "high": float(high),
        "is_slower": bool(low > TOLERATED),
        "ratios": [float(ratio) for ratio in ratios],
    }
    rows = [one["learned"] for one in runs if one["learned"]]
    if rows:
        trials = [sum(candidate["measured_calls"] for candidate in row["candidates"]) for row in rows]
        seconds = statistics.median(sum(one["unisono_s"]) for one in runs)
        made["chosen"] = [row["chosen"] for row in rows]
        made["trials"] = statistics.median(trials)
        made["loss_s"] = statistics.median(row["trial_loss_s"] for row in rows)
        for name in ("measuring", "monitoring"):
            made[f"{name}_share"] = statistics.median(row[f"{name}_overhead_s"] for row in rows) / seconds
    return made


def line(row: dict[str, Any]) -> str:
    words = [
        f"{row['calls']} {row['operation']} of {units.bytes_text(row['bytes'])}",
        row["mode"],
        units.seconds_text(row["native_call_s"]),
        units.seconds_text(row["call_s"]),
        f"{row['ratio']:.3f} ({row['low']:.3f} to {row['high']:.3f}){' slower' if row['is_slower'] else ''}",
    ]
    if "chosen" in row:
        chosen = statistics.mode(row["chosen"])
        words += [
            f"{chosen} ({row['chosen'].count(chosen)} of {len(row['chosen'])})",
            f"{row['trials']:.0f}",
            units.seconds_text(row["loss_s"]),
            f"{row['measuring_share']:.2%}",
            f"{row['monitoring_share']:.2%}",
        ]
    else:
        words += [""] * 5
    return "| " + " | ".join(words) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mpi", default="openmpi5", choices=[mpi.name for mpi in mpis.ALL])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--nodes", default="", help="pretended nodes, as in UNISONO_NODES")
    parser.add_argument(
        "--machine",
        type=Path,
        help="file of `unisono machine measure`, for predictions; default: none was measured",
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument(
        "--computing", type=float, default=0, help="computing behind each call, in native calls (figure 4: 5)"
    )
    parser.add_argument("--divide", type=int, default=1, help="make so many times fewer calls")
    parser.add_argument(
        "--modes", action=AddUp, default=",".join(MODES), help="ways of learning, separated by commas"
    )
    parser.add_argument(
        "--cells",
        action=AddUp,
        default=",".join(OPERATIONS),
        help="operations, or OPERATION:BYTES, separated by commas",
    )
    parser.add_argument("--json", type=Path, help="write all figures into this file")
    parser.add_argument("--timeout", type=float, default=120)
    arguments = parser.parse_args()
    modes = arguments.modes.split(",")
    if unknown := [mode for mode in modes if mode not in MODES]:
        parser.error(f"--modes {','.join(unknown)}: there are {', '.join(MODES)}")
    if "chosen" in modes and "star" not in modes[: modes.index("chosen")]:
        parser.error("--modes chosen goes by what `star` has chosen: name star before it")
    mpi = mpis.BY_NAME[arguments.mpi]
    print(
        "| calls | way | native call | call at the end | all, of native | chosen | trials | loss | bookkeeping | monitoring |"
    )
    print("| --- " * 10 + "|")
    rows = []
    for word in arguments.cells.split(","):
        operation, _, wanted = word.partition(":")
        for size, calls in SIZES:
            if wanted and int(wanted) != size:
                continue
            cell = (operation, size, calls // arguments.divide)
            runs: dict[str, list[dict[str, Any]]] = {mode: [] for mode in modes}
            for _ in range(arguments.runs):
                chosen = ""
                for mode, of_mode in runs.items():
                    of_mode.append(run(mpi, mode, cell, arguments, chosen if mode == "chosen" else ""))
                    if mode == "star" and of_mode[-1]["learned"]:
                        chosen = of_mode[-1]["learned"]["chosen"]
            for mode, of_mode in runs.items():
                rows.append(summary(cell, mode, of_mode))
                print(line(rows[-1]), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps({"mpi": mpi.name, "ranks": arguments.ranks, "rows": rows}))


if __name__ == "__main__":
    main()
