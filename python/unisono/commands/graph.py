# SPDX-License-Identifier: BSD-3-Clause
"""`unisono graph`: what each way to serve collectives of neighbours costs on a graph."""

from __future__ import annotations

import math
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from unisono.commands.hints import HintingChoice
from unisono.commands.lists import ListOption
from unisono.commands.values import (
    InputFile,
    collected,
    json_option,
    picture_name,
    plot_option,
    say_written,
    sizes_in_bytes,
)
from unisono.common import files, printing
from unisono.common.errors import UsageError
from unisono.measuring import candidates
from unisono.reporting import graph_text, graphs

_OPERATIONS = ("neighbor_allgather", "neighbor_alltoall")
_SIZES = "8,512,4K,64K"


@dataclass(frozen=True)
class Asked:
    """What the command line says."""

    file: Path | None
    moore: str | None
    random: str | None
    cart: str | None
    ranks: int | None
    ppn: int | None
    layout: str | None
    comm: int | None
    operation: str
    sizes: str
    methods: str | None
    hyperedges: bool
    steps: int | None
    plot: Path | None
    page: Path | None
    as_json: bool

    def question(self, sizes: list[int]) -> list[str]:
        """What holds for any graph."""
        words = ["--operation", self.operation]
        words += [word for size in sizes for word in ("--bytes", str(size))]
        words += [word for name in candidates.split(self.methods or "") for word in ("--method", name)]
        words += ["--hyperedges"] if self.hyperedges else []
        words += ["--most-steps", str(self.steps)] if self.steps is not None else []
        return words


@click.command()
@click.argument("file", required=False, type=InputFile())
@click.option(
    "--moore", metavar="D,R", help="A torus of D dimensions; neighbours are all ranks at most R away in each."
)
@click.option(
    "--random",
    metavar="N,DENSITY[,SEED]",
    help="N ranks, each of which sends to each other one with this probability.",
)
@click.option(
    "--cart",
    metavar="4x4x4[,periodic]",
    help="A grid as of MPI_Cart_create: two neighbours in each dimension.",
)
@click.option(
    "--ranks",
    metavar="N",
    type=click.IntRange(min=1),
    help="How many ranks; a matrix is cut into as many stripes.",
)
@click.option(
    "--ppn", metavar="N", type=click.IntRange(min=1), help="Ranks per node.  [default: all on one node]"
)
@click.option(
    "--layout",
    metavar="LAYOUT",
    help="In place of --ppn: 4x8 is 4 nodes with 8 ranks each, 3,5,8 is ranks per node, 4x2x8 is 4 nodes of 2 domains.",
)
@click.option("--comm", metavar="ID", type=click.IntRange(min=0), help="Of a report: which communicator.")
@click.option(
    "--operation",
    type=HintingChoice(_OPERATIONS),
    default=_OPERATIONS[0],
    show_default=True,
    help="Whether all neighbours get the same block.",
)
@click.option(
    "--size",
    "sizes",
    cls=ListOption,
    default=_SIZES,
    show_default=True,
    help="Sizes of a block, separated by commas.",
)
@click.option(
    "--methods",
    cls=ListOption,
    metavar="NAMES",
    help="Only these, with settings: 'bundles,friends(k=3,scope=all),mesh(lengths=4x4)'  [default: by the size of the graph]",
)
@click.option("--hyperedges", is_flag=True, help="Count the groups that ranks could choose from, too.")
@click.option(
    "--steps",
    metavar="N",
    type=click.IntRange(min=1),
    help="Look at so many combinations of friends at most.  [default: 200 million]",
)
@plot_option("Draw degrees, times and messages between nodes into this .svg or .png file.")
@click.option(
    "--html",
    "page",
    metavar="PAGE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write all of it as one HTML page, which needs no network.",
)
@json_option("Print what is known as JSON.")
@collected(Asked)
def command(asked: Asked) -> None:
    """Count what each way to serve collectives of neighbours costs on a graph.

    \b
      unisono graph --moore 2,4 --ranks 4096 --ppn 40
      unisono graph --random 1024,0.4 --ppn 32 --html graph.html
      unisono graph --cart 4x4x4 --ppn 8 --operation neighbor_alltoall

    A matrix is cut into stripes of rows, as its product with a vector has them. A report has the graphs of a run's communicators.

    \b
      unisono graph matrix.mtx --ranks 64 --ppn 16
      unisono graph report.json

    Times are a model's (docs/guide/graph.md), not measured.
    """
    sizes = sizes_in_bytes(asked.sizes)
    picture_name(asked.plot)
    if asked.page is not None:
        from unisono.page import build

        build.require_name(asked.page)
    if asked.plot is not None:
        from unisono.reporting import graph_plots
    source = _source(asked)
    if isinstance(source, graphs.Counted):
        _print_counted(source, asked)
        return
    answer = _answer(asked, source, sizes)
    if asked.plot is not None:
        graph_plots.draw(answer, asked.plot)
    if asked.page is not None:
        from unisono.page import graph as graph_page

        files.write_whole(asked.page, graph_page.page(answer))
    if asked.as_json:
        printing.print_json(answer)
        return
    graph_text.show(answer)
    say_written(asked.plot, asked.page)


def _source(asked: Asked) -> graphs.Graph | graphs.Counted | str:
    """A graph that was read, or the text of one that the tool makes."""
    given = [name for name in ("file", "moore", "random", "cart") if getattr(asked, name) is not None]
    if len(given) != 1:
        raise UsageError(
            "say which graph, one of: a file, --moore 2,1 --ranks 64, --random 64,0.2, --cart 4x4x4"
        )
    if asked.ppn is not None and asked.layout is not None:
        raise UsageError("--ppn and --layout say the same: leave one of them out")
    if asked.file is not None:
        return _read(asked, asked.file)
    if asked.comm is not None:
        raise UsageError("--comm is for the report of a run")
    return {"moore": f"moore:{asked.moore}", "cart": f"cart:{asked.cart}", "random": ""}[
        given[0]
    ] or "random:" + ",".join((asked.random or "").split(",")[1:])


def _read(asked: Asked, file: Path) -> graphs.Graph | graphs.Counted:
    if file.suffix == ".json":
        if asked.ranks is not None:
            raise UsageError("a report says how many ranks there are: leave out --ranks")
        return graphs.from_report(file, asked.comm)
    if asked.ranks is None:
        raise UsageError(f"say how many ranks the rows of {file.name} are on: --ranks 64")
    return graphs.from_matrix(file, asked.ranks)


def _ranks(asked: Asked) -> int:
    """Of a graph that the tool makes."""
    if asked.random is not None:
        said, what = asked.random.split(",")[0], "--random takes ranks and a density, as 1024,0.2"
        count = int(said) if said.isdecimal() and "," in asked.random else 0
    elif asked.cart is not None:
        extents = asked.cart.split(",")[0].split("x")
        what = "--cart takes the extent of each dimension, as 4x4x4 or 4x4x4,periodic"
        count = math.prod(map(int, extents)) if all(one.isdigit() for one in extents) else 0
    else:
        count, what = asked.ranks or 0, "say how many ranks the torus has: --ranks 64"
    if count < 1:
        raise UsageError(what)
    if asked.ranks not in (None, count):
        raise UsageError(f"the graph has {count} ranks, --ranks says {asked.ranks}")
    return count


def _answer(asked: Asked, source: graphs.Graph | str, sizes: list[int]) -> dict[str, Any]:
    question = asked.question(sizes)
    layout = asked.layout
    if isinstance(source, graphs.Graph):
        if asked.ppn is None:
            layout = layout or source.layout
        made: Any = graphs.as_file(source)
    else:
        question += ["--graph", source, "--ranks", str(_ranks(asked))]
        made = nullcontext(None)
    if layout is not None:
        question += ["--layout", layout]
    elif asked.ppn is not None:
        question += ["--ppn", str(asked.ppn)]
    with made as edges, printing.progress() as progress:
        task = progress.add_task("counting", total=100)

        def show(share: float, method: str) -> None:
            progress.update(task, completed=round(100 * share), description=f"counting {method}")

        answer = graphs.ask([*question, *(["--edges", edges] if edges else [])], show)
    answer["title"] = source.title if isinstance(source, graphs.Graph) else _title(source)
    return answer


def _title(text: str) -> str:
    kind, _, rest = text.partition(":")
    values = rest.split(",")
    if kind == "moore":
        return f"Moore neighbourhood of {values[0]} dimensions, radius {values[1]}"
    if kind == "random":
        return f"random graph of density {values[0]}"
    return f"{'periodic ' if len(values) > 1 else ''}grid of {values[0]}"


def _print_counted(graph: graphs.Counted, asked: Asked) -> None:
    """All that a report says of a large graph."""
    if asked.plot is not None or asked.page is not None:
        raise UsageError(
            "the report has only the degrees of this graph, which is too large: neither --plot nor --html"
        )
    if asked.as_json:
        printing.print_json(
            {
                "title": graph.title,
                "ranks": graph.ranks,
                "edges": graph.edges,
                "out": graph.out,
                "in": graph.in_,
            }
        )
        return
    graph_text.show_counted(graph)
