#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Unisono's choices against those of four MPIs, in the virtual time of SimGrid's SMPI, on networks of 16 to 1024 nodes.

    make simulate                                                     all, into reports/simgrid.md, .json and .png
    make simulate SIMULATE="--platforms torus --ranks 64 --operations allreduce"

For each network messages are measured first. The model then predicts Unisono's algorithms on it. The best one
predicted is Unisono's choice; the next few are tried as well, as learning does. The same program makes SMPI's own
collectives by the selectors of Open MPI, MPICH, MVAPICH2 and Intel MPI. All ranks' results must be the same.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import machine
import smpi
from outcome import report
from platforms import KINDS, RANKS, Platform
from unisono.common import printing, tool
from unisono.common.units import bytes_from_text, bytes_text
from unisono.machine import catalogue

VECTORS = ("bcast", "reduce", "allreduce", "scan", "exscan")
BLOCKS = ("gather", "scatter", "allgather", "alltoall", "reduce_scatter_block")
UNEVEN = ("gatherv", "scatterv", "allgatherv", "alltoallv", "alltoallw", "reduce_scatter")
OPERATIONS = ("barrier", *VECTORS, *BLOCKS, *UNEVEN)
SIZES = "8,64,1K,8K,64K,1M"
MOST_OF_A_RANK = 1 << 20  # bytes that a rank has in all its blocks
TRIED, WITHIN = 4, 1.5  # other algorithms that learning tries: so many, predicted at most so much slower
PREDICTION_S = 3.0


@dataclass
class Cell:
    """One operation at one size. Times are microseconds of virtual time, by algorithm and by selector."""

    platform: str
    ranks: int
    operation: str
    bytes: int
    chosen: str  # the best one predicted
    predicted_us: dict[str, float]  # of all that are tried
    unisono_us: dict[str, float] = field(default_factory=dict)
    native_us: dict[str, float] = field(default_factory=dict)
    results: dict[str, str | None] = field(default_factory=dict)


def sizes_of(operation: str, ranks: int, sizes: Sequence[int]) -> list[int]:
    if operation == "barrier":
        return [0]
    most = MOST_OF_A_RANK if operation in VECTORS else MOST_OF_A_RANK // ranks
    return [size for size in sizes if size <= most]


def candidates(platform: Platform, machine_file: Path, operation: str, size: int) -> dict[str, float]:
    """Algorithms with what is predicted of each, microseconds: the best one first, then those that are worth a trial."""
    words = ["--operation", operation, "--layout", f"{platform.ranks}x1", "--bytes", str(size)]
    words += [
        "--machine",
        str(machine_file),
        "--time-ms",
        str(round(1000 * PREDICTION_S)),
        "--no-single-copy",
    ]
    found: dict[str, float] = {}
    for one in tool.ask("predict", *words)["predictions"]:
        if one["us"] is None or one["algorithm"] == "native" or len(found) > TRIED:
            continue
        is_other = one["algorithm"] not in {text.split("(")[0] for text in found}
        if not found or (is_other and one["us"] <= WITHIN * next(iter(found.values()))):
            found[one["text"]] = one["us"]
    return found


def planned(
    platform: Platform, machine_file: Path, operations: Sequence[str], sizes: Sequence[int]
) -> Iterator[Cell]:
    for operation in operations:
        for size in sizes_of(operation, platform.ranks, sizes):
            predicted = candidates(platform, machine_file, operation, size)
            if predicted:
                yield Cell(platform.kind, platform.ranks, operation, size, next(iter(predicted)), predicted)


def run_cells(platform: Platform, cells: Sequence[Cell], selectors: Sequence[str]) -> None:
    """Fills in all times. Raises SimGridError where two ways to make a call come to different results."""
    asked = [(cell, text) for cell in cells for text in cell.predicted_us]
    orders = [f"call {cell.operation} {cell.bytes} {text}" for cell, text in asked]
    with printing.progress() as progress:
        task = progress.add_task(f"{platform.name}: Unisono", total=len(orders) + len(cells) * len(selectors))

        def on_answer(_: dict[str, Any]) -> None:
            progress.advance(task)

        for (cell, text), answer in zip(asked, smpi.run(platform, orders, on_answer=on_answer), strict=True):
            cell.unisono_us[text] = answer["us"]
            cell.results[text] = answer["result"]
        native = [f"call {cell.operation} {cell.bytes} native" for cell in cells]
        for selector in selectors:
            progress.update(task, description=f"{platform.name}: {selector}")
            for cell, answer in zip(
                cells, smpi.run(platform, native, selector, on_answer=on_answer), strict=True
            ):
                cell.native_us[selector] = answer["us"]
                cell.results[selector] = answer["result"]
    for cell in cells:
        if len(set(cell.results.values())) > 1:
            raise smpi.SimGridError(
                f"{cell.operation} of {bytes_text(cell.bytes)} on {platform.name} came to different results: {cell.results}"
            )


def compared(platform: Platform, asked: argparse.Namespace) -> list[Cell]:
    with printing.progress() as progress:
        task = progress.add_task(
            f"{platform.name}: messages", total=len(machine.SIZES) * len(machine.pairs(platform.ranks))
        )
        document = machine.measure(platform, lambda _: progress.advance(task))
    with tempfile.TemporaryDirectory(prefix="unisono-smpi-") as folder:
        file = Path(folder) / f"{platform.name}.json"
        catalogue.write(document, file)
        if asked.machines is not None:
            asked.machines.mkdir(parents=True, exist_ok=True)
            catalogue.write(document, asked.machines / file.name)
        cells = list(planned(platform, file, asked.operations, asked.sizes))
    run_cells(platform, cells, asked.selectors)
    return cells


def names(known: Sequence[str], what: str) -> Any:
    def read(text: str) -> list[str]:
        chosen = text.split(",")
        unknown = [name for name in chosen if name not in known]
        if unknown:
            raise argparse.ArgumentTypeError(
                f"there is no {what} {unknown[0]!r}; there are {', '.join(known)}"
            )
        return chosen

    return read


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--platforms",
        type=names(KINDS, "network"),
        default=list(KINDS),
        metavar="NAMES",
        help=f"of {', '.join(KINDS)}  [default: all]",
    )
    parser.add_argument(
        "--ranks",
        type=names([str(r) for r in RANKS], "number of ranks"),
        default=["64", "256"],
        metavar="NUMBERS",
        help=f"of {', '.join(map(str, RANKS))}  [default: 64,256]",
    )
    parser.add_argument(
        "--operations",
        type=names(OPERATIONS, "operation"),
        default=list(OPERATIONS),
        metavar="NAMES",
        help="[default: all but those of neighbours]",
    )
    parser.add_argument(
        "--sizes",
        type=lambda text: [bytes_from_text(one) for one in text.split(",")],
        default=SIZES,
        metavar="SIZES",
        help=f"bytes of a vector or a block, multiples of 8  [default: {SIZES}]",
    )
    parser.add_argument(
        "--selectors",
        type=names(smpi.SELECTORS, "selector"),
        default=list(smpi.SELECTORS),
        metavar="NAMES",
        help=f"of {', '.join(smpi.SELECTORS)}  [default: all]",
    )
    parser.add_argument("--machines", type=Path, metavar="FOLDER", help="keep the machines' files there")
    parser.add_argument(
        "--join",
        type=Path,
        nargs="+",
        metavar="FILE",
        help="run nothing, and report what such .json files have together",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("reports/simgrid"),
        metavar="FILE",
        help="without a suffix  [default: reports/simgrid]",
    )
    return parser.parse_args()


def joined(files: Sequence[Path]) -> list[Cell]:
    """What the files hold. Raises SimGridError where that is nothing."""
    cells: list[Cell] = []
    for file in files:
        try:
            cells += [Cell(**one) for one in json.loads(file.read_text())]
        except (OSError, ValueError, TypeError) as error:
            raise smpi.SimGridError(f"{file} is none that this writes: {error}") from error
    if not cells:
        raise smpi.SimGridError("there is nothing in these files to report")
    return cells


def main() -> int:
    asked = arguments()
    asked.output.parent.mkdir(parents=True, exist_ok=True)
    cells: list[Cell] = []
    text = ""
    try:
        if asked.join is not None:
            print(report(joined(asked.join), asked.output))
            return 0
        smpi.require()
        for platform in [Platform(kind, int(ranks)) for ranks in asked.ranks for kind in asked.platforms]:
            cells += compared(platform, asked)
            # What is done is kept where somebody ends the rest.
            asked.output.with_suffix(".json").write_text(
                json.dumps([asdict(cell) for cell in cells], indent=1) + "\n"
            )
            text = report(cells, asked.output)
    except smpi.SimGridError as error:
        print(f"simulate: {error}", file=sys.stderr)
        return 1
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
