# SPDX-License-Identifier: BSD-3-Clause
"""The profile of a report (option `profile`): where a program's time in MPI goes, as tables and as a verdict."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.markup import escape

from unisono.common import printing, units
from unisono.common.operations import BY_AGENTS

LITTLE = 0.02  # a share of the run for which no work pays
KINDS = {
    "point-to-point": "messages between two ranks",
    "completion": "waiting for requests",
    "collective": "collectives",
    "neighborhood": "collectives of neighbours",
    "one-sided": "one-sided communication",
    "file": "files",
    "communicator": "communicators, groups, topologies",
    "datatype": "datatypes",
    "other": "everything else",
    "start and end": "MPI_Init and the like",
}
KIND_COLUMNS = ("kind", "calls", "time", "of the run")
FUNCTION_COLUMNS = ("function", "calls", "bytes", "time", "of the run", "least", "most", "per call")
SIZE_COLUMNS = ("function", "size", "partner", "calls", "bytes", "per call")
PARTNERS = ("same rank", "same node", "other node", "unknown")
_OUTSIDE_RUN = "start and end"
_MOST_ROWS = 20
_COLLECTIVE = ("collective", "neighborhood")
_ADVISED = (*_COLLECTIVE, "point-to-point", "one-sided", "file")
# MPI_Isend, MPI_Allreduce_init, MPI_File_iwrite_at, MPI_Rput. Probes leave no request.
_STARTING = re.compile(r"MPI_(I(?!m?probe)|File_i(read|write)|R(put|get|accumulate)|\w+_init(_c)?$)")
_STARTS = ("MPI_Start", "MPI_Startall")  # of requests of any kind: as waits are
_BY_AGENTS = tuple(f"MPI_I{operation}" for operation in BY_AGENTS)


@dataclass(frozen=True)
class Shares:
    """Parts of the run, from 0 to 1, mean of all ranks."""

    in_mpi: float
    waiting: float  # for ranks that compute longer: at least so much
    by_kind: dict[str, float]


def _part(of: float, whole: float) -> float:
    return of / whole if whole > 0 else 0.0


def shares(profile: dict[str, Any]) -> Shares:
    run_s = profile["run_s"]["mean"] * max(profile["threads"], 1)
    by_kind: dict[str, float] = {}
    for row in profile["functions"]:
        if row["kind"] != _OUTSIDE_RUN:
            by_kind[row["kind"]] = by_kind.get(row["kind"], 0.0) + _part(row["time_s"]["mean"], run_s)
    outside = profile["outside_s"]
    waiting = min(
        _part(outside["max"] - outside["mean"], profile["run_s"]["mean"]),
        _part(profile["in_mpi_s"]["mean"], profile["run_s"]["mean"]),
    )
    in_mpi = _part(profile["in_mpi_s"]["mean"], profile["run_s"]["mean"])
    return Shares(in_mpi, waiting, dict(sorted(by_kind.items(), key=lambda item: -item[1])))


def _share_of(profile: dict[str, Any], functions: Sequence[str]) -> float:
    """Of the run."""
    run_s = profile["run_s"]["mean"] * max(profile["threads"], 1)
    return _part(
        sum(row["time_s"]["mean"] for row in profile["functions"] if row["function"] in functions), run_s
    )


def sent_bytes(profile: dict[str, Any]) -> dict[str, int]:
    """Bytes that ranks sent to each other by messages and one-sided calls, by where the partner is."""
    sums = dict.fromkeys(PARTNERS, 0)
    for row in profile["functions"]:
        if row["sends"]:
            for cell in row["cells"]:
                if cell["partner"] in sums:
                    sums[cell["partner"]] += cell["bytes"]
    return sums


def _longest(profile: dict[str, Any], kinds: Sequence[str]) -> str:
    """The function of these kinds that takes most time, with the size that does: `MPI_Allreduce of 8 B`."""
    rows = [row for row in profile["functions"] if row["kind"] in kinds]
    if not rows:
        return ""
    row = max(rows, key=lambda one: one["time_s"]["mean"])
    cell = max(row["cells"], key=lambda one: one["time_s"])
    name = str(row["function"])
    return f"{name} of up to {cell['size_class']}" if cell["bytes"] else name


def verdict(profile: dict[str, Any]) -> list[str]:
    """What the numbers say, and what to do next: a line for each finding, the most important first."""
    found = shares(profile)
    if found.in_mpi < LITTLE:
        return [
            f"MPI is no problem here: it takes {found.in_mpi:.1%} of the run. "
            "Look at what the program computes between its MPI calls."
        ]
    lines = []
    if found.waiting >= max(LITTLE, found.in_mpi / 2):
        lines.append(
            f"Waiting is the problem: {found.waiting:.0%} of the run or more is spent waiting for ranks that compute longer "
            f"(the slowest computes for {units.seconds_text(profile['outside_s']['max'])}, a rank on average for "
            f"{units.seconds_text(profile['outside_s']['mean'])}). Give the ranks equal work: faster MPI does not help."
        )
    starters = _starters(profile)
    starts = _share_of(profile, _STARTS)
    waits = found.by_kind.get("completion", 0.0) + starts
    parts = {kind: found.by_kind.get(kind, 0.0) for kind in _ADVISED} | {"completion": 0.0}
    parts["point-to-point"] -= starts
    parts[_owner(starters)] += waits
    largest, share = max(parts.items(), key=lambda item: item[1])
    if share < LITTLE:
        lines.append(
            f"MPI takes {found.in_mpi:.0%} of the run, most of it in {_longest(profile, list(KINDS)[:-1])}."
        )
    else:
        lines.append(_advice(profile, largest, share, starters))
    if largest not in _COLLECTIVE:
        taken = sum(parts[kind] for kind in _COLLECTIVE)
        also = (
            f", and with all waits {taken + waits:.1%}"
            if parts["completion"] and _has_collectives(starters)
            else ""
        )
        lines.append(f"Collectives take {taken:.1%} of the run{also}: Unisono can gain no more than that.")
    return lines


def _starters(profile: dict[str, Any]) -> dict[str, list[str]]:
    """Of each kind of work the functions that leave a request to wait for; what takes most time first."""
    found: dict[str, list[str]] = {}
    for row in profile["functions"]:
        if row["kind"] != "completion" and _STARTING.match(row["function"]):
            found.setdefault(row["kind"], []).append(row["function"])
    return found


def _owner(starters: dict[str, list[str]]) -> str:
    """The kind whose requests all waits were for; `completion`: they cannot be told apart."""
    kinds = [kind for kind in starters if kind in _ADVISED] or ["point-to-point"]
    if len(kinds) == 1:
        return kinds[0]
    return "collective" if all(kind in _COLLECTIVE for kind in kinds) else "completion"


def _has_collectives(starters: dict[str, list[str]]) -> bool:
    return any(kind in starters for kind in _COLLECTIVE)


def _advice(profile: dict[str, Any], kind: str, share: float, starters: dict[str, list[str]]) -> str:
    has_waits = _owner(starters) == kind and any(row["kind"] == "completion" for row in profile["functions"])
    with_waits = ", waits for them included" if has_waits else ""
    most = f"most of it {_longest(profile, [kind, 'completion'] if has_waits else [kind])}"
    if kind in _COLLECTIVE:
        what = "Collectives" if kind == "collective" else "Collectives of neighbours"
        return (
            f"{what} take {share:.0%} of the run{with_waits}, {most}. "
            f"Next: run the program with `unisono run`, and compare.{_agents_text(profile) if has_waits else ''}"
        )
    if kind == "completion":
        names = {"point-to-point": "messages between two ranks"}
        of = " and of ".join(
            f"{names.get(one, KINDS[one])} ({started[0]})"
            for one, started in starters.items()
            if one in _ADVISED
        )
        then = "Next: run the program with `unisono run`, and compare." + _agents_text(profile)
        return (
            f"Waits for requests take {share:.0%} of the run, {most}. They are of {of}, and cannot be told apart. "
            f"{then if _has_collectives(starters) else 'Unisono leaves them to the MPI.'}"
        )
    if kind == "point-to-point":
        sent = sent_bytes(profile)
        total = sum(sent.values())
        far = _part(sent["other node"], total)
        where = f" {far:.0%} of the bytes go to other nodes." if far else ""
        place = "place ranks that talk much on one node, or " if far else ""
        return (
            f"Messages between two ranks take {share:.0%} of the run{with_waits}, {most}.{where} "
            f"Unisono leaves them to the MPI: {place}send while the program computes."
        )
    what = {"one-sided": "One-sided communication", "file": "Reading and writing files"}[kind]
    return (
        f"{what} takes {share:.0%} of the run{with_waits.replace('them', 'it')}, {most}. "
        "Unisono leaves it to the MPI: look at the MPI's own settings."
    )


def _agents_text(profile: dict[str, Any]) -> str:
    """What helps started collectives between nodes."""
    served = [
        row["function"]
        for row in profile["functions"]
        if row["function"].removesuffix("_c") in _BY_AGENTS
        and any(cell["partner"] == "other node" for cell in row["cells"])
    ]
    if not served:
        return ""
    return (
        f" With `--agents 1` as well: agents go on with {served[0]} while the program computes "
        "(docs/guide/agents.md)."
    )


def headline(profile: dict[str, Any]) -> str:
    run_s, in_mpi = profile["run_s"], profile["in_mpi_s"]
    threads = f", {profile['threads']} threads in MPI" if profile["threads"] > 1 else ""
    return (
        f"{profile['ranks']} rank{'s' if profile['ranks'] != 1 else ''}{threads}, "
        f"{units.seconds_text(run_s['mean'])} each: {_part(in_mpi['mean'], run_s['mean']):.1%} of it in MPI "
        f"(from {_part(in_mpi['min'], run_s['mean']):.1%} to {min(1.0, _part(in_mpi['max'], run_s['mean'])):.1%} on the ranks)"
    )


def kind_rows(profile: dict[str, Any]) -> list[list[str]]:
    """kind, calls, time, share."""
    found = shares(profile)
    rows = []
    for kind, share in found.by_kind.items():
        of_kind = [row for row in profile["functions"] if row["kind"] == kind]
        calls = sum(row["calls"] for row in of_kind)
        time_s = sum(row["time_s"]["mean"] for row in of_kind)
        rows.append(
            [KINDS.get(kind, kind), units.count_text(calls), units.seconds_text(time_s), f"{share:.1%}"]
        )
    return rows


def function_rows(profile: dict[str, Any]) -> list[list[str]]:
    """function, calls, bytes, mean time, share, least and most time, time per call."""
    run_s = profile["run_s"]["mean"] * max(profile["threads"], 1)
    rows = []
    for row in profile["functions"]:
        about = "~" if row["estimated"] else ""
        time = row["time_s"]
        share = "" if row["kind"] == _OUTSIDE_RUN else f"{_part(time['mean'], run_s):.1%}"
        each_s = _part(time["mean"] * profile["ranks"], row["calls"])
        rows.append(
            [
                str(row["function"]),
                units.count_text(row["calls"]),
                units.bytes_text(row["bytes"]) if row["bytes"] else "",
                about + units.seconds_text(time["mean"]),
                share,
                about + units.seconds_text(time["min"]),
                about + units.seconds_text(time["max"]),
                about + units.seconds_text(each_s),
            ]
        )
    return rows


def size_rows(profile: dict[str, Any]) -> list[list[str]]:
    """function, size, partner, calls, bytes, time per call; what takes most time first."""
    cells = [
        (row, cell) for row in profile["functions"] for cell in row["cells"] if cell["partner"] != "none"
    ]
    cells.sort(key=lambda pair: -pair[1]["time_s"])
    rows = []
    for row, cell in cells:
        about = "~" if row["estimated"] else ""
        rows.append(
            [
                str(row["function"]),
                str(cell["size_class"]),
                str(cell["partner"]),
                units.count_text(cell["calls"]),
                units.bytes_text(cell["bytes"]),
                about + units.seconds_text(_part(cell["time_s"], cell["calls"])),
            ]
        )
    return rows


def partner_text(profile: dict[str, Any]) -> str:
    """`40% to the same node, 60% to other nodes`; empty where nothing was sent."""
    sent = sent_bytes(profile)
    total = sum(sent.values())
    words = {
        "same rank": "to the rank itself",
        "same node": "to ranks of the same node",
        "other node": "to other nodes",
        "unknown": "to ranks whose node is not known",
    }
    return ", ".join(f"{count / total:.0%} {words[partner]}" for partner, count in sent.items() if count)


def render(profile: dict[str, Any], console: Console) -> None:
    """Prints the profile."""
    console.print(f"[bold]Profile[/bold]: {escape(headline(profile))}\n")
    printing.print_rows(
        console,
        "By kind",
        KIND_COLUMNS,
        kind_rows(profile),
        right=("calls", "time", "of the run"),
    )
    console.print()
    _print_some(
        console,
        "By function",
        FUNCTION_COLUMNS,
        function_rows(profile),
        give_way=("least", "most", "bytes"),
    )
    rows = size_rows(profile)
    if rows:
        _print_some(
            console,
            "By message size and partner",
            SIZE_COLUMNS,
            rows,
            text=("partner",),
            give_way=("bytes",),
        )
    if where := partner_text(profile):
        console.print(f"Of the bytes in messages and one-sided calls {where}.\n")
    printing.print_prose(
        console,
        "Calls and bytes are sums over all ranks, times the mean of a rank, least and most those of single ranks. "
        "Size: bytes of a call, up to. ~: not every call was timed. MPI_Init and MPI_Finalize are no part of the run.",
    )
    console.print()
    for line in verdict(profile):
        printing.print_prose(console, line, "bold")


def _print_some(
    console: Console,
    title: str,
    columns: tuple[str, ...],
    rows: list[list[str]],
    *,
    text: tuple[str, ...] = (),
    give_way: tuple[str, ...] = (),
) -> None:
    """The first rows of a table, and how many there are beside them."""
    right = tuple(column for column in columns[1:] if column not in text)
    printing.print_rows(
        console, title, columns, rows[:_MOST_ROWS], right=right, whole=(columns[0], *text), give_way=give_way
    )
    if len(rows) > _MOST_ROWS:
        console.print(f"... and {len(rows) - _MOST_ROWS} more that take less time (--json shows them)")
    console.print()
