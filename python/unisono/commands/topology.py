# SPDX-License-Identifier: BSD-3-Clause
"""`unisono topology`: the switches between machines, and what follows from them."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import click
from rich.markup import escape
from rich.tree import Tree

from unisono.commands.hints import HintingGroup
from unisono.commands.jobs import JobCommand, interruptible
from unisono.commands.values import RealRange, json_option
from unisono.common import files, printing, tool, units
from unisono.common.errors import UnisonoError, UsageError
from unisono.common.extras import numpy as np
from unisono.measuring import bench, latencies
from unisono.reporting import hardware

_SHOWN_MACHINES = 16
_FIRST_BYTES = 256  # of a file
_DESCRIPTION = re.compile(r"\b(pu|core):\d")  # hwloc's, of a machine
_EXTRA_SECONDS = 120.0  # for the launcher: to start and to end


@click.group(cls=HintingGroup)
def command() -> None:
    """Show what a machine consists of, or the switches between machines and what follows from them; or find those.

    TOPOLOGY is what the option `topology` of `unisono run` takes. It is a file in the format of Slurm's topology.conf, or a
    string such as tree:4x8, which is 4 switches with 8 machines each below another one.
    """


_layout = click.option(
    "--layout", metavar="LAYOUT", help="Ranks per machine, as 4x8, 3,5,8 or 4x2x8  [default: one rank each]"
)
_as_json = json_option()


def _asked(topology: str, layout: str | None, *more: str) -> dict[str, Any]:
    question = ["topology", "--topology", topology, *more]
    if layout is not None:
        question += ["--layout", layout]
    answer: dict[str, Any] = tool.ask(*question)
    return answer


@command.command()
@click.argument("topology", required=False)
@_layout
@click.option("--phases", is_flag=True, help="The messages of all phases of an alltoall as well.")
@click.option(
    "--svg",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Draw what the machine consists of into this file.",
)
@_as_json
def show(topology: str | None, layout: str | None, phases: bool, svg: Path | None, as_json: bool) -> None:
    """Print what this machine consists of, or the switches of TOPOLOGY.

    \b
      unisono topology show                            # this machine: sockets, NUMA domains, caches, cores
      unisono topology show machine.xml                # one that `lstopo machine.xml` has written
      unisono topology show 'package:2 l3:4 core:8 pu:2'   # one that hwloc has a description of
      unisono topology show tree:4x8                   # switches

    Of switches there are also the order of a ring around them, and the phases of an alltoall. TOPOLOGY may be a file in the
    format of Slurm's topology.conf.
    """
    words = _hardware_words(topology)
    if words is not None:
        if layout is not None or phases:
            raise UsageError("--layout and --phases go with switches: name a topology, such as tree:4x8")
        _show_hardware(words, svg, as_json)
        return
    if svg is not None:
        raise UsageError("--svg draws machines; of switches there is no drawing")
    assert topology is not None
    _show_switches(topology, layout, phases, as_json)


def _hardware_words(topology: str | None) -> list[str] | None:
    """How the tool is asked for a machine; None: this is a topology of switches."""
    if topology is None:
        return []
    if topology.startswith("tree:"):
        return None
    file = Path(topology)
    if file.is_file():
        with file.open("rb") as opened:
            is_xml = opened.read(_FIRST_BYTES).lstrip().startswith((b"<?xml", b"<topology"))
        return ["--xml", topology] if is_xml else None
    return ["--synthetic", topology] if _DESCRIPTION.search(topology) else None


def _show_hardware(words: list[str], svg: Path | None, as_json: bool) -> None:
    found = tool.ask("hardware", *words)
    machine = hardware.machine_of(found)
    if svg is not None:
        files.write_whole(svg, hardware.svg(machine))
    if as_json:
        printing.print_json(found)
    elif svg is None:
        printing.console().print(hardware.tree(machine))
        if found["layout"]:
            printing.console().print(f"\nWith a rank on each core its layout is {found['layout']}.")


def _show_switches(topology: str, layout: str | None, phases: bool, as_json: bool) -> None:
    found = _asked(topology, layout, *(["--phases"] if phases else []))
    if as_json:
        printing.print_json(found)
        return
    console = printing.console()
    console.print(_tree(found), "")
    ring = " ".join(str(rank) for rank in found["ring"])
    console.print(
        f"[bold]Ring[/bold] that takes every link once in either direction: {ring}\n", soft_wrap=True
    )
    console.print(
        f"[bold]Alltoall[/bold] without contention: {units.count_text(found['phases'])} phases, "
        f"as many as there are messages over {escape(found['busiest_link'])}",
        soft_wrap=True,
    )
    if phases:
        console.print(_phases(found))


def _tree(found: dict[str, Any]) -> Tree:
    nodes: dict[str, Tree] = {}
    top: Tree | None = None
    waiting = list(found["switches"])
    while waiting:
        switch = waiting.pop(0)
        if switch["above"] is not None and switch["above"] not in nodes:
            waiting.append(switch)
            continue
        label = escape(f"switch {switch['name']}")
        made = Tree(label) if switch["above"] is None else nodes[switch["above"]].add(label)
        top = made if switch["above"] is None else top
        nodes[switch["name"]] = made
        machines = switch["machines"]
        for machine in machines[:_SHOWN_MACHINES]:
            ranks = machine["ranks"]
            words = f"rank{'s' if len(ranks) > 1 else ''} {', '.join(map(str, ranks))}"
            made.add(escape(f"{machine['name']}: {words}" if machine["name"] else words))
        if len(machines) > _SHOWN_MACHINES:
            made.add(f"... and {len(machines) - _SHOWN_MACHINES} machines more")
    assert top is not None
    return top


def _phases(found: dict[str, Any]) -> Any:
    made = printing.table(None, "phase", "messages", "tokens before it", right=("phase",))
    for number, (messages, tokens) in enumerate(zip(found["messages"], found["tokens"], strict=True)):
        made.add_row(str(number), *("  ".join(f"{a}→{b}" for a, b in pairs) for pairs in (messages, tokens)))
    return made


@command.command()
@click.argument("topology")
@click.argument("operation")
@click.option("--algorithm", metavar="NAME", help="Only this algorithm: ends with status 1 if it contends.")
@_layout
@_as_json
@click.pass_context
def contention(
    ctx: click.Context,
    topology: str,
    operation: str,
    algorithm: str | None,
    layout: str | None,
    as_json: bool,
) -> None:
    """Say which algorithms of an operation send two messages over one link at a time.

    `on a link` is the most messages over one link, in one direction, in one round. Where that is 1, `in any run` says
    whether rounds are kept apart as well: whatever the timing, no message meets another one on a link.
    """
    more = ["--operation", operation] + (["--algorithm", algorithm] if algorithm else [])
    found = _asked(topology, layout, *more)["algorithms"]
    if as_json:
        printing.print_json(found)
    else:
        made = printing.table(
            None,
            "algorithm",
            "rounds",
            "on a link",
            "in any run",
            "for example",
            right=("rounds", "on a link"),
            give_way=("for example", "rounds"),
        )
        for entry in found:
            made.add_row(escape(entry["algorithm"]), *_contention_cells(entry))
        printing.console().print(made)
    if algorithm and any(_contends(entry) for entry in found):
        ctx.exit(1)


def _contends(entry: dict[str, Any]) -> bool:
    return not entry["illegal"] and (entry["most_on_a_link"] > 1 or bool(entry["conflict_over_time"]))


def _contention_cells(entry: dict[str, Any]) -> list[str]:
    if entry["illegal"]:
        return ["", "", "", escape(f"not legal: it {entry['illegal']}")]
    in_any_run = entry["conflict_over_time"]
    words = "" if in_any_run is None else "contends" if in_any_run else "free"
    return [
        str(entry["rounds"]),
        str(entry["most_on_a_link"]),
        words,
        escape(entry["conflict"] or in_any_run or ""),
    ]


@command.command(
    cls=JobCommand, context_settings={"allow_interspersed_args": False}, options_metavar="[OPTIONS] [--]"
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the topology to this file.")
@click.option(
    "--seconds", type=RealRange(min=0.01), default=5.0, show_default=True, help="How long to measure."
)
@click.option(
    "--gap",
    type=RealRange(min=0.0, min_open=True),
    default=latencies.STANDARD_GAP,
    show_default=True,
    help="By how much, as a part, a latency must be larger for one switch more on the way.",
)
@click.option("--mpicc", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="The C compiler.")
@json_option("Print the latencies in microseconds as JSON, and no topology.")
@click.argument("launcher", nargs=-1, required=True, type=click.UNPROCESSED)
def measure(
    output: Path | None,
    seconds: float,
    gap: float,
    mpicc: Path | None,
    as_json: bool,
    launcher: tuple[str, ...],
) -> None:
    """Find the switches from latencies between machines.

    LAUNCHER is what would start a program on all machines, without the program. One rank of each machine takes part;
    each pair exchanges small messages, and machines with about the same latency between them are put on one switch.

    \b
      unisono topology measure -o switches.conf -- mpirun -N 1
      unisono run --topology switches.conf mpirun ./program
    """
    command_line = bench.plain_command_line(launcher, "latencies.c", [str(seconds)], mpicc)
    with (
        interruptible(lambda: "interrupted: nothing is kept of latencies that are half measured"),
        printing.progress() as progress,
    ):
        progress.add_task("measuring latencies", total=None)
        found = _run(command_line, seconds)
    machines = [str(name) for name in found["machines"]]
    if len(machines) < 2:
        raise UnisonoError(f"all ranks run on {machines[0]}; between machines there is nothing to measure")
    if as_json:
        printing.print_json(found)
        return
    top = latencies.switches_of(np.asarray(found["latencies_us"], dtype=float), gap)
    text = "\n".join(
        [f"# Measured between {len(machines)} machines, gap {gap}.", *latencies.as_lines(top, machines), ""]
    )
    if output is None:
        printing.echo(text, nl=False)
    else:
        files.write_whole(output, text)


def _run(words: list[str], seconds: float) -> dict[str, Any]:
    try:
        done = subprocess.run(
            words,
            stdout=subprocess.PIPE,
            text=True,
            timeout=seconds + _EXTRA_SECONDS,
            check=False,
            env=os.environ,
        )
    except subprocess.TimeoutExpired as error:
        raise UnisonoError(f"the measurement did not end within {error.timeout:.0f} s") from None
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        raise UnisonoError(f"the measurement ended with status {done.returncode} and {len(lines)} results")
    found: dict[str, Any] = json.loads(lines[-1])
    return found
