# SPDX-License-Identifier: BSD-3-Clause
"""`unisono simulate`: many calls in virtual time, with noise, on hosts or on agents beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from unisono.commands.hints import HintingChoice
from unisono.commands.values import (
    RealRange,
    collected,
    graph_option,
    json_option,
    machine_option,
    picture_name,
    plot_option,
    say_written,
)
from unisono.common import files, printing, tool, units
from unisono.common.errors import UsageError
from unisono.machine import catalogue
from unisono.reporting import simulated, simulated_text

_MODELS = ("hockney", "logp", "loggp", "plogp")
_STANDARD_LAYOUT = "8x1"
_MOST_SLOWER = 1000
_MOST_COMPUTE_US = 1e9


@dataclass(frozen=True)
class Call:
    """Which call is run, on which machine."""

    operation: str | None
    layout: str | None
    ranks: int | None
    graph: str | None
    root: int | None
    size: str
    type: str
    op: str
    machine: str
    algorithm: str | None
    model: str

    def question(self) -> list[str]:
        """What unisono-tool is asked of it."""
        if self.operation is None:
            raise UsageError("say which operation: unisono simulate allreduce --layout 1812x1")
        words = ["--operation", self.operation, "--machine", catalogue.resolve(self.machine)]
        if units.bytes_from_text(self.size) is None:
            raise UsageError(f"--size takes one size, such as 8, 64K or 1M; not '{self.size}'")
        words += ["--bytes", self.size, "--type", self.type, "--op", self.op, "--model", self.model]
        if self.layout is not None or self.ranks is None:
            words += ["--layout", _STANDARD_LAYOUT if self.layout is None else self.layout]
        words += _given("--ranks", self.ranks) + _given("--graph", self.graph) + _given("--root", self.root)
        return words + _given("--algorithm", self.algorithm)


@dataclass(frozen=True)
class Course:
    """How many calls there are, what goes on beside them, and what is counted of them."""

    calls: int
    noise: tuple[str, ...]
    slow: str | None
    agents: bool
    hosts_at_ends: bool
    broadcast: bool
    compute: float
    overlap: bool
    no_barrier: bool
    window: tuple[int, ...]
    trim: float
    seed: int
    events: bool

    def question(self) -> list[str]:
        """What unisono-tool is asked of it."""
        words = ["--calls", str(self.calls), "--seed", str(self.seed), "--trim", str(self.trim)]
        words += ["--compute-us", str(self.compute)] if self.compute else []
        words += [word for text in self.noise for word in ("--noise", text)]
        words += [word for wide in self.window for word in ("--window", str(wide))]
        words += _slow_words(self.slow)
        flags = ("agents", "hosts_at_ends", "broadcast", "overlap", "no_barrier", "events")
        return words + [f"--{name.replace('_', '-')}" for name in flags if getattr(self, name)]


@dataclass(frozen=True)
class Asked:
    """What the command line says."""

    call: Call
    course: Course
    published: bool
    plot: Path | None
    page: Path | None
    as_json: bool


def _given(option: str, value: object) -> list[str]:
    return [] if value is None else [option, str(value)]


def _slow_words(slow: str | None) -> list[str]:
    """`0.01,1.5`: one core in a hundred takes half as long again."""
    if slow is None:
        return []
    share, _, factor = slow.partition(",")
    if not (_is_within(share, 0, 1) and _is_within(factor, 1, _MOST_SLOWER)):
        raise UsageError(
            f"--slow takes a share of the cores from 0 to 1 and a factor from 1 to {_MOST_SLOWER}, as 0.01,1.5; not '{slow}'"
        )
    return ["--slow-share", share, "--slow-factor", factor] if float(share) else []


def _is_within(text: str, least: float, most: float) -> bool:
    try:
        return least <= float(text) <= most
    except ValueError:
        return False


@click.command()
@click.argument("operation", required=False)
@click.option(
    "--layout",
    metavar="LAYOUT",
    help="1812x1 is 1812 nodes with a rank each; 3,5,8 is ranks per node; 4x2x8 is 4 nodes of 2 domains.  [default: 8x1]",
)
@click.option("--ranks", metavar="N", type=click.IntRange(min=2), help="Without a layout: ranks of one node.")
@graph_option
@click.option("--root", metavar="RANK", type=click.IntRange(min=0), help="Root of a rooted operation.")
@click.option("--size", default="8", show_default=True, help="Size of the vector, or of a block: 8, 64K, 1M.")
@click.option(
    "--type",
    default="float64",
    show_default=True,
    metavar="TYPE",
    help="Of what is reduced, on machines whose costs depend on it: int32, float64.",
)
@click.option(
    "--op",
    default="sum",
    show_default=True,
    metavar="OP",
    help="The operator, on such machines: sum, max, none.",
)
@machine_option(more="; quadrics-alc and quadrics-crescendo have agents")
@click.option(
    "--algorithm",
    metavar="NAME",
    help="With parameters: 'k_nomial(degree=4)'  [default: the textbooks' for short vectors; with --agents and --broadcast "
    "reduce and allreduce take a tree of the degree that the closed form finds best]",
)
@click.option(
    "--model", type=HintingChoice(_MODELS), default="plogp", show_default=True, help="What messages cost by."
)
@click.option("--calls", default=1000, show_default=True, type=click.IntRange(min=1), help="How many calls.")
@click.option(
    "--noise",
    multiple=True,
    metavar="NOISE",
    help="What takes cores away, by rate (Hz) and mean (us): fixed, uniform, exponential, lognormal, periodic, as "
    "'uniform(rate=16,mean=115)'; recorded, as on that machine, or recorded:FILE, as in a file of --noise of `unisono machine measure`; none. Several add up.  [default: the machine's]",
)
@click.option(
    "--slow",
    metavar="SHARE,FACTOR",
    help="Such a share of the cores takes that many times as long: 0.01,1.5.",
)
@click.option("--agents", is_flag=True, help="The agents beside the nodes' cores run the schedule.")
@click.option(
    "--hosts-at-ends",
    is_flag=True,
    help="With --agents: ranks that only send or only receive do so themselves.",
)
@click.option(
    "--broadcast", is_flag=True, help="The network itself sends the result of the reduction to all nodes."
)
@click.option(
    "--compute",
    default=0.0,
    metavar="US",
    type=RealRange(0, _MOST_COMPUTE_US),
    help="All ranks compute so long between calls.",
)
@click.option("--overlap", is_flag=True, help="With --agents: they compute while the call is under way.")
@click.option("--no-barrier", is_flag=True, help="Ranks begin each call when they are ready, not together.")
@click.option(
    "--window",
    multiple=True,
    metavar="US",
    type=click.IntRange(min=1),
    help="Which share of the calls lies so near together.  [default: 4 and 20]",
)
@click.option(
    "--trim",
    default=0.01,
    show_default=True,
    type=RealRange(0, 0.9),
    help="Leave out this share of the calls, the longest, in the second mean.",
)
@click.option("--seed", default=1, show_default=True, type=click.IntRange(min=0), help="Which detours come.")
@click.option("--events", is_flag=True, help="Run every call event by event, not by replay: exact, and slow.")
@click.option(
    "--published",
    is_flag=True,
    help="The tables and figures of the NIC-based reduction of 2003 beside what comes out here, in place of OPERATION.",
)
@plot_option("Draw the distribution into this .svg or .png file.")
@click.option(
    "--html",
    "page",
    metavar="PAGE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write all of it as one HTML page, which needs no network.",
)
@json_option("Print what came out as JSON.")
@collected(Asked)
def command(asked: Asked) -> None:
    """Run many calls of OPERATION in virtual time, and show how their times spread.

    \b
      unisono simulate allreduce --layout 1812x1 --noise 'uniform(rate=16,mean=115)'
      unisono simulate reduce --layout 900x1 --machine quadrics-alc --agents --html agents.html
      unisono simulate allreduce --layout 1024x1 --machine quadrics-alc --agents --compute 200 --overlap
      unisono simulate --published --html published.html

    Noise takes cores away from ranks for a while. Agents are processors beside the cores (docs/guide/simulate.md).
    One call is recorded and replayed with noise.
    """
    picture_name(asked.plot)
    if asked.page is not None:
        from unisono.page import build

        build.require_name(asked.page)
    if asked.published:
        _published(asked)
        return
    answer = ask(asked.call.question() + asked.course.question(), f"simulating {asked.call.operation}")
    _show(answer, asked)


def ask(question: Sequence[str], what: str) -> dict[str, Any]:
    """What unisono-tool answers; shows on a terminal how far it is."""
    answer: dict[str, Any] = {}
    with printing.progress() as progress:
        task = progress.add_task(what, total=100)
        for line in tool.ask_lines("simulate", *question, "--progress"):
            if "progress" in line:
                progress.update(task, completed=round(100 * line["progress"]))
            else:
                answer = line
    return answer


def _show(answer: dict[str, Any], asked: Asked) -> None:
    if asked.plot is not None:
        from unisono.reporting import simulated_plots

        simulated_plots.draw(answer, asked.plot)
    if asked.page is not None:
        from unisono.page import simulated as page

        files.write_whole(asked.page, page.page_of_calls(answer))
    if asked.as_json:
        printing.print_json(answer)
        return
    simulated_text.show(answer)
    say_written(asked.plot, asked.page)


def _published(asked: Asked) -> None:
    """The source's figures beside ours."""
    if asked.call.operation is not None:
        raise UsageError("--published stands in place of an operation")
    with printing.progress() as progress:
        task = progress.add_task("simulating what was published", total=simulated.STEPS)
        found = simulated.published(asked.course.seed, lambda: progress.advance(task))
    if asked.plot is not None:
        from unisono.reporting import simulated_plots

        simulated_plots.draw_published(found, asked.plot)
    if asked.page is not None:
        from unisono.page import simulated as page

        files.write_whole(asked.page, page.page_of_published(found))
    if asked.as_json:
        printing.print_json(simulated.as_json(found))
        return
    simulated_text.show_published(found)
    say_written(asked.plot, asked.page)
