# SPDX-License-Identifier: BSD-3-Clause
"""`unisono tune`: measure which algorithms are fastest, and write a table of decisions."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from unisono import bench, decision_table, files, machine_measuring, machines, tool, tuning
from unisono.commands import tune_machine
from unisono.commands.bench import listed, picture_name, size_in_bytes
from unisono.commands.given import given_words
from unisono.commands.run import settings_from_environment
from unisono.commands.tune_run import NO_MACHINE, TuningRun
from unisono.page import build

_SIZES = "8,64,512,4K,32K,256K,2M"
_INTERRUPTED = 130  # as the shell has it of what SIGINT has ended


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
@click.pass_context
def command(
    context: click.Context,
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
    written_by = shlex.join(["unisono", "tune", *given_words(context), "--", *launcher])
    target = output or (Path("unisono-table.json") if only is None else None)
    if target is not None:
        files.require_own(target, decision_table.SCHEMA if only is None else machines.SCHEMA)
    if only is not None:
        if page is not None:
            raise click.UsageError("--report is of a tuning, not of --only measure: see --plot")
        with _interruptible(lambda: "interrupted: of a machine that is half measured nothing is kept"):
            tune_machine.command(
                bench.command_line(
                    launcher, settings | machine_measuring.SETTINGS, machine_measuring.PROGRAM_OPTIONS, mpicc
                ),
                written_by,
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
    if machine not in (None, NO_MACHINE):
        tool.ask(
            "machine", "--machine", machines.resolve(machine)
        )  # refuses what is none, before a job is started
    plan = _plan(listed(operations, bench.OPERATIONS), [size_in_bytes(text) for text in sizes.split(",")])
    words = bench.command_line(
        launcher,
        settings,
        ["--serve", "--sizes", ",".join(str(size) for _, size in plan)],
        mpicc,
    )
    run = TuningRun(
        target or Path("unisono-table.json"),
        words,
        plan,
        budget_in_seconds(budget),
        exhaustive,
        machine,
        {"launcher": launcher, "settings": settings},
    )
    if restart:
        run.unfinished.forget()
    with _interruptible(run.interrupted_text):
        run.go()
    run.write_table(written_by)
    if page is not None:
        run.write_page(page)
    run.say()


@contextmanager
def _interruptible(said: Callable[[], str]) -> Iterator[None]:
    """Ctrl-C ends the command with what is to be known then."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"unisono: {said()}", err=True)
        raise SystemExit(_INTERRUPTED) from None


def _plan(operations: Sequence[str], sizes: Sequence[int]) -> list[tuple[str, int]]:
    return [
        (operation, size)
        for operation in operations
        for size in (sorted(set(sizes)) if operation != "barrier" else [0])
        if operation not in tuning.REDUCTIONS or size % 8 == 0
    ]
