#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How far the models' predictions are from what is measured, with the machine measured just before (A7, A9).
It shows the distribution of errors by operation, and what it costs to choose by the model.

    .venv/bin/python benchmarks/prediction_error.py --mpi openmpi5 --ranks 2          into reports/prediction_error_2.md, .json and .svg
    .venv/bin/python benchmarks/prediction_error.py --mpi openmpi5 --cluster          4 emulated nodes of 2 ranks (needs root)

Every algorithm with its standard parameters takes part in an alternation with native, eight at a time; its
median counts. Virtual machines change while they run. A flag or an empty message between two ranks tells of
it: it takes 1.5 times as long as when the machine was described, or as short. What is measured meanwhile is
measured again, five times at most. After that it is left out and counted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import side_by_side
from side_by_side import ROOT

# isort: split
import mpis
from harness import Cluster
from lists import AddUp
from mpis import Layout
from unisono.common import files, tool
from unisono.machine import catalogue, measuring, model_fit
from unisono.machine.costs import Marker
from unisono.measuring import candidates
from unisono.measuring.measurer import Measurer
from unisono.reporting.plots import prediction_errors

KIB, MIB = 1 << 10, 1 << 20
SIZES = (8, KIB, 16 * KIB, 256 * KIB)
NODES = Layout((2, 2, 2, 2))
AT_ONCE = 8  # candidates that alternate
ATTEMPTS, PAUSE_S = 5, 0.3


def cell(
    job: Measurer, marker: Marker, operation: str, size: int, names: Sequence[str], seconds: float
) -> tuple[dict[str, Any], list[str]]:
    """Native and the candidates, as `unisono bench --json` has them; and those during which the machine was another one each
    time."""
    found: dict[str, Any] = {}
    left_out: list[str] = []
    for first in range(0, len(names), AT_ONCE):
        some = names[first : first + AT_ONCE]
        for _ in range(ATTEMPTS):
            if marker.is_same():
                row = asdict(job.compare(operation, size, some, seconds))
                if marker.is_same():
                    found = found or row | {"candidates": []}
                    found["candidates"] += [c for c in row["candidates"] if c["seconds"] is not None]
                    break
            time.sleep(PAUSE_S)
        else:
            left_out += some
    return found, left_out


def measure(arguments: argparse.Namespace, machine_file: Path, cluster: Cluster | None) -> dict[str, Any]:
    mpi = mpis.BY_NAME[arguments.mpi]
    layout = NODES if cluster else None
    ranks = NODES.ranks if cluster else arguments.ranks
    prefix = cluster.on_head([]) if cluster else []

    def words(options: Sequence[str], settings: dict[str, str]) -> list[str]:
        return [*prefix, *side_by_side.words(mpi, ranks, options, layout, settings)]

    with side_by_side.environment(mpis.launcher_environment(mpi)):
        with Measurer(words(measuring.PROGRAM_OPTIONS, measuring.SETTINGS)) as job:
            document = measuring.describe(
                job, measuring.read_base("typical"), arguments.budget, {}, lambda _: None
            )
        document["name"] = "measured"
        catalogue.write(document, machine_file)
        algorithms = tool.algorithms()
        cells: list[dict[str, Any]] = []
        left_out = 0
        with Measurer(words(["--serve", "--sizes", str(max(SIZES))], {})) as job:
            place = job.place
            # Between emulated nodes the network counts, and ranks that share cores: not the way of a flag.
            marker = Marker(job, cluster is None, None if cluster else _marks_s(document))
            for operation in arguments.operation.split(","):
                names = [n.split(":", 1)[1] for n in candidates.standard(algorithms, [operation])]
                for size in SIZES if operation != "barrier" else (0,):
                    found, missed = cell(job, marker, operation, size, names, arguments.seconds)
                    cells += [found] if found else []
                    left_out += len(missed)
    return {
        "machine": document,
        "cells": cells,
        "left_out": left_out,
        "mpi": place.mpi,
        "layout": place.layout,
    }


def _marks_s(document: dict[str, Any]) -> list[float]:
    """What the marker saw when the machine was measured."""
    shared = document["shared_memory"]
    flag_us = sum(float(shared[key]["value"]) for key in ("signal_us", "flag_us", "await_us"))
    return [flag_us * 1e-6, document["node"]["plogp"]["whole_us"]["us"][0] * 1e-6]


def fitted(measured: dict[str, Any], machine: str) -> list[model_fit.Fit]:
    def ask(operation: str, size: int, names: list[str]) -> dict[str, Any]:
        asked = [word for name in names for word in ("--algorithm", name)]
        question = ["--operation", operation, "--layout", measured["layout"], "--bytes", str(size)]
        answer: dict[str, Any] = tool.ask("predict", *question, "--machine", machine, *asked)
        return answer

    return model_fit.fits(measured["cells"], ask)


def table(fits: Sequence[model_fit.Fit]) -> Iterator[str]:
    yield "| operation | times | median | size: quartiles | worst tenth | within 20 % | within factor 2 | regret |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    operations = list(dict.fromkeys(fit.operation for fit in fits))
    for name, some in [(o, [f for f in fits if f.operation == o]) for o in operations] + [
        ("all", list(fits))
    ]:
        e = model_fit.errors(some)
        sizes = ", ".join(f"{part:.0%}" for part in (e.lower_quartile, e.middle, e.upper_quartile))
        yield (
            f"| {name} | {e.count} | {e.median:+.0%} | {sizes} | {e.worst_tenth:.0%} | {e.close:.0%} | "
            f"{e.within_factor_2:.0%} | {model_fit.regret(some):.2f} |"
        )


def page(
    measured: dict[str, Any], fits: Sequence[model_fit.Fit], typical: Sequence[model_fit.Fit]
) -> Iterator[str]:
    machine = measured["machine"]
    yield "# Errors of predictions"
    yield ""
    yield f"{measured['mpi']}, {measured['layout']}, {machine['measured']['date']}; machine measured just before. Predicted over measured, less 1."
    if measured["left_out"]:
        yield f"Left out, since the machine was another one each time: {measured['left_out']} times."
    if not machine["measured"]["is_steady"]:
        yield "The machine did not stay the same while it was described: its parameters do not all go together."
    for title, some in (
        ("With the measured machine", fits),
        ("With the built-in machine `typical`", typical),
    ):
        yield ""
        yield f"## {title}"
        yield ""
        yield from table(some)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mpi", choices=[m.name for m in mpis.ALL], default="openmpi5")
    parser.add_argument("--ranks", type=int, default=2, help="on this machine (default 2)")
    parser.add_argument("--cluster", action="store_true", help="4 emulated nodes of 2 ranks instead")
    parser.add_argument("--rate", default="1gbit", help="of each node's link (default 1gbit)")
    parser.add_argument(
        "--operation", action=AddUp, default="barrier,bcast,reduce,allreduce,allgather,alltoall"
    )
    parser.add_argument("--seconds", type=float, default=0.15, help="for eight algorithms (default 0.15)")
    parser.add_argument(
        "--budget", type=float, default=25, help="seconds for describing the machine (default 25)"
    )
    parser.add_argument("--output", type=Path, help="the page; .json and .svg stand beside it")
    arguments = parser.parse_args()
    name = "cluster" if arguments.cluster else str(arguments.ranks)
    output = arguments.output or ROOT / f"reports/prediction_error_{name}.md"
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        cluster = None
        if arguments.cluster:
            cluster = Cluster(Path(folder) / "cluster", len(NODES.ranks_per_node), rate=arguments.rate)
            stack.callback(cluster.down)
        file = Path(folder) / "machine.json"
        measured = measure(arguments, file, cluster)
        fits, typical = fitted(measured, str(file)), fitted(measured, "typical")
    if not fits:
        raise SystemExit(
            f"nothing could be measured on the machine that was described: {measured['left_out']} times"
        )
    files.write_whole(output, "\n".join(page(measured, fits, typical)) + "\n")
    measured["fits"] = [asdict(fit) for fit in fits]
    files.write_whole(output.with_suffix(".json"), json.dumps(measured, indent=1, default=_plain) + "\n")
    prediction_errors(fits, output.with_suffix(".svg"), f"{measured['mpi']}, {measured['layout']}")
    print(output.read_text())
    return 0


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else str(value)


if __name__ == "__main__":
    sys.exit(main())
