# SPDX-License-Identifier: BSD-3-Clause
"""`unisono tune`: measure which algorithms are fastest, and write a table of decisions."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import click
from click.core import ParameterSource

from unisono.commands import tune_machine
from unisono.commands.bench import communicator, listed, picture_name, size_in_bytes
from unisono.commands.cells import planned
from unisono.commands.given import given_words
from unisono.commands.lists import ListOption
from unisono.commands.tune_all import Tuning
from unisono.commands.tune_proof import Proof
from unisono.commands.tune_run import NO_MACHINE, WORLD, Asked
from unisono.common import files, printing, tool
from unisono.common.budget import Budget
from unisono.common.errors import INTERRUPTED, UsageError
from unisono.common.operations import OPERATIONS, WITHOUT_SIZE
from unisono.launch.job import settings_from_environment
from unisono.machine import catalogue, measuring
from unisono.measuring import bench
from unisono.page import build
from unisono.tables import decision_table

_SIZES = "8,64,512,4K,32K,256K,2M"
_MOST_BUDGET_S = 30 * 24 * 3600.0
# What --only measure has no use for, and what serves instead.
_OF_TUNING = {
    "operations": "",
    "sizes": "",
    "comms": "",
    "prove": "",
    "exhaustive": "",
    "restart": "",
    "page": ": see --plot",
}


def budget_in_seconds(text: str) -> float:
    """`300`, `90s`, `5m`, `1h` -> seconds."""
    units = {"s": 1, "m": 60, "h": 3600}
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1)
    try:
        seconds = float(number) * unit
    except ValueError:
        seconds = 0
    if not (seconds > 0 and math.isfinite(seconds)):
        raise click.BadParameter(f"'{text}' is no time; write 300, 90s, 5m or 1h")
    if seconds > _MOST_BUDGET_S:
        raise click.BadParameter(f"'{text}' is more than 30 days (720h)")
    return seconds


def _communicators(context: click.Context, parameter: click.Parameter, value: str) -> list[str]:
    kinds = list(dict.fromkeys(value.split(",")))
    for kind in kinds:
        communicator(context, parameter, kind)
    return kinds


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
@click.option(
    "--budget",
    default="5m",
    show_default=True,
    help="Time for all of it, from the command's start: 90s, 5m, 1h. What it does not suffice for is left for the next run.",
)
@click.option(
    "--operation",
    "operations",
    cls=ListOption,
    default=",".join(OPERATIONS),
    help="Operations, separated by commas.",
)
@click.option(
    "--size",
    "sizes",
    cls=ListOption,
    default=_SIZES,
    show_default=True,
    help="Message sizes, separated by commas.",
)
@click.option(
    "--comm",
    "comms",
    cls=ListOption,
    default=WORLD,
    show_default=True,
    metavar="LAYOUTS",
    callback=_communicators,
    help="The communicators to tune for, separated by commas: world; node, the ranks of each node; leaders, one rank of each "
    "node; split:N, N groups of neighbouring ranks. What has the layout of one before it is left out.",
)
@click.option(
    "--prove",
    is_flag=True,
    help="Then search exhaustively too, let both decisions and native take turns, and say what tuning has lost and which part "
    "of the search's time it took. Takes as long as the search.",
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
    comms: list[str],
    prove: bool,
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

    Communicators of other layouts than the job's world, as programs make them of a node's ranks or of one rank of each node, are
    tuned in the same run:

    \b
      unisono tune --comm world,node,leaders -- mpirun -n 64 --map-by node

    With --only measure no collective is tuned: messages inside and between nodes and the operations on shared memory are
    measured one by one, and a file that describes this machine is written, for predictions, learning, and later tuning:

    \b
      unisono tune --only measure --plot machine.svg -- mpirun -n 8
      unisono predict allreduce --layout 64x8 --machine $(hostname -s)
    """
    time = Budget(budget_in_seconds(budget))  # from here on
    settings = settings_from_environment(os.environ) | {"UNISONO_LOG": "quiet", "UNISONO_LEARN": "off"}
    _require_real_layout(settings)
    if only is not None:
        _require_of_measuring(context)
    picture_name(plot)
    written_by = shlex.join(["unisono", "tune", *given_words(context), "--", *launcher])
    target = output or (Path("unisono-table.json") if only is None else None)
    if target is not None:
        files.require_own(target, decision_table.SCHEMA if only is None else catalogue.SCHEMA)
    if only is not None:
        if name is not None:
            catalogue.require_name(name)
        files.require_outputs({"--output": output, "--plot": plot})
        with _interruptible(lambda: "interrupted: of a machine that is half measured nothing is kept"):
            tune_machine.command(
                bench.command_line(launcher, settings | measuring.SETTINGS, measuring.PROGRAM_OPTIONS, mpicc),
                written_by,
                time,
                machine or "typical",
                name,
                output,
                plot,
                as_json,
            )
        return
    if prove and exhaustive:
        raise click.UsageError("--prove makes an exhaustive search beside the tuning: leave --exhaustive out")
    for given, option in ((name, "--name"), (plot, "--plot"), (as_json, "--json")):
        if given:
            raise click.UsageError(f"{option} goes with --only measure")
    if page is not None:
        build.require_name(page)
    files.require_outputs({"--output": target, "--report": page})
    if machine not in (None, NO_MACHINE):
        tool.ask(
            "machine", "--machine", catalogue.resolve(machine)
        )  # refuses what is none, before a job is started
    plan = planned(listed(operations, OPERATIONS), [size_in_bytes(text) for text in sizes.split(",")])
    if prove and all(operation in WITHOUT_SIZE for operation, _ in plan):
        raise click.UsageError(
            "--prove: of these operations no decision goes by size; all algorithms are measured at all sizes anyway"
        )
    asked = Asked(
        target or Path("unisono-table.json"),
        machine,
        {"launcher": launcher, "settings": settings},
        lambda options, more: bench.command_line(launcher, settings | dict(more), options, mpicc),
        is_proof=prove,
    )
    asked.words([], {})  # refuses what cannot be started
    whole = Tuning(asked, comms, plan, exhaustive)
    if restart:
        whole.unfinished.forget()
    whole.say_damage()
    with _interruptible(whole.interrupted_text):
        whole.go(time)
    whole.write_table(written_by)
    if not prove:
        whole.drop_kept()
    if page is not None:
        whole.write_page(page)
    is_right = whole.say()
    if prove:
        proof = Proof(whole)
        with _interruptible(proof.interrupted_text):
            proof.go()
        proof.say()
    if not is_right:
        context.exit(1)


@contextmanager
def _interruptible(said: Callable[[], str]) -> Iterator[None]:
    """Ctrl-C ends the command with what is to be known then."""
    try:
        yield
    except KeyboardInterrupt:
        printing.echo(f"unisono: {said()}", err=True)
        raise SystemExit(INTERRUPTED) from None


def _require_real_layout(settings: Mapping[str, str]) -> None:
    """Messages between nodes that are only pretended go through one node's memory: what is fastest there is fastest nowhere else,
    and the rules would be for the layout that the launcher's ranks have."""
    if settings.get("UNISONO_NODES"):
        raise UsageError(
            f"UNISONO_NODES={settings['UNISONO_NODES']} pretends a layout, which cannot be tuned for: a table's rules are for the "
            "layout that ranks have; unset it"
        )


def _require_of_measuring(context: click.Context) -> None:
    for param in context.command.params:
        is_given = context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        if is_given and param.name in _OF_TUNING:
            option = max(param.opts, key=len)
            raise UsageError(f"{option} is of a tuning, not of --only measure{_OF_TUNING[param.name]}")
