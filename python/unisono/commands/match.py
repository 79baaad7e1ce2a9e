# SPDX-License-Identifier: BSD-3-Clause
"""`unisono match`: queues of receives and messages, structures for them, and what they cost a program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from unisono.commands.hints import HintingChoice, HintingGroup
from unisono.commands.lists import ListOption
from unisono.commands.values import collected, json_option
from unisono.common import files, printing, tool
from unisono.measuring import candidates
from unisono.reporting import matching, matching_text


@click.group(cls=HintingGroup)
def command() -> None:
    """Say what the queues of messages cost a program, and what other structures would cost.

    Traces of messages are text, which docs/reference/trace-format.md describes.
    `unisono run --record-messages FILE` writes them; docs/guide/matching.md says what to do with them.
    """


_file = click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
_engine = click.option(
    "--engine",
    "engines",
    cls=ListOption,
    default="all",
    show_default=True,
    help="Structures, with settings: 'list,clusters_k_means(k=16),own'.",
)
_rank = click.option("--rank", metavar="LIST", help="Only the queues of these ranks: 0, or 0-3,8.")


def _engine_words(engines: str) -> list[str]:
    return [word for name in candidates.split(engines) for word in ("--engine", name)]


def _asked(question: str, words: Sequence[str], doing: str) -> list[dict[str, Any]]:
    with printing.progress() as progress:
        task = progress.add_task(doing, total=100)

        def show(share: float, now: str) -> None:
            progress.update(task, completed=round(100 * share), description=f"{doing}: {now}")

        return matching.ask(question, words, show)


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
    as_json: bool


@command.command()
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
    type=click.IntRange(min=1),
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
@click.option(
    "--order", type=HintingChoice(("forward", "middle", "reverse")), help="Only this order.  [default: all]"
)
@click.option(
    "--queue", type=HintingChoice(("posted", "unexpected")), help="Only this queue.  [default: both]"
)
@click.option(
    "--ms",
    metavar="N",
    type=click.IntRange(min=1),
    default=2,
    show_default=True,
    help="Measure each for so long.",
)
@json_option()
@collected(Bench)
def bench(asked: Bench) -> None:
    """Measure structures alone: fill a queue, then empty it forward, from the middle on, or in reverse.

    \b
      unisono match bench
      unisono match bench --engine list,own --depth 4096 --order reverse --any-source 0
    """
    words = [*_engine_words(asked.engines), "--depth", asked.depths, "--any-source", asked.wild]
    words += ["--senders", str(asked.senders), "--apart", str(asked.apart), "--ms", str(asked.ms)]
    words += ["--order", asked.order] if asked.order else []
    words += ["--queue", asked.queue] if asked.queue else []
    lines = _asked("match-bench", words, "measuring")
    if asked.as_json:
        printing.print_json(lines)
    else:
        matching_text.show_bench(lines)


@command.command()
@_file
@_engine
@_rank
@json_option()
def replay(file: Path, engines: str, rank: str | None, as_json: bool) -> None:
    """Take a trace of messages through structures: time, elements looked at, memory.

    \b
      unisono match replay messages.trace
      unisono match replay messages.trace --engine 'list,clusters_k_means(k=16),own'

    docs/reference/trace-format.md describes traces.
    """
    words = ["--file", str(file), *_engine_words(engines), *(["--rank", rank] if rank else [])]
    lines = _asked("match-replay", words, "replaying")
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
    printing.echo(f"wrote {file}: {answer['ranks']} ranks, {answer['events']} events")


@command.command()
@_file
@_rank
@click.option(
    "--ns-per-element",
    "ns",
    metavar="NS",
    type=click.IntRange(1, 1000),
    default=5,
    show_default=True,
    help="What the MPI takes to look at one element of a queue.",
)
@click.option(
    "--html",
    "page",
    metavar="PAGE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write it as one HTML page, which needs no network.",
)
@json_option()
def report(file: Path, rank: str | None, ns: int, page: Path | None, as_json: bool) -> None:
    """Say how long the queues of a run were, what they cost, and whether `--messages node` would help.

    \b
      unisono match report messages.trace
      unisono match report messages.trace --html messages.html
    """
    if page is not None:
        from unisono.page import build

        build.require_name(page)
    words = ["--file", str(file), "--ns-per-element", str(ns), *(["--rank", rank] if rank else [])]
    answer = _asked("match-report", words, "looking")[0]
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
