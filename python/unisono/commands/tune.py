# SPDX-License-Identifier: BSD-3-Clause
"""`unisono tune`: measure which algorithms are fastest, and write a table of decisions."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from click.core import ParameterSource

from unisono.commands import machine
from unisono.commands.cells import planned
from unisono.commands.given import given_words
from unisono.commands.hints import HintingChoice
from unisono.commands.jobs import (
    JobCommand,
    budget_option,
    interruptible,
    launcher_argument,
    mpicc_option,
    quiet_settings,
)
from unisono.commands.lists import ListOption
from unisono.commands.tune_all import Tuning
from unisono.commands.tune_proof import Proof
from unisono.commands.tune_run import Asked
from unisono.commands.values import (
    WORLD,
    budget_in_seconds,
    collected,
    communicators,
    hint,
    listed,
    operations_option,
    sizes_in_bytes,
    sizes_option,
)
from unisono.common import files, schemas, tool
from unisono.common.budget import Budget
from unisono.common.errors import UsageError
from unisono.common.operations import OPERATIONS, WITHOUT_SIZE
from unisono.machine import catalogue
from unisono.measuring import bench
from unisono.page import build

_SIZES = "8,64,512,4K,32K,256K,2M"
_OLD = "Now `unisono machine measure`."
# What the old spelling, `--only measure`, has no use for, and what serves instead.
_OF_TUNING = {
    "operations": "",
    "sizes": "",
    "comms": "",
    "prove": "",
    "exhaustive": "",
    "search_all": "",
    "restart": "",
    "page": ": see --plot",
}


@dataclass(frozen=True)
class Given:
    """What the command line says."""

    output: Path | None
    budget: str
    operations: str
    sizes: str
    comms: list[str]
    prove: bool
    exhaustive: bool
    search_all: bool
    machine: str | None
    page: Path | None
    restart: bool
    mpicc: Path | None
    launcher: tuple[str, ...]
    # Those of the old spelling of `unisono machine measure`.
    only: str | None
    name: str | None
    plot: Path | None
    as_json: bool

    @property
    def table(self) -> Path:
        return self.output or Path("unisono-table.json")

    def asked(self, settings: Mapping[str, str]) -> Asked:
        """Of all kinds of communicators, in jobs with these settings."""

        def words(options: Sequence[str], more: Mapping[str, str]) -> list[str]:
            return bench.command_line(self.launcher, {**settings, **more}, options, self.mpicc)

        job = {"launcher": self.launcher, "settings": settings}
        return Asked(
            self.table, self.machine, job, words, is_proof=self.prove, is_judging=not self.search_all
        )


@click.command(
    cls=JobCommand, context_settings={"allow_interspersed_args": False}, options_metavar="[OPTIONS] [--]"
)
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The table to write  [default: unisono-table.json].",
)
@budget_option(" What it does not suffice for is left for the next run.")
@operations_option
@sizes_option(_SIZES)
@click.option(
    "--comm",
    "comms",
    cls=ListOption,
    default=WORLD,
    show_default=True,
    metavar="LAYOUTS",
    callback=communicators,
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
    "--search-all",
    is_flag=True,
    help="Search every operation, also where a kindred one's times say that it is not worth it.",
)
@click.option(
    "--machine",
    metavar="NAME|FILE",
    help="Leave out what `unisono predict` expects to take three times as long as the fastest on this machine  "
    "[default: the one that `unisono machine measure` has left here; `none`: no prediction].",
)
@click.option(
    "--report",
    "page",
    metavar="PAGE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write what was measured and decided as one HTML page, which needs no network.",
)
@click.option("--restart", is_flag=True, help="Forget what an interrupted run has left.")
@mpicc_option
@click.option("--only", type=HintingChoice(["measure"]), hidden=True, help=_OLD)
@click.option("--name", hidden=True, help=_OLD)
@click.option("--plot", type=click.Path(dir_okay=False, path_type=Path), hidden=True, help=_OLD)
@click.option("--json", "as_json", is_flag=True, hidden=True, help=_OLD)
@launcher_argument
@collected(Given)
def command(given: Given) -> None:
    """Find the fastest algorithms by measuring, and write a table of decisions.

    LAUNCHER is what would start a program, without the program; the table is for that number of ranks and nodes, and serves
    nearby ones:

    \b
      unisono tune -- mpirun -n 4
      unisono tune --budget 20m -o site.json -- mpirun -n 64 --map-by node
      unisono run --table unisono-table.json mpirun -n 4 ./program

    Few algorithms are measured long. First come Unisono's own choice and what has won at the size before, then representatives of
    each group, the best groups, and the parameters of the best algorithms. The last of them take turns with the own choice and
    the MPI's own collective, until it is known which is the fastest. The own choice stays wherever nothing is faster beyond
    noise. What is done is kept beside the table: the same command goes on where it was interrupted.

    Programs also make communicators of other layouts, of a node's ranks or of one rank of each node. They are tuned in the same
    run:

    \b
      unisono tune --comm world,node,leaders -- mpirun -n 64 --map-by node
    """
    if given.only is not None:
        _measure_machine(given)
        return
    time = Budget(budget_in_seconds(given.budget))  # from here on
    settings = quiet_settings()
    written_by = shlex.join(
        ["unisono", "tune", *given_words(click.get_current_context()), "--", *given.launcher]
    )
    _require_sensible(given)
    plan = _planned(given)
    asked = given.asked(settings)
    asked.words([], {})  # refuses what cannot be started
    whole = Tuning(asked, given.comms, plan, given.exhaustive)
    if given.restart:
        whole.unfinished.forget()
    whole.say_damage()
    with interruptible(whole.interrupted_text):
        whole.go(time)
    is_right = _finish(given, whole, written_by)
    if not is_right:
        click.get_current_context().exit(1)


def _finish(given: Given, whole: Tuning, written_by: str) -> bool:
    """The table, the page and the proof of what was tuned; whether all results were the MPI's."""
    whole.write_table(written_by)
    if not given.prove:
        whole.drop_kept()
    if given.page is not None:
        whole.write_page(given.page)
    is_right = whole.say()
    if given.prove:
        proof = Proof(whole)
        with interruptible(proof.interrupted_text):
            proof.go()
        proof.say()
    return is_right


def _require_sensible(given: Given) -> None:
    """Refuses what cannot be, before a job is started."""
    files.require_own(given.table, schemas.TABLE)
    if given.prove and given.exhaustive:
        raise click.UsageError("--prove makes an exhaustive search beside the tuning: leave --exhaustive out")
    for value, option in ((given.name, "--name"), (given.plot, "--plot"), (given.as_json, "--json")):
        if value:
            raise click.UsageError(f"{option} is an option of `unisono machine measure`")
    if given.page is not None:
        build.require_name(given.page)
    files.require_outputs({"--output": given.table, "--report": given.page})
    if given.machine not in (None, catalogue.NONE):
        tool.ask("machine", "--machine", catalogue.resolve(given.machine))


def _planned(given: Given) -> list[tuple[str, int]]:
    plan = planned(listed(given.operations, OPERATIONS), sizes_in_bytes(given.sizes))
    if given.prove and all(operation in WITHOUT_SIZE for operation, _ in plan):
        raise click.UsageError(
            "--prove: of these operations no decision goes by size; all algorithms are measured at all sizes anyway"
        )
    return plan


def _measure_machine(given: Given) -> None:
    """`unisono machine measure`, as it was spelt before."""
    _require_of_measuring(click.get_current_context())
    asked = machine.Asked(
        output=given.output,
        name=given.name,
        budget=given.budget,
        base=given.machine or catalogue.STANDARD,
        noise=False,
        plot=given.plot,
        as_json=given.as_json,
        mpicc=given.mpicc,
        launcher=given.launcher,
    )
    hint("unisono machine measure")
    machine.measure_here(asked, ["unisono", "tune"])


def _require_of_measuring(context: click.Context) -> None:
    for param in context.command.params:
        is_given = context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        if is_given and param.name in _OF_TUNING:
            option = max(param.opts, key=len)
            raise UsageError(f"{option} is of a tuning, not of --only measure{_OF_TUNING[param.name]}")
