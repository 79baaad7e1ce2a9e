# SPDX-License-Identifier: BSD-3-Clause
"""Queues of messages as text: benchmarks and replays of structures, and the report of a trace."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.markup import escape

from unisono.common import printing, units
from unisono.measuring.matching_bench import Cell
from unisono.reporting import matching

_BAR = 40  # letters
_CELLS = 32  # of a heat map in letters
_SHADES = " .:-=+*#%@"
_RANKS = 10  # that are listed
_OF_QUEUE = {"posted": "receives that wait", "unexpected": "messages that wait"}
_QUEUES = (("posted", "Receives that wait"), ("unexpected", "Messages that wait"))


def _number(value: float) -> str:
    return f"{value:.1f}" if value < 99.5 else units.count_text(round(value))


def show_bench(lines: Sequence[dict[str, Any]]) -> None:
    console = printing.console()
    groups: dict[tuple[Any, ...], dict[str, dict[int, dict[str, Any]]]] = {}
    for line in lines:
        key = (line["queue"], line["order"], line["any_source"])
        groups.setdefault(key, {}).setdefault(line["engine"], {})[line["depth"]] = line
    for (queue, order, wild), engines in groups.items():
        depths = sorted({depth for cells in engines.values() for depth in cells})
        title = (
            f"{queue} queue, {order}, {wild} % of receives from any source: ns per match (elements looked at)"
        )
        made = printing.table(title, "structure", *map(str, depths), right=tuple(map(str, depths)))
        for engine, cells in engines.items():
            made.add_row(
                escape(engine),
                *(f"{_number(cells[d]['ns'])} ({_number(cells[d]['traversals'])})" for d in depths),
            )
        console.print(made)
        console.print()


def show_bench_of_ranks(mpi: str, cells: Sequence[Cell], element_ns: Mapping[str, float]) -> None:
    console = printing.console()
    console.print(f"{escape(mpi)}, {cells[0].senders + 1} ranks; ns for each message: MPI, Unisono, ratio\n")
    depths = sorted({cell.depth for cell in cells})
    names = ("queue", "order", "any source")
    made = printing.table(None, *names, *map(str, depths), right=("any source", *map(str, depths)))
    rows: dict[tuple[str, str, int], dict[int, Cell]] = {}
    for cell in cells:
        rows.setdefault((cell.queue, cell.order, cell.any_source), {})[cell.depth] = cell
    for (queue, order, wild), of_depth in rows.items():
        texts = [
            f"{_number(one.native_ns)}, {_number(one.unisono_ns)}, {one.speedup:.3g}"
            if (one := of_depth.get(depth))
            else ""
            for depth in depths
        ]
        made.add_row(queue, order, f"{wild} %", *texts)
    console.print(made)
    if element_ns:
        said = " and ".join(f"in {ns:.2g} ns ({_OF_QUEUE[queue]})" for queue, ns in element_ns.items())
        console.print(
            f"The MPI looks at an element of its queues {said}; `unisono match report` goes by that from now on.",
            soft_wrap=True,
        )


def show_replay(lines: Sequence[dict[str, Any]]) -> None:
    console = printing.console()
    head, engines = lines[0], lines[1:]
    low = head["depths"]["low"]
    high = head["depths"].get("high", low)
    console.print(
        f"{escape(head['file'])}: {units.counted(head['ranks'], 'rank')}, "
        f"{units.counted(head['events'], 'event')}, order {_order_text(head['is_exact'])}\n",
        soft_wrap=True,
    )
    made = printing.table(
        "How long the queues were when they were searched", "queue", "searches", "mean", "most"
    )
    for name, text in _QUEUES:
        made.add_row(
            text,
            matching.range_text(low[name]["searches"], high[name]["searches"], units.count_text),
            matching.range_text(low[name]["mean"], high[name]["mean"], _number),
            matching.range_text(low[name]["max"], high[name]["max"], units.count_text),
        )
    console.print(made)
    console.print()
    if head["profile"]:
        console.print(f"Clusters and partners are those of {escape(head['profile'])}.\n", soft_wrap=True)
    made = printing.table(
        "What each structure takes",
        *("structure", "ms", "ns per search", "looked at, receives", "looked at, messages", "memory"),
        right=("ms", "ns per search", "looked at, receives", "looked at, messages", "memory"),
    )
    for one in engines:
        made.add_row(escape(one["engine"]), *_costs(one["low"], one.get("high", one["low"])))
    console.print(made)
    _print_receives(head["receives"])


def _order_text(is_exact: bool) -> str:
    return "exact" if is_exact else "between two bounds (low - high)"


def _costs(low: dict[str, Any], high: dict[str, Any]) -> list[str]:
    def each(queue: str, cost: dict[str, Any]) -> float:
        return float(cost[queue]["traversals"] / max(1, cost[queue]["searches"]))

    return [
        matching.range_text(low["ns"] * 1e-6, high["ns"] * 1e-6, lambda ms: f"{ms:.2f}"),
        matching.range_text(low["ns_per_search"], high["ns_per_search"], _number),
        matching.range_text(each("posted", low), each("posted", high), _number),
        matching.range_text(each("unexpected", low), each("unexpected", high), _number),
        matching.range_text(low["memory"], high["memory"], lambda count: units.bytes_text(round(count))),
    ]


def _print_receives(receives: dict[str, int]) -> None:
    if receives["otherwise"]:
        printing.console().print(
            f"{units.counted(receives['otherwise'], 'receive')} from any source {'gets' if receives['otherwise'] == 1 else 'get'} "
            "another message here than in the run.",
            soft_wrap=True,
        )
    if receives["unmatched"]:
        printing.console().print(
            f"{units.counted(receives['unmatched'], 'receive')} had messages that the trace lacks.",
            soft_wrap=True,
        )


def show_report(answer: dict[str, Any]) -> None:
    console = printing.console()
    console.print(f"[bold]{escape(matching.verdict(answer))}[/bold]\n", soft_wrap=True)
    console.print(
        f"{escape(answer['file'])}: {units.counted(answer['ranks'], 'rank')}, {escape(answer['mpi'] or 'MPI not known')}, "
        f"order {_order_text(answer['is_exact'])}\n",
        soft_wrap=True,
    )
    _print_shares(answer)
    for queue, text in _QUEUES:
        _print_histogram(text, answer["low"][queue], answer["high"][queue])
    if any(one["peers"] for one in answer["of_ranks"]):
        _print_heat_map(answer)
    for note in notes(answer):
        console.print(escape(note), soft_wrap=True)


def _print_shares(answer: dict[str, Any]) -> None:
    timed = matching.shares(answer)
    if not timed:
        return
    names = ("rank", "now", f"with {matching.option(answer)}")
    title = f"Time in queues, where an element costs {matching.element_text(answer['ns_per_element'])} ({answer['cost']})"
    made = printing.table(title, *names, right=names)
    for share in timed[:_RANKS]:
        made.add_row(
            str(share.rank),
            matching.range_text(share.low, share.high, matching.percent_text),
            matching.percent_text(share.own),
        )
    printing.console().print(made)
    if len(timed) > _RANKS:
        printing.console().print(f"... and {units.counted(len(timed) - _RANKS, 'more rank')}.")
    printing.console().print()


def class_text(index: int) -> str:
    """What a place of a histogram counts."""
    if index < 2:
        return str(index)
    return f"{1 << (index - 1)}-{(1 << index) - 1}"


def _print_histogram(text: str, low: dict[str, Any], high: dict[str, Any]) -> None:
    first, last = low["lengths"], high["lengths"]
    mean = matching.range_text(first["mean"], last["mean"], _number)
    most = matching.range_text(first["max"], last["max"], units.count_text)
    made = printing.table(
        f"{text}: {mean} in the mean when searched, at most {most}",
        *("length", "searches", ""),
        right=("length", "searches"),
    )
    places = max(len(first["counts"]), len(last["counts"]))
    counts = [_padded(one["counts"], places) for one in (first, last)]
    highest = max((max(pair) for pair in zip(*counts, strict=True)), default=0) or 1
    for place in range(places):
        pair = (counts[0][place], counts[1][place])
        bar = "#" * math.ceil(_BAR * max(pair) / highest)
        made.add_row(class_text(place), matching.range_text(*pair, units.count_text), bar)
    printing.console().print(made)
    printing.console().print()


def _padded(counts: Sequence[int], places: int) -> list[int]:
    return [*counts, *([0] * (places - len(counts)))]


def heat_map(answer: dict[str, Any], most_cells: int) -> tuple[int, list[list[float]]]:
    """Elements looked at for each message, in the mean and at most: a row for each receiver, a column for each sender. With more
    ranks than cells a cell stands for as many as the first number says."""
    each = math.ceil(answer["ranks"] / most_cells)
    edge = math.ceil(answer["ranks"] / each)
    sums = [[0] * edge for _ in range(edge)]
    messages = [[0] * edge for _ in range(edge)]
    for one in answer["of_ranks"]:
        for source, count, _, looked_at in one["peers"]:
            sums[one["rank"] // each][source // each] += looked_at
            messages[one["rank"] // each][source // each] += count
    rows = [
        [sums[r][c] / messages[r][c] if messages[r][c] else -1.0 for c in range(edge)] for r in range(edge)
    ]
    return each, rows


def _print_heat_map(answer: dict[str, Any]) -> None:
    console = printing.console()
    each, rows = heat_map(answer, _CELLS)
    most = max(max(row) for row in rows)
    if most < 0:
        return  # nothing was matched
    console.print(
        f"Elements looked at for each message, by receiver (down) and sender (across), {units.counted(each, 'rank')} a letter; "
        f"@ is {_number(most)}, a space: no message",
        soft_wrap=True,
    )
    for number, row in enumerate(rows):
        if all(value < 0 for value in row):
            continue
        letters = "".join(
            _SHADES[0] if value < 0 else _SHADES[1 + round((len(_SHADES) - 2) * value / (most or 1))]
            for value in row
        )
        console.print(f"{number * each:>6} {escape(letters)}")
    console.print()


def notes(answer: dict[str, Any]) -> list[str]:
    """What has to be known to read it."""
    found = []
    if not answer["is_exact"]:
        found.append(
            "When the MPI has looked at a message cannot be seen from outside: low is as if it took in no more than it "
            "needed, high as if it took in all that was sent."
        )
    full = answer["full_ranks"]
    if full:
        found.append(
            f"The memory for the trace was full on {units.counted(full, 'rank')} before the run ended: what is said here is of the time before that."
        )
    if count := answer["counts"].get("left-out", 0):
        verb = "is" if count == 1 else "are"
        found.append(
            f"{units.counted(count, 'message')} on communicators with other jobs {verb} not recorded."
        )
    if count := answer["counts"].get("failed-probes", 0):
        verb = "is" if count == 1 else "are"
        found.append(f"{units.counted(count, 'probe')} found nothing, and {verb} not in these figures.")
    samples = [one["mpi_samples"] for one in answer["of_ranks"] if one["mpi_samples"]]
    if samples:
        searches = sum(one["searches"] for one in samples)
        mean = sum(one["mean"] * one["searches"] for one in samples) / searches
        most = max(one["max"] for one in samples)
        low, high = (
            sum(one[name] * one["searches"] for one in samples) / searches
            for name in ("low_mean", "high_mean")
        )
        inside = sum(one["inside"] for one in samples) / searches
        found.append(
            f"The MPI itself says that {_number(mean)} messages waited in the mean of {units.counted(searches, 'look')}, "
            f"at most {units.count_text(most)}; here it is {matching.range_text(low, high, _number)} at these moments. "
            f"{matching.percent_text(inside)} of the looks lie inside the range, give or take two messages."
        )
    unmatched = sum(one["receives"]["unmatched"] for one in answer["of_ranks"])
    if unmatched:
        found.append(f"{units.counted(unmatched, 'receive')} had messages that the trace lacks.")
    return found
