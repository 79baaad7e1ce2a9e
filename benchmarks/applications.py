#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Four applications between emulated nodes (S9): natively, with learning while they run, and with a table tuned before (S7).

    .venv/bin/python benchmarks/applications.py [--mpi openmpi4] [--only fft,md] [--runs 5] [--output applications]
    .venv/bin/python benchmarks/applications.py --sizes source --nodes 4,8

| fft | spectral solver on slabs | MPI_Alltoall | benchmarks/applications/fft.py |
| md | LAMMPS (Debian's), its example "peptide" | MPI_Allreduce, messages | /usr/share/lammps |
| cg | conjugate gradients, uneven rows | MPI_Allgatherv, MPI_Allreduce | benchmarks/applications/conjugate_gradient.py |
| nbody | examples/nbody | MPI_Allgather, MPI_Allreduce | |

With `--sizes source` calls have the lengths of S, table 2, and links its 100 Mbit/s. Up to 4 nodes lengths are those of its 16 nodes,
beyond those of its 32. The source had one rank on a node (`--ppn 1`).

| fft | the same | MPI_Alltoall of 141376 or 33856 B | |
| molecules | a liquid with replicated data | MPI_Allreduce of 42384 B | benchmarks/applications/molecules.c |
| nanotube | atoms held by springs, uneven shares | MPI_Allgatherv of 256000 or 128000 B | benchmarks/applications/nanotube.py |
| nbody | the same | MPI_Allgather of 20016 or 32016 B | |

Total run times: from the command's start (`mpirun`, `unisono run mpirun`) to its end, with learning and whatever else it costs. The ways
take turns; the ratio of the medians has a 95 % interval (bootstrap, turns drawn as a whole). `rules`: by the built-in rules alone. `auto`: each
run learns from nothing. `again`: it begins with what the run before has learned. `static`: by the table of `unisono tune`, made here at first
(its time does not count). The last lines say of each way how many applications gain 10 %, and which take more than 1.01 of native.
Needs root. Writes OUTPUT.json and OUTPUT.svg; with --keep results that stand in OUTPUT.json and are not measured anew stay.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from side_by_side import rotated  # noqa: E402
from unisono.measuring import bench  # noqa: E402

PROGRAMS = ROOT / "benchmarks/applications"
UNISONO = Path(sys.executable).with_name("unisono")
NBODY = ROOT / "examples/nbody"
PEPTIDE = Path("/usr/share/lammps/examples/peptide")
OPERATIONS = "allgather,allgatherv,allreduce,alltoall,bcast"
WAYS = ("native", "rules", "auto", "again", "static")
IN_PYTHON = ("fft", "cg", "nanotube")
APPLICATIONS = {"page": "fft,md,cg,nbody", "source": "fft,molecules,nanotube,nbody"}
TUNED_SIZES = {"page": "8,256,4K,16K,64K", "source": "8,16K,32K,64K,128K,256K"}
GAIN, LOSS = 0.9, 1.01  # of native: at most for a gain, at least for a loss
LEAST_GAINS = 3
SMALL_CLUSTER = 4  # nodes that stand for the source's 16
BYTES_OF_BODY = 24


@dataclass(frozen=True)
class OfSource:
    """What a rank has in the source's topology (a) or (b), table 2: rows of the square, atoms of the tube, bytes of bodies. And about so
    many steps as take four seconds natively, on links of 100 Mbit/s as the source's were."""

    rows: int
    atoms: int
    bodies_bytes: int
    steps: Mapping[str, int]


OF_SOURCE = {
    "a": OfSource(94, 1600, 20000, {"fft": 60, "molecules": 500, "nanotube": 60, "nbody": 300}),
    "b": OfSource(46, 800, 32000, {"fft": 80, "molecules": 500, "nanotube": 50, "nbody": 40}),
}
RATES = {"page": "1gbit", "source": "100mbit"}


def compiled(
    mpi: mpis.Mpi, name: str, language: str, sources: Sequence[Path], others: Sequence[Path] = ()
) -> Path:
    """With this MPI's wrapper, kept until a source changes."""
    target = COMPILED / mpi.name / name
    if is_outdated(target, [*sources, *others]):
        target.parent.mkdir(parents=True, exist_ok=True)
        flags = COMPILER_FLAGS if language == "c++" else ["-O2"]
        command = [mpi.compilers[language], *flags, *sources, "-o", target, "-lm", *mpi.link_flags]
        job.run(command, mpis.launcher_environment(mpi), timeout=120).check()
    return target


def nbody(mpi: mpis.Mpi) -> Path:
    return compiled(mpi, "nbody", "c++", sorted(NBODY.glob("*.cc")), list(NBODY.glob("*.h")))


def of_source(name: str, mpi: mpis.Mpi, layout: mpis.Layout, scale: float) -> list[str | Path]:
    """The program with the source's lengths of calls."""
    sizes = OF_SOURCE["a" if len(layout.ranks_per_node) <= SMALL_CLUSTER else "b"]
    steps = str(max(round(sizes.steps[name] * scale), 1))
    if name == "fft":
        return [sys.executable, PROGRAMS / "fft.py", str(sizes.rows * layout.ranks), steps]
    if name == "molecules":
        return [compiled(mpi, "molecules", "c", [PROGRAMS / "molecules.c"]), steps]
    if name == "nanotube":
        return [sys.executable, PROGRAMS / "nanotube.py", steps, str(sizes.atoms)]
    bodies = -(-sizes.bodies_bytes // BYTES_OF_BODY) * layout.ranks
    return [nbody(mpi), "--bodies", str(bodies), "--steps", steps, "--fixed-step", "0.001", "--quiet"]


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
    own = mpis.mpi4py_environment(mpi, COMPILED) if name in IN_PYTHON else {}
    own |= {"UNISONO_SITE_TABLE": "", "UNISONO_CACHE": "", "UNISONO_LOG": "quiet"}
    own["UNISONO_REPORT"] = str(scratch / f"{name}-{way}.json")
    if way == "rules":
        own["UNISONO_LEARN"] = "off"
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
    layout = mpis.Layout((arguments.ppn,) * cluster.nodes)
    if arguments.sizes == "source":
        program = of_source(name, mpi, layout, arguments.scale)
    else:
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
    layout = mpis.Layout((arguments.ppn,) * cluster.nodes)
    launcher = mpi.launch(layout.ranks, [], {}, layout)
    words = [sys.executable, "-m", "unisono", "tune", "--budget", arguments.tune, "--operation", OPERATIONS]
    words += [
        "--size",
        TUNED_SIZES[arguments.sizes],
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


def verdicts(compared_rows: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Iterator[str]:
    """Of each way: how many applications gain 10 % and more, and which are slower than native by more than 1 %."""
    for way in WAYS[1:]:
        of_way = {name: row[way] for name, row in compared_rows.items() if way in row}
        gains = sum(one["ratio"] <= GAIN for one in of_way.values())
        slower = [
            f"{name} {one['ratio']:.3f}{'' if one['low'] > LOSS else ', by noise perhaps'}"
            for name, one in of_way.items()
            if one["ratio"] > LOSS
        ]
        is_met = gains >= LEAST_GAINS and not slower
        yield (
            f"{way}: {gains} of {len(of_way)} gain 10 % and more, above {LOSS}: {'; '.join(slower) or 'none'}; "
            f"the aim (three of four, none) is {'met' if is_met else 'missed'}"
        )


def draw(path: Path, rows: dict[str, dict[str, Any]], title: str) -> None:
    figure, axes = plt.subplots(figsize=(8, 4))
    width = 0.8 / len(WAYS[1:])
    for i, way in enumerate(WAYS[1:]):
        of_way = [row["compared"][way] for row in rows.values()]
        places = np.arange(len(rows)) + (i - (len(WAYS) - 2) / 2) * width
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
        "--sizes",
        default="page",
        choices=list(APPLICATIONS),
        help="lengths of calls: the page's own, or the source's",
    )
    parser.add_argument("--only", action=AddUp, help="applications, separated by commas (default: all four)")
    parser.add_argument("--nodes", action=AddUp, default="4", help="numbers of nodes, separated by commas")
    parser.add_argument("--ppn", type=int, default=2, help="ranks on each node")
    parser.add_argument("--rate", help="of each link (default 1gbit; with --sizes source 100mbit)")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1, help="so many times as long (not md)")
    parser.add_argument("--tune", default="2m", help="time for the table")
    parser.add_argument(
        "--table",
        type=Path,
        help="keep the table here, with the number of nodes in its name; one that is there is used",
    )
    parser.add_argument(
        "--keep", action="store_true", help="results in the output of what is not measured now stay"
    )
    parser.add_argument("--output", type=Path, default=Path("applications"), help="of files .json and .svg")
    parser.add_argument("--timeout", type=float, default=110)
    arguments = parser.parse_args()
    arguments.rate = arguments.rate or RATES[arguments.sizes]
    return arguments


def tuned(arguments: argparse.Namespace, cluster: Cluster, scratch: Path) -> None:
    """The table of this number of nodes, in `scratch`."""
    table = scratch / "table.json"
    kept = arguments.table and arguments.table.with_stem(f"{arguments.table.stem}-{cluster.nodes}")
    if kept and kept.exists():
        table.write_text(kept.read_text())
        return
    tune(arguments, cluster, table)
    if kept:
        kept.write_text(table.read_text())


def measured(name: str, arguments: argparse.Namespace, cluster: Cluster, scratch: Path) -> dict[str, Any]:
    """All ways in turn; printed as rows of a table."""
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    learned: dict[str, list[dict[str, Any]]] = {}
    run(name, "again", arguments, cluster, scratch)  # the job before
    for turn in range(arguments.runs):
        for way in rotated(WAYS, turn):
            seconds, learned[way] = run(name, way, arguments, cluster, scratch)
            times[way].append(seconds)
    found = {"seconds": times, "compared": compared(times), "learned": learned}
    for way, one in found["compared"].items():
        ratio = f"{one['ratio']:.3f} ({one['low']:.3f} to {one['high']:.3f})"
        chosen = chosen_text(learned[way])
        print(
            f"| {name} | {cluster.nodes} | {way} | {one['median_s']:.2f} s | {ratio} | {chosen} |", flush=True
        )
    return found


def main() -> None:
    arguments = parsed()
    os.environ.setdefault("UNISONO_HOME", str(ROOT / "build/release"))
    names = (arguments.only or APPLICATIONS[arguments.sizes]).split(",")
    output = arguments.output.with_suffix(".json")
    title = f"{arguments.ppn} ranks a node, {arguments.rate}, {arguments.mpi}"
    found: dict[str, dict[str, Any]] = {}  # by the number of nodes
    if arguments.keep and output.exists():
        kept = json.loads(output.read_text())
        found = kept["rows"] if kept["title"] == title else {}
    print("| application | nodes | way | median | of native | learned |")
    print("| --- | --- | --- | --- | --- | --- |")
    for nodes in map(int, arguments.nodes.split(",")):
        rows = found.setdefault(str(nodes), {})
        with tempfile.TemporaryDirectory() as directory:
            scratch = Path(directory)
            cluster = Cluster(scratch / "cluster", nodes, arguments.rate)
            try:
                tuned(arguments, cluster, scratch)
                for name in names:
                    rows[name] = measured(name, arguments, cluster, scratch)
                    output.write_text(json.dumps({"title": title, "rows": found}))
            finally:
                cluster.down()
    for nodes, rows in found.items():
        for line in verdicts({name: row["compared"] for name, row in rows.items()}):
            print(f"{nodes} nodes, {line}")
    draw(
        arguments.output.with_suffix(".svg"),
        {f"{name}, {n} nodes": row for n, rows in found.items() for name, row in rows.items()},
        title,
    )


if __name__ == "__main__":
    main()
