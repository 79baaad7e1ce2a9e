# SPDX-License-Identifier: BSD-3-Clause
"""`unisono tune --only measure`: what messages and shared memory cost on this machine, as a machine's file."""

from __future__ import annotations

import math
import socket
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from unisono.common import printing, tool, units
from unisono.common.budget import Budget
from unisono.common.errors import UnisonoError
from unisono.machine import catalogue, costs, measuring, values
from unisono.measuring.measurer import Measurer, Place

COLLECTIVES = ("barrier", "bcast", "reduce", "allreduce", "gather", "scatter", "allgather", "alltoall")
COLLECTIVE_SIZES = (8, 4 << 10, 256 << 10)
_BY_SHARED_MEMORY = ("fused", "shared", "single_copy")
_SHARE_OF_COLLECTIVES = 0.25  # of the time, with what is predicted of what was measured
_SHARE_OF_FITTING = 0.1  # the latter alone


def command(
    words: Sequence[str],
    command_line: str,
    budget: Budget,
    base: str,
    name: str | None,
    output: Path | None,
    plot: Path | None,
    as_json: bool,
) -> None:
    """Measure with the job that `words` starts, write the machine's file, and say what it holds. `command_line` is what was asked."""
    base_machine = measuring.read_base(base)
    start = time.monotonic()
    with Measurer(words, budget=budget) as job, printing.progress() as progress:
        place = job.place
        questions = measuring.questions_for(place)
        if not questions:
            raise UnisonoError("one rank has nobody to talk to; measure with two at least: mpirun -n 2")
        task = progress.add_task("measuring", total=len(questions))

        def show(question: costs.Question) -> None:
            size = units.bytes_text(question.bytes)
            done = questions.index(question) + 1
            progress.update(task, completed=done, description=f"{question.group}: {question.what} {size}")

        share = 1 - (_SHARE_OF_COLLECTIVES if place.nodes == 1 else _SHARE_OF_FITTING)
        facts = {
            "host": socket.gethostname(),
            "command": command_line,
        }
        document = measuring.describe(job, base_machine, share * budget.left_s, facts, show)
        collectives = _collectives(job, place, budget)
    document["name"] = name or catalogue.own_name()
    document["measured"]["seconds"] = round(time.monotonic() - start)
    document["findings"]["collectives"] = collectives
    written = catalogue.write(document, output)
    tool.ask("machine", "--machine", str(written))  # it is what the tool reads
    if as_json:
        printing.print_json(document)
    else:
        _say(document, place)
    printing.echo(
        f"machine: {written}   (use it: unisono predict ... --machine {_short(document, output)})",
        err=as_json,
    )
    if plot is not None:
        from unisono.reporting.plots import machine_curves

        machine_curves(document, plot)


def _short(document: Mapping[str, Any], output: Path | None) -> str:
    return str(output or document["name"])


def _collectives(job: Measurer, place: Place, budget: Budget) -> list[dict[str, Any]]:
    """5.3.1 (6): collectives by shared memory alone, which one node's jobs have."""
    if place.nodes > 1:
        return []
    found = []
    cells = [
        (name, size) for name in COLLECTIVES for size in (COLLECTIVE_SIZES if name != "barrier" else (0,))
    ]
    for number, (name, size) in enumerate(cells):
        if budget.is_spent:
            break
        share = max(0.01, budget.left_s / (len(cells) - number))
        cell = job.compare(
            name, size, [a for a in _BY_SHARED_MEMORY if name != "barrier" or a != "single_copy"], share
        )
        for candidate in cell.candidates:
            if candidate.seconds is not None:
                us = values.rounded(candidate.seconds * values.US)
                found.append({"operation": name, "bytes": size, "algorithm": candidate.name, "us": us})
    return found


# --- What is printed ---


def _text(of: Any, scale: float = 1e-6) -> str:
    """A value with its interval."""
    if not isinstance(of, dict):
        return units.seconds_text(float(of) * scale)
    if "low" not in of:
        return units.seconds_text(of["value"] * scale)
    low, high = (units.seconds_text(of[key] * scale) for key in ("low", "high"))
    return f"{units.seconds_text(of['value'] * scale)}  ({low} - {high})"


def _rate(of: Mapping[str, Any]) -> str:
    """Of microseconds per byte."""
    value = values.number(of)
    return f"{1e-3 / value:.3g} GB/s" if value > 0 else "no limit seen"


def _say(document: Mapping[str, Any], place: Place) -> None:
    console = printing.console()
    measured, findings = document["measured"], document["findings"]
    not_measured = measured["not_measured"]
    levels = [
        (key, title)
        for key, title in (("node", "messages inside a node"), ("network", "messages between nodes"))
        if key not in not_measured
    ]
    made = printing.table(
        f"{document['name']}: {document['note']}", "of", "parameter", "value (95 % interval)"
    )
    if document["nodes_on_cores"] > 1:
        shared_by = f"shared by {document['nodes_on_cores']} nodes, whose ranks take turns on them"
        made.add_row("cores", "of the machine", f"{document['cores_per_node']}, {shared_by}")
    for key, title in levels:
        for text, what in _link_rows(document[key]):
            made.add_row(title, text, what)
        if key == "node" and (fresh := document.get("fresh_message_us")):
            longer = _text(_point(fresh, 64 << 10))
            made.add_row(title, "longer where just written: 64 KiB", longer)
    if "node" not in not_measured:
        for text, what in _shared_rows(document, findings):
            made.add_row("shared memory", text, what)
    for title, text, what in _finding_rows(document, findings):
        made.add_row(title, text, what)
    console.print(made)
    if "node" not in not_measured:
        console.print(_operations(findings))
    if findings["collectives"]:
        console.print(_collective_table(findings["collectives"]))
    if "network" in not_measured:
        why = "the job had one node" if place.nodes == 1 else "no two nodes could be measured"
        console.print(
            f"Not measured: messages between nodes ({why}). The file has those of machine '{measured['base']}' there "
            "(--machine NAME names another one); measure with ranks on two nodes to get them."
        )
    if "node" in not_measured:
        console.print(
            f"Not measured: shared memory and messages inside a node (no node had two ranks). The file has those of machine "
            f"'{measured['base']}' there."
        )
    others = [key for key in not_measured if key.startswith("shared_memory.")]
    if others and "node" not in not_measured:
        console.print(f"Not measured, and taken from '{measured['base']}': {', '.join(others)}")
    if not measured["is_steady"]:
        console.print(
            "The machine changed while it was measured (a flag or a message between two ranks took other times than "
            "at first, again and again): parts of this do not go together. Virtual machines do that; measure again."
        )
    console.print(f"{measured['samples']} samples in {measured['seconds']} s")


def _link_rows(of: Mapping[str, Any]) -> list[tuple[str, str]]:
    hockney, loggp, plogp = of["hockney"], of["loggp"], of["plogp"]
    rows = [
        ("Hockney: alpha", _text(hockney["alpha_us"])),
        (
            "Hockney: beta",
            f"{_text(hockney['beta_us_per_byte'])} a byte, {_rate(hockney['beta_us_per_byte'])}",
        ),
        ("LogGP: L", _text(loggp["L_us"])),
        ("LogGP: o", _text(loggp["o_us"])),
        ("LogGP: g", _text(loggp["g_us"])),
        ("LogGP: G", f"{_text(loggp['G_us_per_byte'])} a byte, {_rate(loggp['G_us_per_byte'])}"),
        ("P-LogP: L", _text(plogp["L_us"])),
    ]
    for key, name in (("os_us", "os"), ("or_us", "or"), ("g_us", "g"), ("whole_us", "half a round trip")):
        for size in (0, 64 << 10):
            if size in plogp[key]["bytes"]:
                rows.append((f"P-LogP: {name}({units.bytes_text(size)})", _text(_point(plogp[key], size))))
    return rows


def _point(points: Mapping[str, Any], size: int) -> dict[str, float]:
    index = points["bytes"].index(size)
    return {"value": points["us"][index]} | {
        key: points[key][index] for key in ("low", "high") if key in points
    }


def _shared_rows(document: Mapping[str, Any], findings: Mapping[str, Any]) -> list[tuple[str, str]]:
    shared = document["shared_memory"]
    names = {
        "signal_us": "raise a flag",
        "flag_us": "until it is seen",
        "await_us": "look at a flag",
        "fused_us": "fused operation",
        "line_us": "line of a fused operation",
    }
    rows = [(text, _text(shared[key])) for key, text in names.items()]
    rows.append(("all copies of a node together", _rate(shared["memory_us_per_byte"])))
    for key, text in (("call_us", "collective call"), ("step_us", "step of a schedule")):
        if key in document:
            rows.append((text, _text(document[key])))
    rows.append(("switch between ranks on a core", _text(document["switch_us"])))
    rows.append(("the same, from one that waits for messages", _text(document["message_switch_us"])))
    rows += [(f"synchronise the node, wait {wait}", _text(of)) for wait, of in findings["waits_us"].items()]
    return rows


def _finding_rows(document: Mapping[str, Any], findings: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    rows = []
    if findings["waits_us"]:
        best = min(findings["waits_us"], key=lambda wait: findings["waits_us"][wait]["value"])
        rows.append(("findings", "best way to wait", best))
    for piece in _optima(findings["buffers"]):
        size = units.bytes_text(piece["piece_bytes"])
        rate = piece["piece_bytes"] / piece["us"]["value"] / 1e3
        total = units.bytes_text(piece["piece_bytes"] * piece["buffers"])
        rows.append(
            (
                "findings",
                f"best buffers, {piece['kind']}",
                f"{piece['buffers']} of {size} (total {total}): {rate:.3g} GB/s",
            )
        )
    for level, title in (("node", "inside a node"), ("network", "between nodes")):
        if f"{level}_switch_point_bytes" in findings:
            point = units.bytes_text(findings[f"{level}_switch_point_bytes"])
            segments = " - ".join(units.bytes_text(s) for s in findings[f"{level}_segment_bytes"])
            rows.append(("findings", f"{title}: bandwidth counts from", point))
            rows.append(("findings", f"{title}: segments to test", segments))
    for pair in findings.get("overlap", ()):
        overlap = " - ".join(units.bytes_text(s) for s in pair["overlap"])
        rows.append(("findings", f"overlap of segments of {units.bytes_text(pair['segment'])}", overlap))
    if "overlap" in findings:
        penalty = document["overlap_penalty_us"]
        rows += [
            ("overlap", f"penalty of {units.bytes_text(size)}", _text(_point(penalty, size)))
            for size in penalty["bytes"]
        ]
    return rows


def _optima(found: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Small pieces that stay in the caches and large ones that pass them: the best below and above the total's middle."""
    middle = math.sqrt(costs.LEAST_TOTAL * costs.MOST_TOTAL)

    def total(one: Mapping[str, Any]) -> int:
        return int(one["piece_bytes"] * one["buffers"])

    parts = {
        "small total": [one for one in found if total(one) <= middle],
        "large total": [one for one in found if total(one) > middle],
    }
    return [{**some[0], "kind": kind} for kind, some in parts.items() if some]


def _operations(findings: Mapping[str, Any]) -> Any:
    sizes = sorted({size for points in findings["operations"].values() for size in points["bytes"]} - {0})
    shown = [size for size in sizes if size in (8, 4 << 10, 64 << 10, 512 << 10, 1 << 20)]
    headings = [units.bytes_text(size) for size in shown]
    made = printing.table(
        "The seven operations on shared memory",
        "operation",
        "by itself",
        *headings,
        right=("by itself", *headings),
    )
    for name, points in findings["operations"].items():
        cells = [_short_text(points, size) if size in points["bytes"] else "" for size in (0, *shown)]
        made.add_row(name, *cells)
    return made


def _short_text(points: Mapping[str, Any], size: int) -> str:
    return units.seconds_text(_point(points, size)["value"] * 1e-6)


def _collective_table(found: Sequence[Mapping[str, Any]]) -> Any:
    headings = [name for name in _BY_SHARED_MEMORY if any(one["algorithm"] == name for one in found)]
    made = printing.table(
        "Collectives by shared memory", "operation", "bytes", *headings, right=("bytes", *headings)
    )
    for operation, size in dict.fromkeys((one["operation"], one["bytes"]) for one in found):
        times = {
            one["algorithm"]: one["us"]
            for one in found
            if (one["operation"], one["bytes"]) == (operation, size)
        }
        cells = [units.seconds_text(times[name] * 1e-6) if name in times else "" for name in headings]
        made.add_row(operation, units.size_text(operation, size), *cells)
    return made
