# SPDX-License-Identifier: BSD-3-Clause
"""`unisono bench`: native and Unisono side by side."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from unisono.commands.cells import planned
from unisono.commands.given import require_algorithms, require_sensible
from unisono.commands.hints import HintingChoice
from unisono.commands.jobs import JobCommand, launcher_argument, mpicc_option
from unisono.commands.lists import ListOption
from unisono.commands.values import (
    WORLD,
    RealRange,
    collected,
    communicator,
    graph,
    json_option,
    listed,
    operations_option,
    picture_name,
    plot_option,
    sizes_in_bytes,
    sizes_option,
)
from unisono.common import files, printing, tool, units
from unisono.common.errors import interrupted_status
from unisono.common.operations import OPERATIONS
from unisono.launch.settings import settings_from_environment
from unisono.measuring import bench, candidates

_NOISE = 0.02  # a cell is behind where even the upper end of its interval is below 1 - this


@dataclass(frozen=True)
class Asked:
    """What the command line says."""

    operations: str
    sizes: str
    precision: float
    samples: int
    seconds: float
    algorithm: str
    tried: str
    finalists: int
    skip_verify: bool
    mpicc: Path | None
    start: str
    skew: float
    seed: int
    cold: bool
    comm: str
    form: str
    graph: str
    plot: Path | None
    as_json: bool
    csv_file: Path | None
    launcher: tuple[str, ...]

    def plan(self) -> list[tuple[str, int]]:
        """Operations and sizes, as far as they can be measured."""
        return planned(listed(self.operations, OPERATIONS), sizes_in_bytes(self.sizes))

    def program_options(self, plan: Sequence[tuple[str, int]], wanted: Sequence[str]) -> list[str]:
        """What the benchmark program is told, which tries the candidates `wanted`."""
        names = dict.fromkeys(operation for operation, _ in plan)
        byte_counts = sorted({size for operation, size in plan if operation != "barrier"}) or [0]
        options = ["--operations", ",".join(names), "--sizes", ",".join(map(str, byte_counts))]
        options += ["--precision", f"{self.precision / 100:g}"]
        options += ["--samples", str(self.samples), "--seconds", str(self.seconds)]
        options += ["--skip-verify"] if self.skip_verify else []
        options += [
            "--comm",
            self.comm,
            "--form",
            self.form,
            "--graph",
            self.graph,
            "--start",
            self.start,
            *(["--cold"] if self.cold else []),
        ]
        if self.skew > 0:
            options += ["--skew", f"{self.skew:g}", "--seed", str(self.seed)]
        if wanted:
            options += ["--candidates", ";".join(wanted), "--finalists", str(self.finalists)]
        return options

    def settings(self, wanted: Sequence[str]) -> dict[str, str]:
        """Those of the job."""
        settings = settings_from_environment(os.environ)
        if wanted:
            settings.setdefault("UNISONO_LOG", "quiet")  # what may not run is left out, and not spoken of
        require_algorithms(self.algorithm)
        if self.algorithm:
            settings["UNISONO_ALGORITHM"] = self.algorithm
        return settings

    def conditions(self) -> str:
        """How calls begin, in words."""
        caches = "cold" if self.cold else "warm"
        parts = [f"communicator: {self.comm}", f"start: {self.start}", f"caches: {caches}"]
        if self.form != "blocking":
            parts.append("calls that do not block, each waited for at once")
        if self.skew > 0:
            parts.append(f"ranks arrive within {self.skew:g} us at random (seed {self.seed})")
        return "; ".join(parts)


@click.command(
    cls=JobCommand,
    heeds_options=[],
    context_settings={"allow_interspersed_args": False},
    options_metavar="[OPTIONS] [--]",
)
@operations_option
@sizes_option()
@click.option(
    "--precision",
    type=RealRange(min=0),
    default=1.0,
    show_default=True,
    metavar="PERCENT",
    help="Take samples until half the 95 % interval of each median is at most so much of it; 0: until time or number are reached.",
)
@click.option(
    "--samples",
    type=click.IntRange(1, 1_000_000),
    default=1000,
    show_default=True,
    help="Most samples of each kind for a cell.",
)
@click.option(
    "--seconds",
    type=RealRange(min=0, min_open=True),
    default=1.0,
    show_default=True,
    help="Most time for a cell.",
)
@click.option(
    "--algorithm", cls=ListOption, default="", help="Force algorithms, as in `unisono run --algorithm`."
)
@click.option(
    "--try",
    "tried",
    cls=ListOption,
    default="",
    metavar="ALGORITHMS",
    help="Try algorithms beside Unisono's own choice: `all`, `best` (all, with several parameters each), or names as in "
    "`ring,chain(segment=64K)`. The fastest take part in the alternation.",
)
@click.option(
    "--finalists",
    type=click.IntRange(1, 1000),
    default=2,
    show_default=True,
    help="How many of those tried are measured to the end.",
)
@click.option("--skip-verify", is_flag=True, help="Do not compare the results of native and Unisono.")
@mpicc_option
@click.option(
    "--start",
    type=HintingChoice(["barrier", "window"]),
    default="barrier",
    show_default=True,
    help="What lets ranks begin together: a barrier, or a time agreed on by synchronised clocks.",
)
@click.option(
    "--skew",
    type=RealRange(min=0),
    default=0.0,
    metavar="US",
    help="Ranks arrive at each call at random within so many microseconds; times count from the last arrival.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of the random arrivals."
)
@click.option("--cold", is_flag=True, help="Purge the caches before each call.")
@click.option(
    "--comm",
    default=WORLD,
    show_default=True,
    metavar="LAYOUT",
    callback=communicator,
    help="The communicators: world; split:N, N groups of neighbouring ranks; strided:N, N groups, ranks dealt out in "
    "turn; node, the ranks of each node; leaders, one rank of each node; reversed, the world from the last rank to the first. "
    "All groups at the same time.",
)
@click.option(
    "--form",
    type=HintingChoice(["blocking", "non-blocking"]),
    default="blocking",
    show_default=True,
    help="The calls: MPI_Bcast and the like, or MPI_Ibcast and the like with MPI_Wait behind each.",
)
@click.option(
    "--graph",
    default="grid",
    show_default=True,
    metavar="GRAPH",
    callback=graph,
    help="Who is whose neighbour in the neighbor_... operations: grid, of two dimensions; moore:D,R, all ranks up to R away on a "
    "torus of D dimensions; random:P, each pair with probability P; ring; complete.",
)
@plot_option("Draw native and Unisono with their intervals over sizes into this .svg or .png file.")
@json_option("Print the cells as JSON.")
@click.option("--csv", "csv_file", type=click.Path(path_type=Path), help="Also write the cells to this file.")
@launcher_argument
@collected(Asked)
def command(asked: Asked) -> None:
    """Measure collectives natively and under Unisono, alternating in one run.

    LAUNCHER is what would start a program, without the program:

    \b
      unisono bench -- mpirun -n 4
      unisono bench --operation allreduce,bcast --size 8,64K,1M -- mpirun -n 8

    A sample is a batch of calls; its time is the longest rank's, divided by the calls. Batches of the MPI's own collectives and of
    Unisono's alternate, their results are compared, and the table gives medians and the 95 % interval of their ratio. Ends with status 1 where results
    differ.

    Small messages are measured in batches with warm caches, behind a barrier; large ones call by call, their data written
    anew. With --skew or --cold every call is measured by itself:

    \b
      unisono bench --skew 50 --seed 7 --operation bcast,allreduce -- mpirun -n 4
      unisono bench --cold --start window --size 64K,1M --plot cold.svg -- mpirun -n 4
      unisono bench --form non-blocking --operation bcast,alltoall --size 64K,1M -- mpirun -n 2
    """
    picture_name(asked.plot)
    plan = asked.plan()
    files.require_outputs({"--csv": asked.csv_file, "--plot": asked.plot})
    wanted = _candidates(asked.tried, list(dict.fromkeys(operation for operation, _ in plan)))
    options = asked.program_options(plan, wanted)
    words = bench.command_line(asked.launcher, asked.settings(wanted), options, asked.mpicc)
    done: list[bench.Cell] = []
    try:
        cells, status = _measured(words, len(plan), done.append)
    except KeyboardInterrupt as ended:
        _write(asked, done)
        printing.echo(
            f"unisono: interrupted after {len(done)} of {len(plan)} cells; what they say is printed, and nothing else is kept",
            err=True,
        )
        raise SystemExit(interrupted_status(ended)) from None
    _write(asked, cells)
    if status != 0:
        printing.echo(f"unisono: the benchmark ended with status {status}", err=True)
    elif not cells:
        printing.echo("unisono: the benchmark has measured nothing; does the launcher start ranks?", err=True)
    click.get_current_context().exit(status if cells or status else 1)


def _measured(
    words: Sequence[str], count: int, on_cell: Callable[[bench.Cell], None]
) -> tuple[list[bench.Cell], int]:
    """The cells, of which there should be so many, and the job's exit status; `on_cell` hears of each when it is there."""
    with printing.progress() as progress:
        task = progress.add_task("measuring", total=count)

        def advance(cell: bench.Cell) -> None:
            on_cell(cell)
            progress.update(task, advance=1, description=f"{cell.operation} {units.bytes_text(cell.bytes)}")

        return bench.measure(words, advance)


def _write(asked: Asked, cells: Sequence[bench.Cell]) -> None:
    """Files come last: what was measured is printed even where the disk is full."""
    if asked.as_json:
        printing.print_json(bench.as_rows(cells))
    elif cells:
        _print_table(cells)
        printing.echo(asked.conditions())
    if asked.csv_file and cells:
        _write_csv(asked.csv_file, cells)
    if asked.plot and cells:
        from unisono.reporting.plots import native_and_unisono

        native_and_unisono(cells, asked.plot, asked.conditions())


def _candidates(tried: str, operations: Sequence[str]) -> list[str]:
    if not tried:
        return []
    algorithms = tool.algorithms()
    if tried == "all":
        return candidates.standard(algorithms, operations)
    if tried == "best":
        return candidates.varied(algorithms, operations)
    named = candidates.named(algorithms, operations, candidates.split(tried))
    for choice in named:
        if "(" in choice:  # the job would leave out without a word what has such parameters
            require_sensible({"algorithm": (choice, f"--try {choice}")})
    return named


def _print_candidates(cells: Sequence[bench.Cell]) -> None:
    right = ("bytes", "time", "over native", "95 % interval", "over Unisono's own")
    table = printing.table(
        "Fastest of those tried",
        *("operation", "algorithm", *right, "own choice"),
        right=right,
        whole=("operation",),
        give_way=("own choice", "over Unisono's own"),
    )
    for c in cells:
        for candidate in c.candidates:
            if candidate.seconds is None:
                continue
            table.add_row(
                c.operation,
                candidate.name,
                units.size_text(c.operation, c.bytes),
                units.seconds_text(candidate.seconds),
                f"{candidate.speedup:.2f}",
                f"{candidate.speedup_low:.2f} - {candidate.speedup_high:.2f}",
                f"{c.unisono_s / candidate.seconds:.2f}",
                c.algorithm,
            )
    printing.console().print(table)


def _print_table(cells: Sequence[bench.Cell]) -> None:
    right = ("bytes", "native", "Unisono", "speed-up", "95 % interval", "samples")
    table = printing.table(
        None,
        *("operation", *right, "results"),
        right=right,
        whole=("operation",),
        give_way=("samples",),
    )
    for c in cells:
        style = "good" if c.speedup_low > 1 else "bad" if c.speedup_high < 1 - _NOISE else ""
        table.add_row(
            c.operation,
            units.size_text(c.operation, c.bytes),
            units.seconds_text(c.native_s),
            units.seconds_text(c.unisono_s),
            f"{c.speedup:.2f}",
            f"{c.speedup_low:.2f} - {c.speedup_high:.2f}",
            str(c.samples),
            "same" if c.is_same else "DIFFERENT",
            style=style,
        )
    console = printing.console()
    console.print(table)
    console.print(
        f"{cells[0].ranks} ranks; times are medians of the longest rank, a call; geometric mean of the speed-ups "
        f"{bench.geometric_mean(cells):.2f}"
    )
    if any(c.candidates for c in cells):
        _print_candidates(cells)


def _write_csv(path: Path, cells: Sequence[bench.Cell]) -> None:
    rows = [
        {name: value for name, value in row.items() if name != "candidates"}
        | {"best": c.best.name if c.best else "", "best_s": c.best.seconds if c.best else ""}
        for row, c in zip(bench.as_rows(cells), cells, strict=True)
    ]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    files.write_whole(path, text.getvalue())
