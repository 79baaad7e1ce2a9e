# SPDX-License-Identifier: BSD-3-Clause
"""A graph of neighbours as text: degrees, what each method sends, times, and who sends to which node."""

from __future__ import annotations

import math
from typing import Any

from rich.markup import escape

from unisono.common import printing, units
from unisono.reporting import graphs

_BAR = 40  # letters
_CELLS = 32  # of a picture in letters
_SHADES = " .:-=+*#%@"


def show(answer: dict[str, Any]) -> None:
    console = printing.console()
    console.print(
        f"[bold]{escape(answer['title'])}[/bold]: {escape(answer['layout'])}, {answer['operation']}\n",
        soft_wrap=True,
    )
    for name, what in (("out", "Destinations"), ("in", "Sources")):
        if name == "out" or answer["in"] != answer["out"]:
            _print_degrees(what, answer[name])
    console.print(_counts(answer))
    bounds = answer["bounds"]
    if answer["nodes"] > 1 and answer["operation"] == "neighbor_allgather":
        console.print(
            f"Least between nodes, where messages go straight: {units.count_text(bounds['node_pairs'])} messages in all, and "
            f"{bounds['blocks_into_node']['mean']:.1f} blocks into a node.",
            soft_wrap=True,
        )
    console.print()
    console.print(_times(answer))
    console.print(
        "Times are the model's. Break-even: calls at the first size after which the set-up has paid off.",
        soft_wrap=True,
    )
    for one in answer["methods"]:
        if one["problem"]:
            console.print(escape(f"{one['method']}: {one['problem']}."), soft_wrap=True)
    if answer["nodes"] > 1:
        _print_matrices(answer)


def _print_degrees(what: str, degrees: dict[str, Any]) -> None:
    title = f"{what} of a rank: {degrees['least']} to {degrees['most']}, {degrees['mean']:.1f} in the mean"
    table = printing.table(title, "degree", "ranks", "", right=("degree", "ranks"))
    most = max(ranks for _, _, ranks in degrees["histogram"])
    for low, high, ranks in degrees["histogram"]:
        table.add_row(
            f"{low}" if low == high else f"{low}-{high}",
            units.count_text(ranks),
            "#" * math.ceil(_BAR * ranks / most),
        )
    printing.console().print(table)
    printing.console().print()


def _pair(counts: dict[str, Any]) -> str:
    return f"{counts['mean']:.1f} / {counts['most']}"


def _counts(answer: dict[str, Any]) -> Any:
    right = (
        "messages a rank",
        "between nodes",
        "blocks into a node",
        "blocks sent",
        "rounds",
        "set-up",
        "memory a rank",
    )
    has_edges = any("hyperedges" in one for one in answer["methods"])
    more = ("hyperedges a rank",) if has_edges else ()
    table = printing.table(
        "What is sent, and what the set-up takes: mean / most",
        "method",
        *right,
        *more,
        right=(*right, *more),
        give_way=("blocks sent",),
    )
    for one in answer["methods"]:
        cells = [
            _pair(one["messages"]),
            _pair(one["messages_between"]),
            _pair(one["blocks_into_node"]),
            units.count_text(one["blocks"]),
            str(one["rounds"]),
            units.seconds_text(one["setup_us"] * 1e-6) if one["setup_us"] else "",
            units.bytes_text(round(one["setup_bytes_per_rank"])) if one["setup_bytes_per_rank"] else "",
        ]
        if has_edges:
            cells.append(_hyperedges(one))
        table.add_row(escape(one["method"]), *cells)
    return table


def _hyperedges(one: dict[str, Any]) -> str:
    if "hyperedges" not in one:
        return ""
    return ("" if one["are_all_hyperedges_counted"] else "> ") + f"{one['hyperedges']:,.1f}"


def _times(answer: dict[str, Any]) -> Any:
    sizes = [units.bytes_text(size) for size in answer["bytes"]]
    columns = [name for size in sizes for name in (size, f"{size}: of linear")]
    table = printing.table(
        "Predicted time of a call", "method", *columns, "break-even", right=(*columns, "break-even")
    )
    linear = answer["methods"][0]["us"]
    fastest = [graphs.best(answer, index)["method"] for index in range(len(sizes))]
    for one in answer["methods"]:
        cells = []
        for index, us in enumerate(one["us"]):
            text = units.seconds_text(us * 1e-6)
            cells.append(f"[good]{text}[/good]" if one["method"] == fastest[index] else text)
            cells.append(f"{linear[index] / us:.1f}x" if us else "")
        calls = one["break_even_calls"][0]
        is_linear = one is answer["methods"][0]
        table.add_row(
            escape(one["method"]),
            *cells,
            "" if is_linear else "never" if calls is None else f"{math.ceil(calls):,}",
        )
    return table


def binned(matrix: list[list[int]], most: int) -> list[list[int]]:
    """Of at most so many rows: sums of those that share one."""
    count = len(matrix)
    cells = min(count, most)
    made = [[0] * cells for _ in range(cells)]
    for row, numbers in enumerate(matrix):
        for column, number in enumerate(numbers):
            made[row * cells // count][column * cells // count] += number
    return made


def _print_matrices(answer: dict[str, Any]) -> None:
    console = printing.console()
    best = graphs.best(answer)
    shown = [answer["methods"][0]] + ([best] if best is not answer["methods"][0] else [])
    matrices = [binned(one["matrix"], _CELLS) for one in shown]
    most = max(number for matrix in matrices for row in matrix for number in row) or 1
    for one, matrix in zip(shown, matrices, strict=True):
        console.print(
            f"\nMessages between nodes, {escape(one['method'])}: {units.count_text(one['all_messages_between'])} in all "
            f"(a row sends, a column gets; @ is {most})",
            soft_wrap=True,
        )
        for row in matrix:
            letters = (_SHADES[math.ceil(number / most * (len(_SHADES) - 1))] for number in row)
            console.print(escape("  " + " ".join(letters)), soft_wrap=True)


def show_counted(graph: graphs.Counted) -> None:
    """All that a report says of a large graph."""
    console = printing.console()
    console.print(
        f"[bold]{escape(graph.title)}[/bold]: {graph.ranks} ranks, {units.count_text(graph.edges)} edges\n",
        soft_wrap=True,
    )
    for what, degrees in (("Destinations", graph.out), ("Sources", graph.in_)):
        if not degrees:
            continue
        values = [degree for degree, _ in degrees]
        mean = sum(degree * ranks for degree, ranks in degrees) / max(1, sum(ranks for _, ranks in degrees))
        lines = [[degree, degree, ranks] for degree, ranks in degrees]
        _print_degrees(what, {"least": min(values), "most": max(values), "mean": mean, "histogram": lines})
    console.print("The report has only its degrees: the graph is too large for more.")
