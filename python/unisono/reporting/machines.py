# SPDX-License-Identifier: BSD-3-Clause
"""A machine's file as tables: the parameters of the models, with their intervals where they were measured, and what was found
beside them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape

from unisono.common import printing, sound, units
from unisono.common.fitted_table import FittedTable
from unisono.machine import costs, values
from unisono.machine.measuring import BY_SHARED_MEMORY

_FRESH_BYTES = 64 << 10
_LEVELS = (("node", "messages inside a node"), ("network", "messages between nodes"))


def render(document: Mapping[str, Any], console: Console) -> None:
    """Prints what the file says. `document` has all parameters; `measured` and `findings` where the machine was measured."""
    sound.whole(lambda: _render(document, console), "the machine's file")


def _render(document: Mapping[str, Any], console: Console) -> None:
    measured, findings = document.get("measured", {}), document.get("findings", {})
    not_measured = measured.get("not_measured", ())
    console.print(_parameters(document, findings, not_measured))
    if "node" not in not_measured and findings.get("operations"):
        console.print(_operations(findings))
    if findings.get("collectives"):
        console.print(_collective_table(findings["collectives"]))
    if document.get("filled"):
        console.print(filled_text(document["name"], document["filled"]), soft_wrap=True)
    if measured:
        _say_of_measuring(measured, console)


def filled_text(name: str, filled: Sequence[str]) -> str:
    """Of what somebody has left out of a file."""
    return escape(
        f"The file of machine {name} does not have {', '.join(filled)}: these follow from what it has, or are those of machine "
        "'typical'."
    )


def _parameters(
    document: Mapping[str, Any], findings: Mapping[str, Any], not_measured: Sequence[str]
) -> FittedTable:
    head = "value (95 % interval)" if document.get("measured") else "value"
    note = f": {document['note']}" if document.get("note") else ""
    made = printing.table(escape(f"{document['name']}{note}"), "of", "parameter", head)
    if document["nodes_on_cores"] > 1:
        shared_by = f"shared by {document['nodes_on_cores']} nodes, whose ranks take turns on them"
        made.add_row("cores", "of the machine", f"{document['cores_per_node']}, {shared_by}")
    for key, title in _LEVELS:
        if key in not_measured:
            continue
        for text, what in _link_rows(document[key]):
            made.add_row(title, text, what)
        fresh = document.get("fresh_message_us")
        if key == "node" and fresh and _FRESH_BYTES in fresh["bytes"]:
            longer = _text(_point(fresh, _FRESH_BYTES))
            made.add_row(title, f"longer where just written: {units.bytes_text(_FRESH_BYTES)}", longer)
    for serial in document.get("serial_reductions", ()):
        title = dict(_LEVELS)[serial["level"]]
        ends = [f"{units.seconds_text(serial['us'][i] * 1e-6)} from {serial['children'][i]}" for i in (0, -1)]
        made.add_row(title, f"serial reduction of {units.bytes_text(serial['bytes'])}", ", ".join(ends))
    if "node" not in not_measured:
        for text, what in _shared_rows(document, findings):
            made.add_row("shared memory", text, what)
    for title, text, what in _finding_rows(document, findings):
        made.add_row(title, text, what)
    return made


def _say_of_measuring(measured: Mapping[str, Any], console: Console) -> None:
    """What was not measured, and whether the rest can be relied on."""
    not_measured, base = measured.get("not_measured", ()), escape(str(measured.get("base", "typical")))
    if "network" in not_measured:
        is_one_node = str(measured.get("layout", "")).startswith("1x")
        why = "the job had one node" if is_one_node else "no two nodes could be measured"
        console.print(
            f"Not measured: messages between nodes ({why}). The file has those of machine '{base}' there "
            "(--base NAME names another one); measure with ranks on two nodes to get them."
        )
    if "node" in not_measured:
        console.print(
            f"Not measured: shared memory and messages inside a node (no node had two ranks). The file has those of machine "
            f"'{base}' there."
        )
    others = [key for key in not_measured if key.startswith("shared_memory.")]
    if others and "node" not in not_measured:
        console.print(f"Not measured, and taken from '{base}': {escape(', '.join(others))}")
    if not measured.get("is_steady", True):
        console.print(
            "The machine changed while it was measured (a flag or a message between two ranks took other times than "
            "at first, again and again): parts of this do not go together. Virtual machines do that; measure again."
        )
    where = [str(measured[part]) for part in ("date", "host", "mpi", "layout") if part in measured]
    if "samples" in measured and "seconds" in measured:
        where.append(f"{measured['samples']} samples in {measured['seconds']} s")
    console.print(escape(f"Measured: {', '.join(where)}"), soft_wrap=True)


def _text(of: Any, scale: float = 1e-6) -> str:
    """A value with its interval."""
    if not isinstance(of, dict):
        return units.seconds_text(float(of) * scale)
    if "low" not in of:
        return units.seconds_text(of["value"] * scale)
    low, high = (units.seconds_text(of[key] * scale) for key in ("low", "high"))
    return f"{units.seconds_text(of['value'] * scale)}  ({low} - {high})"


def _rate(of: Any) -> str:
    """Of microseconds per byte."""
    number = values.number(of)
    return f"{1e-3 / number:.3g} GB/s" if number > 0 else "no limit seen"


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
            if size in plogp.get(key, {}).get("bytes", ()):
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
    for far in shared.get("distances", ()):
        rows.append((f"line of another {far['across']}", _text(far["line_us"])))
        rows.append((f"bytes of another {far['across']}, beside a copy", _rate(far["us_per_byte"])))
    rows.append(("all copies of a node together", _rate(shared["memory_us_per_byte"])))
    for key, text in (("call_us", "collective call"), ("step_us", "step of a schedule")):
        if key in document:
            rows.append((text, _text(document[key])))
    rows.append(("switch between ranks on a core", _text(document["switch_us"])))
    rows.append(("the same, from one that waits for messages", _text(document["message_switch_us"])))
    rows += [
        (escape(f"synchronise the node, wait {wait}"), _text(of))
        for wait, of in findings.get("waits_us", {}).items()
    ]
    return rows


def _finding_rows(document: Mapping[str, Any], findings: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    rows = []
    if findings.get("waits_us"):
        best = min(findings["waits_us"], key=lambda wait: values.number(findings["waits_us"][wait]))
        rows.append(("findings", "best way to wait", escape(best)))
    for piece in _optima(findings.get("buffers", ())):
        size = units.bytes_text(piece["piece_bytes"])
        rate = piece["piece_bytes"] / values.number(piece["us"]) / 1e3
        total = units.bytes_text(piece["piece_bytes"] * piece["buffers"])
        rows.append(
            (
                "findings",
                f"best buffers, {piece['kind']}",
                f"{piece['buffers']} of {size} (total {total}): {rate:.3g} GB/s",
            )
        )
    for level, title in (("node", "inside a node"), ("network", "between nodes")):
        if f"{level}_switch_point_bytes" in findings and f"{level}_segment_bytes" in findings:
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


def _operations(findings: Mapping[str, Any]) -> FittedTable:
    sizes = sorted({size for points in findings["operations"].values() for size in points["bytes"]} - {0})
    shown = [size for size in sizes if size in (8, 4 << 10, 64 << 10, 512 << 10, 1 << 20)]
    headings = [units.bytes_text(size) for size in shown]
    made = printing.table(
        "The seven operations on shared memory",
        "operation",
        "by itself",
        *headings,
        right=("by itself", *headings),
        give_way=tuple(headings[1:]),
    )
    for name, points in findings["operations"].items():
        cells = [_short_text(points, size) if size in points["bytes"] else "" for size in (0, *shown)]
        made.add_row(escape(name), *cells)
    return made


def _short_text(points: Mapping[str, Any], size: int) -> str:
    return units.seconds_text(_point(points, size)["value"] * 1e-6)


def _collective_table(found: Sequence[Mapping[str, Any]]) -> FittedTable:
    headings = [name for name in BY_SHARED_MEMORY if any(one["algorithm"] == name for one in found)]
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
        made.add_row(escape(operation), units.size_text(operation, size), *cells)
    return made
