# SPDX-License-Identifier: BSD-3-Clause
"""From latencies between machines to the switches that they hang on."""

from __future__ import annotations

from dataclasses import dataclass, field

from unisono.common.errors import UnisonoError
from unisono.common.extras import numpy as np

STANDARD_GAP = 0.25


@dataclass
class Switch:
    """A switch: the numbers of the machines that hang on it, and the switches below it."""

    machines: list[int] = field(default_factory=list)
    below: list[Switch] = field(default_factory=list)

    def lowest(self) -> int:
        return min([*self.machines, *(switch.lowest() for switch in self.below)])


@dataclass
class _Group:
    """Machines that are nearer to each other than to others; `latency` is the mean between those that it joined."""

    size: int
    latency: float
    parts: list[_Group | int]


def switches_of(latencies: np.ndarray, gap: float = STANDARD_GAP) -> Switch:
    """The tree of switches that a symmetric matrix of latencies tells of, any unit, the diagonal aside.

    The nearest groups are joined first, by the mean latency between their machines. Where a join's latency is
    about what its parts have inside, what it brings together hangs on one switch. Where it is larger by more
    than `gap` (a part of the smaller one), there is one switch more on the way.
    """
    count = len(latencies)
    if latencies.shape != (count, count) or count == 0:
        raise UnisonoError(f"latencies of shape {latencies.shape} are no square matrix")
    if count == 1:
        return Switch(machines=[0])
    between = (latencies + latencies.T) / 2.0
    np.fill_diagonal(between, np.inf)
    if not (between > 0).all() or np.isnan(between).any():
        raise UnisonoError("a latency is not above 0")
    groups: dict[int, _Group] = {i: _Group(1, 0.0, [i]) for i in range(count)}
    while len(groups) > 1:
        first, second = sorted(int(i) for i in np.unravel_index(np.argmin(between), between.shape))
        joined, other = groups[first], groups.pop(second)
        groups[first] = _join(joined, other, float(between[first, second]), gap)
        weights = joined.size + other.size
        mean = (between[first] * joined.size + between[second] * other.size) / weights
        between[first, :] = between[:, first] = mean
        between[second, :] = between[:, second] = np.inf
        between[first, first] = np.inf
    (whole,) = groups.values()
    return _as_switch(whole)


def _join(first: _Group, second: _Group, latency: float, gap: float) -> _Group:
    parts: list[_Group | int] = []
    inner = 0.0
    for group in (first, second):
        is_one_machine = group.size == 1
        if is_one_machine or latency <= group.latency * (1.0 + gap):
            parts += group.parts
            inner = max(inner, group.latency)
        else:
            parts.append(group)
    # A switch's latency is that of its nearest pair of parts: else small steps would add up to any large one.
    return _Group(first.size + second.size, inner or latency, parts)


def _as_switch(group: _Group) -> Switch:
    machines = sorted(part for part in group.parts if isinstance(part, int))
    below = [_as_switch(part) for part in group.parts if isinstance(part, _Group)]
    return Switch(machines, sorted(below, key=Switch.lowest))


def as_lines(top: Switch, machines: list[str]) -> list[str]:
    """The lines of a file for option `topology`: the switches from the top, s0, s1, ..."""
    lines: list[str] = []
    waiting = [top]
    for number, switch in enumerate(waiting):
        line = f"SwitchName=s{number}"
        if switch.below:
            names = [f"s{len(waiting) + i}" for i in range(len(switch.below))]
            line += f" Switches={','.join(names)}"
            waiting += switch.below
        if switch.machines:
            line += f" Nodes={','.join(machines[i] for i in switch.machines)}"
        lines.append(line)
    return lines
