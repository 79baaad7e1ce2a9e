# SPDX-License-Identifier: BSD-3-Clause
"""`unisono match`: queues of receives and messages, structures for them, and what they cost a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from unisono.commands.hints import HintingChoice, HintingGroup
from unisono.commands.jobs import JobCommand, mpicc_option, quiet_settings
from unisono.commands.lists import ListOption
from unisono.commands.values import InputFile, RealRange, collected, json_option
from unisono.common import files, printing, tool, units
from unisono.common.errors import UsageError
from unisono.measuring import candidates, matching_bench
from unisono.reporting import matching, matching_text


@click.group(cls=HintingGroup)
def command() -> None:
    """Say what the queues of messages cost a program, and what other structures would cost.

    Traces of messages are text, which docs/reference/trace-format.md describes.
    `unisono run --record-messages FILE` writes them; docs/guide/matching.md says what to do with them.
    """


_file = click.argument("file", type=InputFile())
_engine = click.option(
    "--engine",
    "engines",
    cls=ListOption,
    default="all",
    show_default=True,
    help="Structures, with settings: 'list,clusters_k_means(k=16),own'.",
)
_rank = click.option("--rank", metavar="LIST", help="Only the queues of these ranks: 0, or 0-3,8.")


def numbers(text: str, option: str, low: int, high: int) -> list[int]:
    """`16,256` as numbers within bounds."""
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() and len(word) < 10 and low <= int(word) <= high for word in words):
        raise UsageError(f"{option} {text}: wants numbers from {low} to {high}, separated by commas")
    return [int(word) for word in words]


def _engine_words(engines: str) -> list[str]:
    return [word for name in candidates.split(engines) for word in ("--engine", name)]


def _rank_words(rank: str | None) -> list[str]:
    return ["--rank", rank] if rank else []


def _asked(question: str, words: Sequence[str], doing: str) -> list[dict[str, Any]]:
    with printing.progress() as progress:
        task = progress.add_task(doing, total=100)

        def show(share: float, now: str) -> None:
            progress.update(task, completed=round(100 * share), description=f"{doing}: {now}")

        return matching.ask(question, words, show)


_ORDERS = ("forward", "middle", "reverse")
_MOST_DEPTH = 1 << 20
_OF_STRUCTURES = ("engines", "senders", "ms")
_OF_RANKS = ("rounds", "mpicc")
_MATCHED_QUEUES = ("posted", "unexpected")


@dataclass(frozen=True)
class Bench:
    """What the command line says."""

    engines: str
    depths: str
    senders: int
    apart: int
    wild: str
    order: str | None
    queue: str | None
    ms: int
    rounds: int
    mpicc: Path | None
    as_json: bool
    launcher: tuple[str, ...]

    def of_ranks(self) -> matching_bench.Asked:
        """Between the ranks of a job."""
        queues, orders = (
            (self.queue,) if self.queue else _MATCHED_QUEUES,
            (self.order,) if self.order else _ORDERS,
        )
        wild = numbers(self.wild, "--any-source", 0, 100)
        depths = numbers(self.depths, "--depth", 1, _MOST_DEPTH)
        return matching_bench.Asked(queues, orders, wild, depths, self.apart, self.rounds)


@command.command(
    cls=JobCommand, context_settings={"allow_interspersed_args": False}, options_metavar="[OPTIONS] [--]"
)
@_engine
@click.option(
    "--depth", "depths", cls=ListOption, default="16,256,2048", show_default=True, help="How many wait."
)
@click.option(
    "--senders",
    metavar="N",
    type=click.IntRange(min=1),
    default=63,
    show_default=True,
    help="Who sends, in turn.",
)
@click.option(
    "--apart",
    metavar="N",
    type=click.IntRange(1, 1024),
    default=1,
    show_default=True,
    help="How far one tag is from the next.",
)
@click.option(
    "--any-source",
    "wild",
    cls=ListOption,
    default="0,50,100",
    show_default=True,
    help="Percent of receives that ask for a message from anybody.",
)
@click.option("--order", type=HintingChoice(_ORDERS), help="Only this order.  [default: all]")
@click.option("--queue", type=HintingChoice(_MATCHED_QUEUES), help="Only this queue.  [default: both]")
@click.option(
    "--ms",
    metavar="N",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="Measure each structure for so long.",
)
@click.option(
    "--rounds",
    metavar="N",
    type=click.IntRange(1, 1000),
    default=5,
    show_default=True,
    help="Of a job: how often each way is measured.",
)
@mpicc_option
@json_option()
@click.argument("launcher", metavar="[LAUNCHER...]", nargs=-1, type=click.UNPROCESSED)
@collected(Bench)
def bench(asked: Bench) -> None:
    """Measure matching: fill a queue, then empty it forward, from the middle on, or in reverse.

    Structures alone, without a job:

    \b
      unisono match bench
      unisono match bench --engine list,own --depth 4096 --order reverse --any-source 0

    With LAUNCHER, which is what would start a program, between real ranks: all others send to rank 0, by the MPI's own
    functions and by Unisono's (`--messages node`) in turns. With 2 ranks that tells what the MPI takes to look at an element
    of each queue, which is kept for `unisono match report`.

    \b
      unisono match bench -- mpirun -n 2
    """
    if asked.launcher:
        _refuse_given(_OF_STRUCTURES, "is of structures alone; with a launcher it says nothing")
        _bench_ranks(asked)
        return
    _refuse_given(_OF_RANKS, "is of ranks; say what starts them: `unisono match bench -- mpirun -n 2`")
    words = [*_engine_words(asked.engines), "--depth", asked.depths, "--any-source", asked.wild]
    words += ["--senders", str(asked.senders), "--apart", str(asked.apart), "--ms", str(asked.ms)]
    words += ["--order", asked.order] if asked.order else []
    words += ["--queue", asked.queue] if asked.queue else []
    lines = _asked("match-bench", words, "measuring")
    if asked.as_json:
        printing.print_json(lines)
    else:
        matching_text.show_bench(lines)


def _refuse_given(names: Sequence[str], why: str) -> None:
    context = click.get_current_context()
    for param in context.command.params:
        is_given = context.get_parameter_source(param.name or "") is ParameterSource.COMMANDLINE
        if is_given and param.name in names:
            raise UsageError(f"{max(param.opts, key=len)} {why}")


def _bench_ranks(asked: Bench) -> None:
    wanted = asked.of_ranks()
    words = matching_bench.command_line(asked.launcher, quiet_settings(), wanted, asked.mpicc)
    with printing.progress() as progress:
        task = progress.add_task("measuring", total=len(wanted.words()) - 2)

        def advance(cell: matching_bench.Cell) -> None:
            progress.update(task, advance=1, description=f"{cell.queue}, {cell.order}, {cell.depth}")

        mpi, cells, status = matching_bench.measure(words, advance)
    ns = matching_bench.element_ns(cells)
    if ns:
        matching_bench.keep_cost(mpi, ns)
    if asked.as_json:
        rows = [asdict(cell) | {"speedup": cell.speedup} for cell in cells]
        printing.print_json({"mpi": mpi, "ns_per_element": ns, "cells": rows})
    elif cells:
        matching_text.show_bench_of_ranks(mpi, cells, ns)
    if status != 0 or not cells:
        printing.echo(f"unisono: the benchmark ended with status {status}", err=True)
        click.get_current_context().exit(status or 1)


@command.command()
@_file
@click.argument("written", metavar="PROFILE", type=click.Path(dir_okay=False, path_type=Path))
@_rank
@json_option()
def profile(file: Path, written: Path, rank: str | None, as_json: bool) -> None:
    """Write what a run has put into its queues, for structures of a later run.

    Some structures are made by what an earlier run has put into each queue: clusters of sources, and partners.
    `unisono match replay --profile` makes them by this file.

    \b
      unisono match profile messages.trace queues.profile
      unisono match replay later.trace --profile queues.profile

    docs/reference/queue-profile-format.md describes profiles.
    """
    words = ["--file", str(file), "--out", str(written), *_rank_words(rank)]
    answer = _asked("match-profile", words, "looking")[0]
    matching.require_messages(file, rank, answer["ranks_with_events"], answer["counts"])
    if as_json:
        printing.print_json(answer)
        return
    printing.echo(
        f"wrote {written}: {units.count_text(answer['ranks_with_events'])} of {units.counted(answer['ranks'], 'rank')}; "
        f"{units.counted(answer['posted'], 'receive')} and {units.counted(answer['unexpected'], 'message')} have waited"
    )


@command.command()
@_file
@_engine
@_rank
@click.option(
    "--profile",
    metavar="FILE",
    type=InputFile(),
    help="What an earlier run has put into its queues, as `unisono match profile` writes it.  [default: what this trace puts there]",
)
@json_option()
def replay(file: Path, engines: str, rank: str | None, profile: Path | None, as_json: bool) -> None:
    """Take a trace of messages through structures: time, elements looked at, memory.

    \b
      unisono match replay messages.trace
      unisono match replay messages.trace --engine 'list,clusters_k_means(k=16),own'
      unisono match replay later.trace --profile queues.profile

    docs/reference/trace-format.md describes traces.
    """
    words = ["--file", str(file), *_engine_words(engines), *_rank_words(rank)]
    words += ["--profile", str(profile)] if profile else []
    lines = _asked("match-replay", words, "replaying")
    matching.require_messages(file, rank, lines[0]["ranks_with_events"], lines[0]["counts"])
    if as_json:
        printing.print_json({**lines[0], "engines": lines[1:]})
    else:
        matching_text.show_replay(lines)


@command.command()
@click.argument("name", required=False)
@click.argument("file", required=False, type=click.Path(dir_okay=False, path_type=Path))
@click.option("--ranks", metavar="N", type=click.IntRange(min=2), help="Of the job.  [default: by pattern]")
@click.option(
    "--steps", metavar="N", type=click.IntRange(min=1), help="Of the program.  [default: by pattern]"
)
@click.option("--seed", metavar="N", type=click.IntRange(min=0), help="Other random orders.  [default: 1]")
def pattern(
    name: str | None, file: Path | None, ranks: int | None, steps: int | None, seed: int | None
) -> None:
    """Write a trace like that of a known program. Without a name, list the patterns.

    \b
      unisono match pattern
      unisono match pattern fds fds.trace --ranks 2048
    """
    if name is None:
        made = printing.table(None, "pattern", "ranks", "steps", "what it is", right=("ranks", "steps"))
        for one in tool.ask("match-pattern")["patterns"]:
            made.add_row(one["name"], str(one["ranks"]), str(one["steps"]), one["sentence"])
        printing.console().print(made)
        return
    if file is None:
        raise click.UsageError("say which file is written: unisono match pattern fds fds.trace")
    given = {"ranks": ranks, "steps": steps, "seed": seed}
    words = [word for key, value in given.items() if value is not None for word in (f"--{key}", str(value))]
    answer = tool.ask("match-pattern", "--name", name, "--out", str(file), *words)
    printing.echo(
        f"wrote {file}: {units.counted(answer['ranks'], 'rank')}, {units.counted(answer['events'], 'event')}"
    )


@command.command()
@_file
@_rank
@click.option(
    "--ns-per-element",
    "ns",
    metavar="NS",
    type=RealRange(0.1, 1000),
    help="What the MPI takes to look at one element of a queue.  [default: as `unisono match bench -- mpirun -n 2` has measured, "
    "else 5]",
)
@click.option(
    "--html",
    "page",
    metavar="PAGE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write it as one HTML page, which needs no network.",
)
@json_option()
def report(file: Path, rank: str | None, ns: float | None, page: Path | None, as_json: bool) -> None:
    """Say how long the queues of a run were, what they cost, and whether Unisono's queues (`--messages`) would help.

    \b
      unisono match report messages.trace
      unisono match report messages.trace --html messages.html
    """
    if page is not None:
        from unisono.page import build

        build.require_name(page)
    cost = matching.cost_of_element(file, ns)
    words = [
        "--file",
        str(file),
        *("--ps-per-receive", str(round(1000 * cost.posted_ns))),
        *("--ps-per-message", str(round(1000 * cost.unexpected_ns))),
        *_rank_words(rank),
    ]
    answer = _asked("match-report", words, "looking")[0]
    matching.require_messages(file, rank, len(answer["of_ranks"]), answer["counts"])
    answer["cost"] = cost.text
    answer["verdict"] = matching.verdict(answer)
    if page is not None:
        from unisono.page import matching as matching_page

        files.write_whole(page, matching_page.page(answer))
    if as_json:
        printing.print_json(answer)
        return
    matching_text.show_report(answer)
    if page is not None:
        printing.echo(f"wrote {page}")
