# SPDX-License-Identifier: BSD-3-Clause
"""`unisono show`: an algorithm as a space-time diagram."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from unisono.commands.listing import algorithms_of
from unisono.commands.values import collected, graph_option, json_option
from unisono.common import files, printing, tool, units
from unisono.common.errors import UsageError

_PARTS = {"node": "nodes", "socket": "sockets", "numa": "NUMA domains", "cache": "caches", "rank": "ranks"}
_FORMATS = {".svg": "svg", ".txt": "text", ".json": "json"}


def _in_bytes(ctx: click.Context, param: click.Parameter, value: str | None) -> int | None:
    """A number of bytes: 4096, 8K, 64KiB, 1M."""
    if value is None:
        return None
    count = units.bytes_from_text(value)
    if count is None:
        raise click.BadParameter(f"{value!r} is no number of bytes (4096, 8K, 1M).", ctx, param)
    return count


def _settings(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> list[str]:
    """Parameters as NAME=NUMBER, from NAME=VALUE where a value may be 8K."""
    settings = []
    for value in values:
        name, equals, number = value.partition("=")
        if not name or not equals:
            raise click.BadParameter(f"{value!r}: write NAME=VALUE (degree=4, overlap=8K).", ctx, param)
        settings.append(f"{name}={_in_bytes(ctx, param, number)}")
    return settings


@dataclass(frozen=True)
class Asked:
    """What the command line says."""

    operation: str
    algorithm: str | None
    ranks: int | None
    layout: str | None
    topology: str | None
    graph: str | None
    root: int | None
    segment: int | None
    parameters: list[str]
    count: int | None
    transfers: bool
    output: Path | None
    as_json: bool

    def question(self, algorithm: str) -> list[str]:
        in_layout = ranks_in(self.layout) if self.layout else None
        if self.ranks and in_layout and self.ranks != in_layout:
            raise UsageError(f"--layout {self.layout} holds {in_layout} ranks, --ranks says {self.ranks}")
        words = ["show", "--operation", self.operation, "--algorithm", algorithm]
        if self.ranks or in_layout or self.topology is None:
            words += ["--ranks", str(self.ranks or in_layout or 8)]
        for name in ("layout", "topology", "graph", "root", "segment", "count"):
            value = getattr(self, name)
            words += [f"--{name}", str(value)] if value is not None else []
        return words + [word for setting in self.parameters for word in ("--parameter", setting)]


@click.command()
@click.argument("operation")
@click.option(
    "--algorithm",
    metavar="NAME",
    help="The algorithm, 'chain(segment=8K)'; `unisono list OPERATION` names them.",
)
@click.option(
    "--ranks",
    metavar="N",
    type=click.IntRange(min=1),
    help="Number of ranks  [default: as in --layout, or 8]",
)
@click.option(
    "--layout",
    metavar="LAYOUT",
    help="Nodes: 4x8 is 4 nodes with 8 ranks each; 3,5,8 is ranks per node; 4x2x8 is 4 nodes of 2 domains.",
)
@click.option(
    "--topology",
    metavar="TOPOLOGY",
    help="Switches between the nodes: a file, or tree:4x8; without --layout each machine has one rank.",
)
@graph_option
@click.option(
    "--root", metavar="RANK", type=click.IntRange(min=0), help="Root of a rooted operation  [default: 0]"
)
@click.option(
    "--segment",
    metavar="BYTES",
    callback=_in_bytes,
    help="Bytes of a segment, 8K for instance  [default: the algorithm's]",
)
@click.option(
    "--parameter",
    "parameters",
    metavar="NAME=VALUE",
    multiple=True,
    callback=_settings,
    help="Another parameter of the algorithm, overlap=8K for instance; may come several times.",
)
@click.option(
    "--count",
    metavar="BYTES",
    callback=_in_bytes,
    help="Bytes that the call moves, 1M for instance; what goes in several pieces is drawn in time as well.",
)
@click.option(
    "--transfers",
    is_flag=True,
    help="Count what crosses the borders of nodes, of domains inside them and of ranks, in a call of --count bytes (8).",
)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), help="Write .svg, .txt or .json to this file."
)
@json_option("Print the steps as JSON.")
@collected(Asked)
def command(asked: Asked) -> None:
    """Draw an algorithm: time runs down the page, each rank has a column."""
    known = algorithms_of(asked.operation)
    if asked.algorithm is None:
        names = " | ".join(one["name"] for one in known)
        raise UsageError(f"say which algorithm: --algorithm {names}")
    output = asked.output
    if output is not None and output.suffix not in _FORMATS:
        raise UsageError(f"{output}: the name must end in {', '.join(_FORMATS)}, which says what to write")
    question = asked.question(asked.algorithm)
    if asked.transfers:
        if output is not None:
            raise UsageError("--transfers prints numbers, and no picture: leave --output out")
        _print_transfers(tool.ask(*question, "--format", "transfers"), asked.as_json)
        return
    if output is not None:
        files.write_whole(output, tool.ask_text(*question, "--format", _FORMATS[output.suffix]))
    if asked.as_json:
        printing.echo(tool.ask_text(*question, "--format", "json"), nl=False)
    elif output is None:
        printing.echo(tool.ask_text(*question, "--format", "text"), nl=False)


def _print_transfers(found: dict[str, Any], as_json: bool) -> None:
    """A row for each border, from outside to inside, with the least that any algorithm needs where that is known."""
    if as_json:
        printing.print_json(found)
        return
    printing.print_rows(
        printing.console(),
        f"{found['operation']}:{found['algorithm']}, {found['layout']}, {units.bytes_text(found['bytes'])}",
        ["between", "parts", "lines of data", "at least", "lines of flags", "bytes", "at least "],
        [
            [
                _PARTS.get(border["between"], border["between"]),
                units.count_text(border["parts"]),
                units.count_text(border["lines"]),
                _known(border["least_lines"]),
                units.count_text(border["flags"]),
                units.count_text(border["bytes"]),
                _known(border["least_bytes"]),
            ]
            for border in found["borders"]
        ],
        right=("parts", "lines of data", "at least", "lines of flags", "bytes", "at least "),
    )


def _known(count: int | None) -> str:
    return "" if count is None else units.count_text(count)


def ranks_in(layout: str) -> int:
    """How many ranks a layout holds: 4x8 -> 32; 3,5,8 -> 16; 4x2x8 -> 64; 4x(3+5) -> 32."""
    counts = layout.removesuffix("/interleaved").removesuffix("/cyclic")
    while inner := re.search(r"\(([^()]+)\)", counts):
        counts = counts[: inner.start()] + str(_flat_ranks(inner[1])) + counts[inner.end() :]
    ranks = _flat_ranks(counts)
    if not ranks:
        raise UsageError(
            f"--layout {layout}: write 4x8 (4 nodes with 8 ranks each), 3,5,8 (ranks per node) "
            "or 4x2x8 (4 nodes of 2 domains with 8 ranks each)"
        )
    return ranks


def _flat_ranks(counts: str) -> int:
    """Without parentheses; 0: that is no layout."""
    if not re.fullmatch(r"\d+([x,+]\d+)*", counts):
        return 0
    return sum(math.prod(map(int, product.split("x"))) for product in re.split("[,+]", counts))
