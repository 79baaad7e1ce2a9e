# SPDX-License-Identifier: BSD-3-Clause
"""Reads a run's report (docs/guide/report.md) and prints it as tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.markup import escape

from unisono.common import files, printing, schemas, sound, units
from unisono.common.errors import FileError
from unisono.common.fitted_table import FittedTable
from unisono.common.operations import called_as
from unisono.reporting import estimates, hardware, profile, verdict

VERSION = 1
_OTHERS = {
    schemas.TABLE: "is a table and no report: `unisono table show {file}` prints it, `unisono report {file} --html PAGE` makes a "
    "page of it",
    schemas.MACHINE: "is a machine's file and no report: `unisono machine show {file}` prints it",
}
_Read = TypeVar("_Read")


def load(file: Path) -> dict[str, Any]:
    """The report in `file`; ends the command where it is none that this version can read."""
    return of(files.read_json(file, "is no report"), file)


def of(report: Any, file: Path) -> dict[str, Any]:
    """The report that was read of `file`, looked at as `load` does."""
    schema = report.get("schema") if isinstance(report, dict) else None
    if isinstance(schema, str) and schema in _OTHERS:
        raise FileError(f"{file} {_OTHERS[schema].format(file=file)}")
    if schema != schemas.REPORT:
        raise FileError(f"{file} is no report of Unisono: its 'schema' is not '{schemas.REPORT}'")
    assert isinstance(report, dict)
    if report.get("version") != VERSION:
        raise FileError(
            f"{file} has report version {report.get('version')}, this command reads version {VERSION}; "
            "use the command of the Unisono that wrote it."
        )
    if problem := sound.problem(report, "report"):
        raise FileError(f"the report is damaged: {problem}")
    return report


def whole(read: Callable[[], _Read]) -> _Read:
    """What `read` makes of a report; ends the command where fields of it are missing, or hold what they cannot."""
    return sound.whole(read, "the report")


def render(report: dict[str, Any], console: Console) -> None:
    """Prints the report."""
    whole(lambda: _render(report, console))


def _render(report: dict[str, Any], console: Console) -> None:
    _headline(report, console)
    _classes(report, console)
    _native(report, console)
    _learning(report, console)
    if "profile" in report:
        profile.render(report["profile"], console)
        console.print()
    _communicators(report, console)
    if report.get("measured_here"):
        console.print(f"as measured on this machine: {escape(str(report['measured_here']))}")
    if report.get("waits") == "sleep" and "wait" not in report["options"]:
        printing.print_prose(
            console,
            "ranks that wait for long sleep: there are more of them than cores, in sessions that the kernel schedules apart",
        )
    if agents := agents_text(report):
        printing.print_prose(console, f"agents: {agents}")
    if "messages" in report:
        printing.print_prose(console, messages_text(report))
    for hint in report["hints"]:
        console.print(f"[hint]hint:[/hint] {escape(hint)}")
    for warning in report["warnings"]:
        console.print(f"[warning]warning:[/warning] {escape(warning)}")
    printing.print_prose(console, verdict.of_report(report).text, "bold")


def agents_text(report: dict[str, Any]) -> str:
    """`served 40 calls; by mpi between nodes: allreduce 30, bcast 10; they were started again 2 times`, or why they served
    none. Empty: nobody has asked for any."""
    is_one_node = len(report["nodes"]) == 1
    if "agents" not in report:
        if report["options"].get("agents", "0") == "0":
            return ""
        return "none, as the job is on one node" if is_one_node else "none came to this job"
    agents = report["agents"]
    by_carrier: dict[str, list[dict[str, Any]]] = {}
    for row in agents["calls"]:
        by_carrier.setdefault(row["carrier"], []).append(row)
    calls = sum(row["calls"] for row in agents["calls"])
    if calls:
        said = [f"served {units.count_text(calls)} call{'s' if calls != 1 else ''}"]
    elif is_one_node:
        said = ["served no call, as the job is on one node"]
    else:
        said = ["served no call (`unisono explain` says of each why)"]
    for carrier, rows in by_carrier.items():
        counts = ", ".join(f"{row['operation']} {units.count_text(row['calls'])}" for row in rows)
        said.append(f"by {carrier} between nodes: {counts}")
    if timed := agents.get("timed"):
        under_way, waited = (units.seconds_text(timed[name]) for name in ("under_way_s", "waited_s"))
        said.append(
            f"timed on all ranks: {units.counted(timed['calls'], 'call')}, {under_way} under way, of which the program waited "
            f"for {waited}"
        )
    if again := agents["started_again"]:
        said.append(f"they were started again {again} time{'s' if again != 1 else ''}")
    return "; ".join(said)


def messages_text(report: dict[str, Any]) -> str:
    """What Unisono has carried itself, and why that may be nothing."""
    totals: dict[str, int] = report["messages"]
    is_left = (
        not totals["sent"] and len(report["nodes"]) > 1 and report["options"].get("messages", "off") != "all"
    )
    why = (
        ", as communicators over several nodes are the MPI's (--messages all carries them)" if is_left else ""
    )
    line = (
        f"messages: {totals['sent']:,} sent{why}; longest queues of a rank: "
        f"receives {totals['deepest_posted']:,}, messages {totals['deepest_unexpected']:,}"
    )
    if totals.get("data_by_mpi"):
        line += f"; the MPI carried the data of {totals['data_by_mpi']:,} long ones of a node"
    if totals["floods"]:
        line += f"; senders had to wait {totals['floods']:,} times (option unexpected_bytes)"
    return line


def _headline(report: dict[str, Any], console: Console) -> None:
    wall_s = report["wall_s"]
    console.print(
        f"[bold]Unisono {report['unisono']}[/bold] on {escape(report['mpi'])}: "
        f"{layout_text(report['nodes'])}, {cores_text(report['usable_cores'])}"
    )
    if domains := hardware.domains_text(report["nodes"]):
        console.print(f"ranks of a node are in {domains}")
    console.print(
        f"{units.seconds_text(wall_s)} from MPI_Init to MPI_Finalize; {in_collectives_text(report)}"
    )
    if report["under_way_time_s"]["max"]:
        console.print(under_way_text(report["under_way_time_s"], wall_s))
    if "verify" in report["options"]:
        console.print(checks_text(report))
    if report["options"]:
        given = ", ".join(f"{name}={value}" for name, value in report["options"].items())
        console.print(escape(f"options: {given}"))
    console.print()


def in_collectives_text(report: dict[str, Any]) -> str:
    """`in collectives about 2 s (16%) on the slowest rank, 1.5 s on average`: an estimate says what is known."""
    if report["native"] and not report["classes"]:
        return "Unisono served no collective call"
    collective, wall_s = report["collective_time_s"], report["wall_s"]
    most_s, error_s = collective["max"], collective["error"]
    share = estimates.share_text(most_s, error_s, wall_s)
    text = estimates.time_text(most_s, error_s, wall_s or None) + (f", {share} of it," if share else "")
    return f"in collectives {text} on the slowest rank, {units.seconds_text(collective['mean'])} on average"


def under_way_text(under_way: dict[str, float], wall_s: float) -> str:
    share = f" ({under_way['max'] / wall_s:.0%})" if wall_s else ""
    return f"calls that do not block were under way for {units.seconds_text(under_way['max'])}{share} at most"


def _classes(report: dict[str, Any], console: Console) -> None:
    if not report["classes"]:
        if not report["native"]:
            console.print("No collective call was counted.\n")
        return
    for shape, rows in _by_shape(report["classes"]):
        made = _shape_table(shape, rows, {})
        if printing.fits(made, console):
            console.print(made)
        else:
            reasons = list(dict.fromkeys(row["reason"] for row in rows))
            notes = {reason: f"({number})" for number, reason in enumerate(reasons, 1)}
            console.print(_shape_table(shape, rows, notes))
            for reason, note in notes.items():
                console.print(f"{note} {escape(reason)}")
        console.print()
    printing.print_prose(console, _legend(report["classes"]))
    console.print()


def _legend(rows: list[dict[str, Any]]) -> str:
    """What the columns of the tables of calls mean."""
    said = [
        "size: the most bytes of such a call",
        "calls: each counted once, not on every rank",
        "time with waiting: in all these calls on the slowest rank, from call to return, so with what it waits for ranks that come later",
        "per call: that time over the calls",
    ]
    if any(row["sampled"] for row in rows):
        said.append("~: not every call was timed, the others are taken to be like those that were")
    if any(row["sampled"] and cell.startswith("<") for row in rows for cell in _times(row)):
        said.append("<: at most, as too few calls were timed")
    if any(row["form"] != "blocking" for row in rows):
        said.append("calls that do not block are timed from start to end, beside each other and the program")
    return "; ".join(said) + "."


def _times(row: dict[str, Any]) -> tuple[str, str]:
    """Of all calls of a class, and of each."""
    if not is_timed(row):
        return "", ""
    calls = row["calls"] or 1
    whole, each = (
        estimates.cell_text(row["time_s"] / over, row["time_error_s"] / over, row["sampled"])
        for over in (1, calls)
    )
    return whole, each


def _shape_table(shape: str, rows: list[dict[str, Any]], notes: dict[str, str]) -> FittedTable:
    """The classes of one communicator shape; reasons that are in `notes` are written as those are."""
    numbers = ("size", "calls", "bytes", "time with waiting", "per call")
    made = printing.table(
        escape(shape),
        "operation",
        *numbers,
        "algorithm",
        "why",
        right=numbers,
        whole=("operation",),
        give_way=("bytes", "per call"),
    )
    for row in rows:
        made.add_row(
            operation_text(row),
            row["size_class"],
            units.count_text(row["calls"]),
            units.bytes_text(row["bytes"]),
            *_times(row),
            escape(algorithm_text(row)),
            escape(notes.get(row["reason"], row["reason"])),
        )
    return made


def checks_text(report: dict[str, Any]) -> str:
    """What option `verify` did: without a word nobody knows whether it was on."""
    checks = sum(row["checks"] for row in report["classes"])
    mismatches = sum(row["mismatches"] for row in report["classes"])
    verdict = f"{units.count_text(mismatches)} of them were wrong" if mismatches else "all alike"
    calls = "call" if checks == 1 else "calls"
    return f"checked {units.count_text(checks)} {calls} against the MPI, {verdict}"


def operation_text(row: dict[str, Any]) -> str:
    """`bcast`, `ibcast`, `bcast_init`: as the program called it."""
    return called_as(str(row["operation"]), row["form"])


def is_timed(row: dict[str, Any]) -> bool:
    """Of calls that do not block and are the MPI's own nobody knows when they end."""
    return bool(row["form"] == "blocking" or row["algorithm"] != "native")


def _native(report: dict[str, Any], console: Console) -> None:
    if not report["native"]:
        return
    made = printing.table("Left to the MPI", "operation", "calls", "why", right=("calls",))
    for row in report["native"]:
        made.add_row(row["operation"], units.count_text(row["calls"]), escape(row["reason"]))
    console.print(made)
    console.print()


def _learning(report: dict[str, Any], console: Console) -> None:
    """A line for each kind of calls in which anything was found out; `--json` shows the time lines."""
    rows = [row for row in report["learning"] if row["agreements"]]
    if not rows:
        return
    legend = {
        "time without waiting": "of a call with what was chosen, once all ranks are there",
        "native": "the same of the MPI's own (?: given up before it was measured)",
        "tried": "of the algorithms that may serve these calls",
        "since call": "from which call on the chosen one has served",
        "trials cost": "what all trials and timing took",
    }
    numbers = ("size", "calls", "time without waiting", "native", "tried", "since call", "trials cost")
    made = printing.table(
        "Learned while the program ran",
        *("operation", "size", "region", "calls", "chosen", "time without waiting", "native"),
        *("tried", "since call", "trials cost"),
        right=numbers,
        whole=("operation",),
        give_way=("trials cost", "since call", "tried"),
        legend=legend,
    )
    for row in rows:
        native = next((c["time_s"] for c in row["candidates"] if c["algorithm"] == "native"), None)
        tried = f"{len(row['candidates'])} of {len(row['candidates']) + len(row['untried'])}"
        cost_s = row["trial_loss_s"] + row["measuring_overhead_s"] + row["monitoring_overhead_s"]
        made.add_row(
            row["operation"],
            row["size_class"],
            escape(row["region"]),
            units.count_text(row["calls"]),
            escape(row["chosen"]),
            known_time_text(row["time_s"]),
            known_time_text(native),
            tried,
            units.count_text(row["timeline"][-1]["call"]),
            units.seconds_text(cost_s),
        )
    console.print(made)
    console.print()


def known_time_text(seconds: float | None) -> str:
    return "?" if seconds is None else units.seconds_text(seconds)


def _communicators(report: dict[str, Any], console: Console) -> None:
    if len(report["communicators"]) < 2:
        return
    made = printing.table(
        "Communicators", "name", "ranks", "nodes", "per node", "calls", right=("ranks", "nodes", "calls")
    )
    for row in report["communicators"]:
        name = row["name"] or f"number {row['id']}"
        counts = [str(row["size"]), str(row["nodes"]), row["ppn"], units.count_text(row["calls"])]
        made.add_row(escape(name), *counts)
    console.print(made)
    console.print()


def _by_shape(classes: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """The classes of each communicator shape; shapes by time, the longest first."""
    shapes: dict[str, list[dict[str, Any]]] = {}
    for row in classes:
        shapes.setdefault(row["shape"], []).append(row)
    for rows in shapes.values():
        rows.sort(key=lambda row: (row["operation"], row["form"], row["bytes_low"], row["algorithm"]))
    return sorted(shapes.items(), key=lambda item: -sum(row["time_s"] for row in item[1]))


def algorithm_text(row: dict[str, Any]) -> str:
    """`chain (segment 64 KiB, window 2)`."""
    if not row["parameters"]:
        return str(row["algorithm"])
    values = ", ".join(f"{name} {parameter_text(name, value)}" for name, value in row["parameters"].items())
    return f"{row['algorithm']} ({values})"


def parameter_text(name: str, value: Any) -> str:
    """Segments, and what is named so, are in bytes; everything else is a plain number."""
    is_bytes = name == "segment" or name.endswith("_bytes")
    return units.bytes_text(value) if is_bytes and isinstance(value, int) else str(value)


def layout_text(nodes: list[dict[str, Any]]) -> str:
    """`8 ranks on 1 node`, `16 ranks on 4 nodes (4 each)`, `16 ranks on 3 nodes (3, 5, 8)`."""
    per_node = [node["ranks"] for node in nodes]
    ranks = sum(per_node)
    text = f"{ranks} rank{'s' if ranks != 1 else ''} on {len(nodes)} node{'s' if len(nodes) != 1 else ''}"
    if len(nodes) == 1:
        return text
    return text + (
        f" ({per_node[0]} each)" if len(set(per_node)) == 1 else f" ({', '.join(map(str, per_node))})"
    )


def cores_text(usable_cores: list[int]) -> str:
    if len(set(usable_cores)) == 1:
        count = usable_cores[0]
        each = " each" if len(usable_cores) > 1 else ""
        return f"{count} usable core{'s' if count != 1 else ''}{each}"
    return f"usable cores {', '.join(map(str, usable_cores))}"
