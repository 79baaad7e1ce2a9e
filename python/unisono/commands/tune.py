# SPDX-License-Identifier: BSD-3-Clause
"""`unisono tune`: measure which algorithms are fastest, and write a table of decisions."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich.progress import Progress, TaskID

from unisono import (
    bench,
    decision_table,
    files,
    machine_measuring,
    machines,
    search_space,
    tables,
    tool,
    tuning,
)
from unisono.commands import tune_machine
from unisono.commands.bench import listed, picture_name, size_in_bytes
from unisono.commands.run import settings_from_environment
from unisono.errors import UnisonoError
from unisono.machine import processor_name
from unisono.measuring import JobError, Measurer, Place
from unisono.page import build, sources
from unisono.searching import Tuner

_SIZES = "8,64,512,4K,32K,256K,2M"
_MOST_BYTES = 64 << 20  # that a rank holds of all blocks: larger blocks are left out
_LEAST_CELL_S = 0.1
_MOST_FAILURES = 5
_NO_MACHINE = "none"


def budget_in_seconds(text: str) -> float:
    """`300`, `90s`, `5m`, `1h` -> seconds."""
    units = {"s": 1, "m": 60, "h": 3600}
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1)
    try:
        seconds = float(number) * unit
    except ValueError:
        seconds = 0
    if not seconds > 0:
        raise click.BadParameter(f"'{text}' is no time; write 300, 90s, 5m or 1h")
    return seconds


@click.command(context_settings={"allow_interspersed_args": False}, options_metavar="[OPTIONS] [--]")
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The table to write  [default: unisono-table.json], or the machine's file  [default: NAME.json in the user's "
    "cache directory].",
)
@click.option(
    "--only",
    type=click.Choice(["measure"]),
    help="measure: find what messages and shared memory cost here, and write a machine's file in the place of a table.",
)
@click.option("--name", help="With --only measure: the machine's name  [default: the host's].")
@click.option("--budget", default="5m", show_default=True, help="Time for all of it: 90s, 5m, 1h.")
@click.option(
    "--operation", "operations", default=",".join(bench.OPERATIONS), help="Operations, separated by commas."
)
@click.option(
    "--size", "sizes", default=_SIZES, show_default=True, help="Message sizes, separated by commas."
)
@click.option(
    "--exhaustive", is_flag=True, help="Look at every setting of every algorithm, whatever time it takes."
)
@click.option(
    "--machine",
    metavar="NAME|FILE",
    help="Leave out what `unisono predict` expects to take three times as long as the fastest on this machine  "
    "[default: the one that --only measure has left here; `none`: no prediction]. With --only measure: where what is not "
    "measured comes from  [default: typical].",
)
@click.option(
    "--plot",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --only measure: draw the curves into this .svg or .png file.",
)
@click.option(
    "--json", "as_json", is_flag=True, help="With --only measure: print the machine's file as JSON."
)
@click.option(
    "--report",
    "page",
    metavar="PAGE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write what was measured and decided as one HTML page, which needs no network.",
)
@click.option("--restart", is_flag=True, help="Forget what an interrupted run has left.")
@click.option(
    "--mpicc",
    type=click.Path(exists=True, path_type=Path),
    help="The MPI's C compiler, where it is not beside the launcher.",
)
@click.argument("launcher", metavar="LAUNCHER...", nargs=-1, required=True, type=click.UNPROCESSED)
def command(
    output: Path | None,
    only: str | None,
    name: str | None,
    budget: str,
    operations: str,
    sizes: str,
    exhaustive: bool,
    machine: str | None,
    page: Path | None,
    plot: Path | None,
    as_json: bool,
    restart: bool,
    mpicc: Path | None,
    launcher: tuple[str, ...],
) -> None:
    """Find the fastest algorithms by measuring, and write a table of decisions.

    LAUNCHER is what would start a program, without the program; the table is for that number of ranks and nodes, and serves
    nearby ones:

    \b
      unisono tune -- mpirun -n 4
      unisono tune --budget 20m -o site.json -- mpirun -n 64 --map-by node
      unisono run --table unisono-table.json mpirun -n 4 ./program

    Few algorithms are measured long: first Unisono's own choice and what has won at the size before, then representatives of each
    group, the best groups, and the parameters of the best algorithms; the last of them in turn with the own choice and the MPI's
    own collective, until it is known which is the fastest. The own choice stays wherever nothing is faster beyond noise. What is
    done is kept beside the table: the same command goes on where it was interrupted.

    With --only measure no collective is tuned: messages inside and between nodes and the operations on shared memory are
    measured one by one, and a file that describes this machine is written, for predictions, learning, and later tuning:

    \b
      unisono tune --only measure --plot machine.svg -- mpirun -n 8
      unisono predict allreduce --layout 64x8 --machine $(hostname -s)
    """
    settings = settings_from_environment(os.environ) | {"UNISONO_LOG": "quiet", "UNISONO_LEARN": "off"}
    picture_name(plot)
    if only is not None:
        if page is not None:
            raise click.UsageError("--report is of a tuning, not of --only measure: see --plot")
        tune_machine.command(
            bench.command_line(
                launcher, settings | machine_measuring.SETTINGS, machine_measuring.PROGRAM_OPTIONS, mpicc
            ),
            launcher,
            budget_in_seconds(budget),
            machine or "typical",
            name,
            output,
            plot,
            as_json,
        )
        return
    for given, option in ((name, "--name"), (plot, "--plot"), (as_json, "--json")):
        if given:
            raise click.UsageError(f"{option} goes with --only measure")
    if page is not None:
        build.require_name(page)
    plan = _plan(listed(operations, bench.OPERATIONS), [size_in_bytes(text) for text in sizes.split(",")])
    words = bench.command_line(
        launcher,
        settings,
        ["--serve", "--sizes", ",".join(str(size) for _, size in plan)],
        mpicc,
    )
    run = _Run(
        output or Path("unisono-table.json"), words, plan, budget_in_seconds(budget), exhaustive, machine
    )
    if restart:
        run.forget()
    run.go()
    run.write_table(["unisono", "tune", *launcher])
    if page is not None:
        run.write_page(page)
    run.say()


def _plan(operations: Sequence[str], sizes: Sequence[int]) -> list[tuple[str, int]]:
    return [
        (operation, size)
        for operation in operations
        for size in (sorted(set(sizes)) if operation != "barrier" else [0])
        if operation not in tuning.REDUCTIONS or size % 8 == 0
    ]


def predicted_us(
    machine: str, layout: str, operation: str, size: int, candidates: Sequence[search_space.Candidate]
) -> list[float | None]:
    """What the candidates should take on the described machine; None: not known."""
    return predicted_by_size(machine, layout, operation, [size], candidates)[size]


def predicted_by_size(
    machine: str,
    layout: str,
    operation: str,
    sizes: Sequence[int],
    candidates: Sequence[search_space.Candidate],
) -> dict[int, list[float | None]]:
    """The same at several sizes."""
    words = [word for candidate in candidates for word in ("--algorithm", str(candidate))]
    words += [word for size in sizes for word in ("--bytes", str(size))]
    question = ["--operation", operation, "--layout", layout, "--machine", machine]
    answers = {}
    for answer in tool.ask_lines("predict", *question, *words):
        times = {entry["asked"]: entry["us"] for entry in answer["predictions"]}
        answers[answer["bytes"]] = [times.get(str(candidate)) for candidate in candidates]
    return answers


class Predictions:
    """What candidates should take, asked for at all sizes of an operation at once: each question starts a program."""

    def __init__(self, machine: str, layout: str, plan: Sequence[tuple[str, int]]) -> None:
        self._machine, self._layout, self._plan = machine, layout, plan
        self._known: dict[tuple[str, int], list[float | None]] = {}

    def __call__(
        self, operation: str, size: int, candidates: Sequence[search_space.Candidate]
    ) -> list[float | None]:
        if (operation, size) not in self._known:
            sizes = [s for o, s in self._plan if o == operation]
            found = predicted_by_size(self._machine, self._layout, operation, sizes, candidates)
            self._known |= {(operation, s): times for s, times in found.items()}
        return self._known[operation, size]


class _Run:
    """One tuning: its cells, what is done of them, and what it has cost."""

    def __init__(
        self,
        output: Path,
        words: Sequence[str],
        plan: Sequence[tuple[str, int]],
        budget_s: float,
        exhaustive: bool,
        machine: str | None,
    ) -> None:
        self.output = output
        self.kept = output.with_name(f".{output.name}.progress")
        self.words = words
        self.plan = plan
        self.budget_s = budget_s
        self.tuner = Tuner(tool.algorithms(), is_exhaustive=exhaustive)
        self.machine = machine
        self.outcomes: list[tuning.Outcome] = []
        self.place: Place | None = None
        self.troubles: list[str] = []
        self.left_out = 0

    def forget(self) -> None:
        self.kept.unlink(missing_ok=True)

    def go(self) -> None:
        with tables.progress() as progress:
            task = progress.add_task("tuning", total=len(self.plan))
            failures = 0
            while failures < _MOST_FAILURES:
                try:
                    with Measurer(self.words) as job:
                        self._begin(job.place)
                        self._cells(job, progress, task)
                    return
                except JobError as error:
                    failures += 1
                    if self.place is None:
                        raise
                    self._note(error)
        raise UnisonoError(
            f"the measuring job has failed {failures} times; what was measured before is kept, and the same command goes on"
        )

    def _begin(self, place: Place) -> None:
        if self.place is not None:
            return
        self.place = place
        self._read_kept()
        least, most = place.ranks_per_node
        machine = machines.resolve(self.machine) if self.machine else machines.measured_for(place)
        if machine is not None and machine != _NO_MACHINE:
            self.tuner.ranges = search_space.ranges_of(machines.findings(machine), place.nodes)
            if least == most:
                self.tuner.expected = Predictions(str(machine), place.layout, self.plan)
            if self.machine is None:
                click.echo(f"unisono: predictions go by {machine}, which was measured here", err=True)

    def _note(self, error: JobError) -> None:
        """Candidates that the job died of are not tried again."""
        operation, size = self._left()[0]
        names = [name for name in error.candidates if name != "native"]
        self.tuner.failed |= {(operation, name) for name in names}
        self.troubles.append(
            f"{operation}, {tables.bytes_text(size)}: {error}; left out: {', '.join(names) or 'nothing'}"
        )

    def _left(self) -> list[tuple[str, int]]:
        done = {(outcome.operation, outcome.bytes) for outcome in self.outcomes}
        return [cell for cell in self.plan if cell not in done and not self._is_too_large(*cell)]

    def _is_too_large(self, operation: str, size: int) -> bool:
        assert self.place is not None
        return operation not in bench.ON_ONE_VECTOR and size * self.place.ranks > _MOST_BYTES

    def _cells(self, job: Measurer, progress: Progress, task: TaskID) -> None:
        left = self._left()
        self.left_out = len(self.plan) - len(left) - len(self.outcomes)
        progress.update(task, total=len(left) + len(self.outcomes), completed=len(self.outcomes))
        end = time.monotonic() + self.budget_s - sum(outcome.seconds for outcome in self.outcomes)
        for number, (operation, size) in enumerate(left):
            progress.update(task, description=f"{operation} {tables.bytes_text(size)}")
            share_s = (end - time.monotonic()) / (len(left) - number)
            self.outcomes.append(self.tuner.tune(job, operation, size, max(share_s, _LEAST_CELL_S)))
            self._keep()
            progress.advance(task)

    def _read_kept(self) -> None:
        """Go on with what an interrupted run of the same job has left."""
        try:
            kept = json.loads(self.kept.read_text())
        except (OSError, json.JSONDecodeError):
            return
        if kept.get("place") != json.loads(json.dumps(asdict(self.place))):  # type: ignore[arg-type]
            return
        for entry in kept["outcomes"]:
            outcome = tuning.Outcome(**entry | {"cell": bench.from_row(entry["cell"])})
            if (outcome.operation, outcome.bytes) in self.plan:
                self.outcomes.append(outcome)
        if self.outcomes:
            click.echo(
                f"unisono: goes on after {len(self.outcomes)} cells that an interrupted run has left",
                err=True,
            )

    def _keep(self) -> None:
        assert self.place is not None
        kept = {"place": asdict(self.place), "outcomes": [asdict(outcome) for outcome in self.outcomes]}
        files.write_whole(self.kept, json.dumps(kept))

    def write_table(self, command_line: Sequence[str]) -> None:
        assert self.place is not None
        provenance = {"machine": processor_name(), "mpi": self.place.mpi}
        table = decision_table.document(
            tuning.rules(self.outcomes, self.place), " ".join(command_line), **provenance
        )
        files.write_whole(self.output, decision_table.as_text(table))
        self.forget()

    def write_page(self, page: Path) -> None:
        (table,) = decision_table.require((str(self.output),))
        cells = [outcome.cell for outcome in self.outcomes]
        source = sources.Table(str(self.output), self.output.stem, table, cells)
        build.write(page, [source], self.machine or build.STANDARD_MACHINE)
        click.echo(f"page: {page}")

    def say(self) -> None:
        assert self.place is not None
        right = ("bytes", "native", "tuned", "over native", "over own choice", "looked at")
        made = tables.table(
            f"{self.place.mpi}, {self.place.layout}", "operation", *right, "algorithm", right=right
        )
        for outcome in self.outcomes:
            winner = outcome.winner()
            cell = outcome.cell
            made.add_row(
                outcome.operation,
                tables.bytes_text(outcome.bytes) if outcome.operation != "barrier" else "",
                tables.seconds_text(cell.native_s),
                tables.seconds_text(outcome.time_s(winner)),
                f"{outcome.speedup(winner):.2f}",
                f"{outcome.speedup(winner) / cell.speedup:.2f}",
                str(outcome.looked),
                winner,
            )
        console = tables.console()
        console.print(made)
        seconds = sum(outcome.seconds for outcome in self.outcomes)
        looked = sum(outcome.looked for outcome in self.outcomes)
        every = sum(self.tuner.settings(outcome.operation, outcome.bytes) for outcome in self.outcomes)
        console.print(
            f"{seconds:.0f} s for {len(self.outcomes)} cells, {looked} settings looked at of {every} that an exhaustive search has"
        )
        if self.left_out:
            console.print(f"left out: {self.left_out} cells whose blocks are too large together")
        for trouble in self.troubles:
            click.echo(f"unisono: {trouble}", err=True)
        wrong = [o for o in self.outcomes if not o.cell.is_same]
        for outcome in wrong:
            click.echo(
                f"unisono: {outcome.operation}, {outcome.bytes} bytes: results differ from the MPI's",
                err=True,
            )
        click.echo(f"table: {self.output}   (use it: unisono run --table {self.output} ...)")
        if wrong:
            click.get_current_context().exit(1)
