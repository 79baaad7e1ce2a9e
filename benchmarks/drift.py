#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A program whose network changes while it runs (S3): the emulated nodes' links get another rate when half of the calls are made.

    .venv/bin/python benchmarks/drift.py [--operation allreduce] [--bytes 65536] [--rates 1gbit,50mbit] [--output drift]

Needs root (an emulated cluster). It shows what ran from which call on, and the bound of
docs/guide/learning.md. It shows after how many calls they took what they take in the end, and after how many
one algorithm had settled. It writes OUTPUT.json and OUTPUT.svg: the times of all calls, coloured by what
served them. Beside it, the same program runs with each of the two choices alone, which tells what settling
was worth.
"""

from __future__ import annotations

import argparse
import bisect
import contextlib
import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from side_by_side import CALLS_BY_NAME, ROOT, compiled

# isort: split
import mpis
from harness import SHIM, Cluster
from lists import AddUp
from unisono.common import units

BATCH = 10  # learn_iterations
WINDOW = 100
MOST_NAMED = 5  # in the picture
TOLERATED = 1.25
LONG_CALL_S = 1e-3
CALLS_OF_A_BATCH = 64  # one batch in so many calls below a millisecond is looked at


@contextlib.contextmanager
def cluster_of(nodes: int, rate: str) -> Iterator[Cluster]:
    with tempfile.TemporaryDirectory() as directory:
        cluster = Cluster(Path(directory) / "cluster", nodes, rate)
        try:
            yield cluster
        finally:
            cluster.down()


def run(
    cluster: Cluster, arguments: argparse.Namespace, rates: list[str], settings: dict[str, str]
) -> dict[str, Any]:
    """One job under these rates, the second one from half of the calls on: its calls, and its report."""
    mpi = mpis.BY_NAME[arguments.mpi]
    cluster.set_rate(rates[0])
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.json"
        environment = {"UNISONO_CACHE": "", "UNISONO_REPORT": str(report), "UNISONO_LOG": "quiet", **settings}
        program = [
            SHIM,
            compiled(mpi, "drift", CALLS_BY_NAME),
            arguments.operation,
            str(arguments.bytes),
            str(arguments.calls),
        ]
        layout = mpis.Layout((arguments.ppn,) * arguments.nodes)
        line = cluster.on_head(mpi.launch(layout.ranks, program, environment, layout))
        limited = ["timeout", "-k", "5", str(arguments.timeout), *line]
        environ = mpis.launcher_environment(mpi)
        made: dict[str, Any] = {}
        pipe = subprocess.PIPE
        with subprocess.Popen(limited, stdin=pipe, stdout=pipe, text=True, env=environ) as process:
            for text in process.stdout or []:
                if text.strip() == "half" and process.stdin:
                    if len(rates) > 1:
                        cluster.set_rate(rates[1])
                    process.stdin.write("\n")
                    process.stdin.close()
                elif text.startswith("{"):
                    made |= json.loads(text)
        if process.returncode != 0 or "seconds" not in made:
            raise SystemExit(f"the program failed (status {process.returncode})")
        learned = json.loads(report.read_text())["learning"]
    rows = [row for row in learned if row["operation"] == arguments.operation]
    return {**made, "learned": max(rows, key=lambda row: row["calls"]) if rows else None}


def bound_of(seconds_a_call: float, factor: int) -> int:
    """The longest time from a change to a decision of docs/guide/learning.md, in calls: two periods and one comparison."""
    if seconds_a_call >= LONG_CALL_S:
        period = min(factor * BATCH, max(2 * BATCH, round(1 / seconds_a_call)))
        return 2 * period + 2 * 6 * 4
    return 2 * factor * CALLS_OF_A_BATCH + 2 * 6 * (BATCH + 2)


def settled(row: dict[str, Any], changed: int) -> tuple[int, str]:
    """From which call on what was chosen in the end ran for good, and what that is."""
    choices = [event for event in row["timeline"] if not event["trial"]]
    first = choices[-1]
    for event in reversed(choices):
        if event["algorithm"] != first["algorithm"]:
            break
        first = event
    return max(int(first["call"]), changed), str(first["algorithm"])


def quick_again(seconds: list[float], changed: int) -> int:
    """From which call after the change on WINDOW calls take, in the mean, what they take in the end.

    What is chosen may go on to change between algorithms that are alike; and of operations in which ranks run ahead
    single calls tell little.
    """
    sums = np.concatenate([[0.0], np.cumsum(seconds)])
    means = (sums[WINDOW:] - sums[:-WINDOW]) / WINDOW
    end = float(np.mean(seconds[changed + (len(seconds) - changed) * 3 // 4 :]))
    return changed + int(np.argmax(means[changed:] <= TOLERATED * end))


def chosen_at(row: dict[str, Any], call: int) -> str:
    """What was in use where nothing was on trial."""
    choices = [event for event in row["timeline"] if not event["trial"] and event["call"] <= call]
    return str(choices[-1]["algorithm"] if choices else row["timeline"][0]["algorithm"])


def served(row: dict[str, Any], calls: int) -> list[str]:
    """What served each call."""
    begins = [event["call"] for event in row["timeline"]]
    return [row["timeline"][bisect.bisect_right(begins, i) - 1]["algorithm"] for i in range(calls)]


def draw(path: Path, made: dict[str, Any], changed: int, title: str) -> None:
    names = served(made["learned"], len(made["seconds"]))
    often = sorted(set(names), key=names.count, reverse=True)
    figure, axes = plt.subplots(figsize=(10, 5))
    groups = [(name, {name}, None) for name in often[:MOST_NAMED]]
    groups.append(("others, on trial", set(often[MOST_NAMED:]), "grey"))
    for label, of_group, color in groups:
        calls = [i for i, one in enumerate(names) if one in of_group]
        times = [made["seconds"][i] * 1e3 for i in calls]
        axes.plot(calls, times, ".", markersize=3, label=label, color=color)
    axes.axvline(changed, color="black", linewidth=1)
    axes.annotate(" the rate changes", (changed, 1), xycoords=("data", "axes fraction"), va="top")
    axes.set(xlabel="call", ylabel="milliseconds on the slowest rank", yscale="log", title=title)
    axes.legend(
        fontsize="small", markerscale=4, ncols=len(groups), loc="upper center", bbox_to_anchor=(0.5, -0.12)
    )
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mpi", default="openmpi5", choices=[mpi.name for mpi in mpis.ALL])
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--ppn", type=int, default=2, help="ranks on each node")
    parser.add_argument("--operation", default="allreduce")
    parser.add_argument("--bytes", type=int, default=65536)
    parser.add_argument("--calls", type=int, default=4000, help=f"{2 * WINDOW} at least")
    parser.add_argument(
        "--rates", action=AddUp, default="1gbit,50mbit", help="before and after half of the calls"
    )
    parser.add_argument("--factor", type=int, default=16, help="option learn_factor")
    parser.add_argument("--budget", type=float, default=5, help="option learn_budget, percent")
    parser.add_argument("--alone", type=int, default=200, help="calls of each choice alone; 0: none")
    parser.add_argument("--output", type=Path, default=Path("drift"), help="of files .json and .svg")
    parser.add_argument("--timeout", type=float, default=110)
    arguments = parser.parse_args()
    if arguments.calls < 2 * WINDOW:
        parser.error(f"--calls {arguments.calls}: {2 * WINDOW} at least")
    return arguments


def main() -> None:
    arguments = parsed()
    os.environ.setdefault("UNISONO_HOME", str(ROOT / "build/release"))
    rates = arguments.rates.split(",")
    settings = {
        "UNISONO_LEARN": "auto",
        "UNISONO_LEARN_FACTOR": str(arguments.factor),
        "UNISONO_LEARN_BUDGET": str(arguments.budget),
    }
    with cluster_of(arguments.nodes, rates[0]) as cluster:
        made = run(cluster, arguments, rates, settings)
        changed = arguments.calls // 2
        at, after = settled(made["learned"], changed)
        before = chosen_at(made["learned"], changed)
        alone: dict[str, dict[str, float]] = {}
        for rate in rates if arguments.alone else []:
            for name in dict.fromkeys([before, after, "native"]):
                forced = {"UNISONO_ALGORITHM": f"{arguments.operation}:{name}"}
                few = argparse.Namespace(**{**vars(arguments), "calls": arguments.alone})
                seconds = run(cluster, few, [rate], forced)["seconds"]
                # The first calls only fill the links' buffers.
                alone.setdefault(rate, {})[name] = statistics.fmean(seconds[len(seconds) // 2 :])
    # The period under way at the change was chosen for the calls before it.
    call_s = statistics.median(made["seconds"][:changed])
    level = quick_again(made["seconds"], changed)
    bound = bound_of(call_s, arguments.factor)
    title = f"{arguments.operation} of {units.bytes_text(arguments.bytes)}, {arguments.nodes}x{arguments.ppn} ranks, {' then '.join(rates)}"
    print(title)
    for event in made["learned"]["timeline"]:
        print(
            f"{event['call']:>8}  {'trial' if event['trial'] else 'runs '}  {event['algorithm']}: {event['why']}"
        )
    print(
        f"the rate changed at call {changed}; {after} runs for good from call {at} on: after {at - changed} calls (bound: {bound})"
    )
    print(f"calls take what they take in the end from call {level} on: after {level - changed} calls")
    for rate, times in alone.items():
        print(
            f"{rate}: "
            + ", ".join(f"{name} {units.seconds_text(t)}" for name, t in times.items())
            + " a call alone"
        )
    outcome = {
        "title": title,
        "changed_at": changed,
        "settled_at": at,
        "quick_again_at": level,
        "bound": bound,
        "before": before,
        "after": after,
        "alone_s": alone,
        "learned": made["learned"],
        "seconds": made["seconds"],
    }
    arguments.output.with_suffix(".json").write_text(json.dumps(outcome))
    draw(arguments.output.with_suffix(".svg"), made, changed, title)


if __name__ == "__main__":
    main()
