# SPDX-License-Identifier: BSD-3-Clause
"""What machines consist of: as `unisono topology show` draws them, and as reports say it of nodes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape as escape_xml

from rich.markup import escape
from rich.tree import Tree

from unisono.common import units

_KINDS = ("socket", "numa", "cache", "core")
_NAMES = {"socket": "socket", "numa": "NUMA domain", "cache": "cache", "core": "core"}
_SEVERAL = {"socket": "sockets", "numa": "NUMA domains", "cache": "caches"}
_FILLS = {"machine": "#f4f4f4", "socket": "#dde6ee", "numa": "#f3e3cd", "cache": "#ffffff", "core": "#d8e8d8"}
_CORE, _GAP, _LINE, _CORES_IN_A_ROW = 60, 6, 18, 8


@dataclass
class Part:
    """A part of a machine and those inside it. Kind `machine`: all of it."""

    kind: str
    label: str
    cpus: Sequence[int]
    inside: list[Part] = field(default_factory=list)


def machine_of(found: Mapping[str, Any]) -> Part:
    """The answer of `unisono-tool hardware` as a tree. A part is inside the smallest one that holds all of its cores."""
    name = "machine" if found["is_this_machine"] else "described machine"
    memory = f", {units.bytes_text(found['memory_bytes'])}" if found["memory_bytes"] else ""
    machine = Part("machine", f"{name}: PUs {ranges(found['cpus'])}{memory}", found["cpus"])
    outside = [(set(machine.cpus), machine)]
    order = sorted(found["parts"], key=lambda part: (-len(part["cpus"]), _KINDS.index(part["kind"])))
    for part in order:
        cpus = set(part["cpus"])
        made = Part(part["kind"], _label(part), part["cpus"])
        around = [one for of_one, one in outside if cpus <= of_one]
        (around[-1] if around else machine).inside.append(made)
        outside.append((cpus, made))
    return machine


def _label(part: Mapping[str, Any]) -> str:
    more = [part["model"]] if part.get("model") else []
    if part.get("bytes"):
        more.append(units.bytes_text(part["bytes"]))
    return f"{_NAMES[part['kind']]} {part['number']}" + (f": {', '.join(more)}" if more else "")


def ranges(numbers: Iterable[int]) -> str:
    """`0-3,8`."""
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def domains_text(nodes: list[dict[str, Any]]) -> str:
    """`2 sockets (8 each), 4 caches (4 each)`, of the first node where not all are alike; empty: nothing is known."""
    with_domains = [node["domains"] for node in nodes if "domains" in node]
    if not with_domains:
        return ""
    levels = with_domains[0]
    all_alike = len(with_domains) == len(nodes) and all(other == levels for other in with_domains)
    texts = [
        f"{len(level['ranks'])} {_SEVERAL[level['kind']]} ({_each_text(level['ranks'])})" for level in levels
    ]
    where = (
        "" if all_alike else f" on {next(node['name'] for node in nodes if 'domains' in node)}, others differ"
    )
    return ", ".join(texts) + where


def _each_text(counts: list[int]) -> str:
    return f"{counts[0]} each" if len(set(counts)) == 1 else ", ".join(map(str, counts))


def tree(machine: Part) -> Tree:
    """Cores side by side are one line."""
    top = Tree(escape(machine.label))
    _hang(machine, top)
    return top


def _hang(part: Part, branch: Tree) -> None:
    cores = [one for one in part.inside if one.kind == "core" and not one.inside]
    if cores:
        branch.add(escape(_cores_text(cores)))
    for one in part.inside:
        if one not in cores:
            _hang(one, branch.add(escape(one.label)))


def _cores_text(cores: Sequence[Part]) -> str:
    numbers = ranges(int(core.label.rsplit(" ", 1)[-1]) for core in cores)
    cpus = ranges(cpu for core in cores for cpu in core.cpus)
    return (
        f"core{'s' if len(cores) > 1 else ''} {numbers}: PU{'s' if ',' in cpus or '-' in cpus else ''} {cpus}"
    )


@dataclass(frozen=True)
class _Box:
    """A part with the place that it takes."""

    part: Part
    width: int
    height: int
    inside: tuple[tuple[int, int, _Box], ...]  # x, y from its own corner


def svg(machine: Part) -> str:
    """Boxes in boxes, as lstopo draws them."""
    box = _box(machine)
    size = f'width="{box.width}" height="{box.height}" viewBox="0 0 {box.width} {box.height}"'
    style = 'font-family="sans-serif" font-size="11"'
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>', *_drawn(box, 0, 0), "</svg>"]
    return "\n".join(lines) + "\n"


def _box(part: Part) -> _Box:
    if part.kind == "core":
        return _Box(part, _CORE, 2 * _LINE, ())
    boxes = [_box(one) for one in part.inside]
    in_a_row = _CORES_IN_A_ROW if all(box.part.kind == "core" for box in boxes) else _per_row(boxes)
    placed: list[tuple[int, int, _Box]] = []
    y, width = _LINE + _GAP, 0
    for first in range(0, len(boxes), in_a_row):
        row = boxes[first : first + in_a_row]
        x = _GAP
        for box in row:
            placed.append((x, y, box))
            x += box.width + _GAP
        width = max(width, x)
        y += max(box.height for box in row) + _GAP
    return _Box(part, max(width, 7 * len(_title(part)) + 2 * _GAP), y, tuple(placed))


def _per_row(boxes: Sequence[_Box]) -> int:
    """About as wide as high."""
    area = sum(box.width * box.height for box in boxes)
    widest = max((box.width for box in boxes), default=1)
    return max(1, round(math.sqrt(area) * 1.4 / widest))


def _title(part: Part) -> str:
    return part.label.replace("NUMA domain", "NUMA")


def _drawn(box: _Box, x: int, y: int) -> Iterator[str]:
    part = box.part
    yield (
        f'<rect x="{x}" y="{y}" width="{box.width}" height="{box.height}" fill="{_FILLS[part.kind]}" '
        'stroke="#667"/>'
    )
    yield f'<text x="{x + 4}" y="{y + _LINE - 5}">{escape_xml(_title(part))}</text>'
    if part.kind == "core":
        yield f'<text x="{x + 4}" y="{y + 2 * _LINE - 5}" fill="#556">P {ranges(part.cpus)}</text>'
    for dx, dy, inner in box.inside:
        yield from _drawn(inner, x + dx, y + dy)
