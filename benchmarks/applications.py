#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Four applications between emulated nodes (S9): natively, with learning while they run, and with a table tuned before (S7).

    .venv/bin/python benchmarks/applications.py [--mpi openmpi4] [--only fft,md] [--runs 5] [--output applications]

| fft | spectral solver on slabs | MPI_Alltoall | benchmarks/applications/fft.py |
| md | LAMMPS (Debian's), its example "peptide" | MPI_Allreduce, messages | /usr/share/lammps |
| cg | conjugate gradients, uneven rows | MPI_Allgatherv, MPI_Allreduce | benchmarks/applications/conjugate_gradient.py |
| nbody | examples/nbody | MPI_Allgather, MPI_Allreduce | |

Total run times: from the command's start (`mpirun`, `unisono run mpirun`) to its end, with learning and whatever else it costs. The ways
take turns; the ratio of the medians has a 95 % interval (bootstrap, turns drawn as a whole). `auto`: each run learns from
nothing. `again`: it begins with what the run before has learned. `static`: by the table of `unisono tune`, made here at first (its time does not
count). Needs root. Writes OUTPUT.json and OUTPUT.svg.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests/integration"), str(ROOT / "examples")]

import job  # noqa: E402
import mpis  # noqa: E402
from demonstration.programs import COMPILER_FLAGS  # noqa: E402
from harness import COMPILED, Cluster, is_outdated  # noqa: E402
from lists import AddUp  # noqa: E402
from unisono.measuring import bench  # noqa: E402

PROGRAMS = ROOT / "benchmarks/applications"
UNISONO = Path(sys.executable).with_name("unisono")
NBODY = ROOT / "examples/nbody"
PEPTIDE = Path("/usr/share/lammps/examples/peptide")
OPERATIONS = "allgather,allgatherv,allreduce,alltoall,bcast"
WAYS = ("native", "auto", "again", "static")


def nbody(mpi: mpis.Mpi) -> Path:
    target = COMPILED / mpi.name / "nbody"
    sources = sorted(NBODY.glob("*.cc"))
    if is_outdated(target, [*sources, *NBODY.glob("*.h")]):
        target.parent.mkdir(parents=True, exist_ok=True)
        command = [mpi.compilers["c++"], *COMPILER_FLAGS, *sources, "-o", target, *mpi.link_flags]
        job.run(command, mpis.launcher_environment(mpi), timeout=120).check()
    return target


def command(name: str, mpi: mpis.Mpi, scale: float) -> list[str | Path]:
    """The program, with more or fewer steps by `scale`."""
    if name == "fft":
        return [sys.executable, PROGRAMS / "fft.py", "256", str(round(400 * scale))]
    if name == "cg":
        return [sys.executable, PROGRAMS / "conjugate_gradient.py", "20000", str(max(round(3 * scale), 1))]
    if name == "nbody":
        steps = str(round(400 * scale))
        return [nbody(mpi), "--bodies", "2000", "--steps", steps, "--fixed-step", "0.001", "--quiet"]
    return ["/usr/bin/lmp", "-in", "in.peptide", "-log", "none", "-screen", "none"]


def environment(name: str, way: str, mpi: mpis.Mpi, scratch: Path) -> dict[str, str]:
    own = mpis.mpi4py_environment(mpi, COMPILED) if name in ("fft", "cg") else {}
    own |= {"UNISONO_SITE_TABLE": "", "UNISONO_CACHE": "", "UNISONO_LOG": "quiet"}
    own["UNISONO_REPORT"] = str(scratch / f"{name}-{way}.json")
    if way == "auto":
        own["UNISONO_LEARN"] = "auto"
    if way == "again":
        own |= {"UNISONO_LEARN": "auto", "UNISONO_CACHE": str(scratch / f"cache-{name}")}
    if way == "static":
        own |= {"UNISONO_LEARN": "off", "UNISONO_TABLE": str(scratch / "table.json")}
    return own


def run(
    name: str, way: str, arguments: argparse.Namespace, cluster: Cluster, scratch: Path
) -> tuple[float, list[dict[str, Any]]]:
    """Seconds from start to end, and what the report says was learned."""
    mpi = mpis.BY_NAME[arguments.mpi]
    layout = mpis.Layout((arguments.ppn,) * arguments.nodes)
    program = command(name, mpi, arguments.scale)
    launched = mpi.launch(layout.ranks, program, environment(name, way, mpi, scratch), layout)
    prefix = [] if way == "native" else [UNISONO, "run"]
    directory = PEPTIDE if name == "md" else scratch
    line = cluster.on_head([*prefix, *launched])
    result = job.run(line, mpis.launcher_environment(mpi), arguments.timeout, directory)
    result.check()
    report = scratch / f"{name}-{way}.json"
    learned = json.loads(report.read_text())["learning"] if way in ("auto", "again") else []
    return result.seconds, learned


def tune(arguments: argparse.Namespace, cluster: Cluster, table: Path) -> None:
    """Off line, by the product's own command, for this layout."""
    mpi = mpis.BY_NAME[arguments.mpi]
    layout = mpis.Layout((arguments.ppn,) * arguments.nodes)
    launcher = mpi.launch(layout.ranks, [], {}, layout)
    words = [sys.executable, "-m", "unisono", "tune", "--budget", arguments.tune, "--operation", OPERATIONS]
    words += [
        "--size",
        "8,256,4K,16K,64K",
        "-o",
        str(table),
        "--mpicc",
        str(mpi.compilers["c"]),
        "--",
        *launcher,
    ]
    home: Mapping[str, str] = {
        "PYTHONPATH": str(ROOT / "python"),
        "UNISONO_HOME": os.environ["UNISONO_HOME"],
        "XDG_CACHE_HOME": str(table.parent / "tune-cache"),
    }
    settings = {**mpis.launcher_environment(mpi), **home}
    subprocess.run(cluster.on_head(words), env=settings, timeout=900, check=True)


def compared(times: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    """Of each way: the median, and the ratio to native with its interval."""
    random = np.random.default_rng(1)
    native = np.array(times["native"])
    outcome = {}
    for way, seconds in times.items():
        own = np.array(seconds)
        low, high = bench.ratio_interval(own, native, random)
        outcome[way] = {
            "median_s": float(np.median(own)),
            "ratio": float(np.median(own) / np.median(native)),
            "low": low,
            "high": high,
        }
    return outcome


def chosen_text(learned: list[dict[str, Any]]) -> str:
    most = sorted(learned, key=lambda row: -row["calls"] * (row["time_s"] or 0))[:2]
    return "; ".join(f"{row['operation']} {row['size_class']}: {row['chosen']}" for row in most)


def draw(path: Path, rows: dict[str, dict[str, Any]], title: str) -> None:
    figure, axes = plt.subplots(figsize=(8, 4))
    width = 0.25
    for i, way in enumerate(WAYS[1:]):
        of_way = [row["compared"][way] for row in rows.values()]
        places = np.arange(len(rows)) + (i - 1) * width
        ratios = [one["ratio"] for one in of_way]
        errors = [
            [max(one["ratio"] - one["low"], 0) for one in of_way],
            [max(one["high"] - one["ratio"], 0) for one in of_way],
        ]
        axes.bar(places, ratios, width, yerr=errors, capsize=3, label=way)
    axes.axhline(1, color="black", linewidth=1)
    axes.set_xticks(range(len(rows)), list(rows))
    axes.set(ylabel="total run time, of native", title=title)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    # Debian's LAMMPS is linked with Open MPI 4.
    parser.add_argument("--mpi", default="openmpi4", choices=[mpi.name for mpi in mpis.ALL])
    parser.add_argument(
        "--only", action=AddUp, default="fft,md,cg,nbody", help="applications, separated by commas"
    )
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--ppn", type=int, default=2, help="ranks on each node")
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1, help="so many times as long (not md)")
    parser.add_argument("--tune", default="2m", help="time for the table")
    parser.add_argument("--table", type=Path, help="keep the table here; one that is there is used")
    parser.add_argument("--output", type=Path, default=Path("applications"), help="of files .json and .svg")
    parser.add_argument("--timeout", type=float, default=110)
    return parser.parse_args()


def main() -> None:
    arguments = parsed()
    os.environ.setdefault("UNISONO_HOME", str(ROOT / "build/release"))
    rows: dict[str, dict[str, Any]] = {}
    title = f"{arguments.nodes}x{arguments.ppn} ranks, {arguments.rate}, {arguments.mpi}"
    with tempfile.TemporaryDirectory() as directory:
        scratch = Path(directory)
        table = scratch / "table.json"
        cluster = Cluster(scratch / "cluster", arguments.nodes, arguments.rate)
        try:
            if arguments.table and arguments.table.exists():
                table.write_text(arguments.table.read_text())
            else:
                tune(arguments, cluster, table)
                if arguments.table:
                    arguments.table.write_text(table.read_text())
            print("| application | way | median | of native | learned |")
            print("| --- | --- | --- | --- | --- |")
            for name in arguments.only.split(","):
                times: dict[str, list[float]] = {way: [] for way in WAYS}
                learned: dict[str, list[dict[str, Any]]] = {}
                run(name, "again", arguments, cluster, scratch)  # the job before
                for _ in range(arguments.runs):
                    for way, of_way in times.items():
                        seconds, learned[way] = run(name, way, arguments, cluster, scratch)
                        of_way.append(seconds)
                rows[name] = {"seconds": times, "compared": compared(times), "learned": learned}
                for way, one in rows[name]["compared"].items():
                    ratio = f"{one['ratio']:.3f} ({one['low']:.3f} to {one['high']:.3f})"
                    print(
                        f"| {name} | {way} | {one['median_s']:.2f} s | {ratio} | {chosen_text(learned[way])} |",
                        flush=True,
                    )
        finally:
            cluster.down()
    arguments.output.with_suffix(".json").write_text(json.dumps({"title": title, "rows": rows}))
    draw(arguments.output.with_suffix(".svg"), rows, title)


if __name__ == "__main__":
    main()
