# SPDX-License-Identifier: BSD-3-Clause
"""Tables of decisions (docs/guide/tables.md): read by the compiled code, which alone judges what is legal; merged, compared and
printed here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from rich.console import Console
from rich.markup import escape

from unisono import __version__
from unisono.common import printing, schemas, tool, units
from unisono.common.errors import FileError

VERSION = 1
_RANGES = ("bytes", "nodes", "ranks_per_node")
_WORDS = ("oversubscribed", "placement", "operator", "form", "region", "mpi")
_CONDITIONS = ("operation", *_RANGES, *_WORDS)
_CLASS_ENDS = [0, *(1 << i for i in range(49))]

Rule = dict[str, Any]


@dataclass
class DecisionTable:
    """A table as the compiled code has read it."""

    file: str
    problem: str  # why the file as a whole is none
    provenance: dict[str, str] = field(default_factory=dict)
    rules: list[tuple[int, Rule]] = field(default_factory=list)  # number in the file, from 1
    disabled: list[tuple[int, str]] = field(default_factory=list)  # number, why

    @property
    def is_clean(self) -> bool:
        return not self.problem and not self.disabled


def load(files: tuple[str, ...]) -> list[DecisionTable]:
    words = [word for file in files for word in ("--file", file)]
    return [
        DecisionTable(
            file=answer["file"],
            problem=answer["problem"],
            provenance=answer["provenance"],
            rules=[(entry["number"], entry["rule"]) for entry in answer["rules"]],
            disabled=[(entry["number"], entry["problem"]) for entry in answer["disabled"]],
        )
        for answer in tool.ask("table", *words)
    ]


def require(files: tuple[str, ...]) -> list[DecisionTable]:
    """The tables; ends the command where a file is none."""
    loaded = load(files)
    for table in loaded:
        if table.problem:
            raise FileError(table.problem)
    return loaded


def disabled_lines(table: DecisionTable) -> list[str]:
    return [f"{table.file}: rule {number} is disabled: {why}" for number, why in table.disabled]


def conditions(rule: Rule) -> Rule:
    """What the rule is for, without what it says and what was measured."""
    return {name: rule[name] for name in _CONDITIONS if name in rule}


def merged(loaded: list[DecisionTable], command: str) -> dict[str, Any]:
    """One table of all: of rules for the same calls the first one stays."""
    rules: dict[str, Rule] = {}
    for table in loaded:
        for _, rule in table.rules:
            rules.setdefault(json.dumps(conditions(rule), sort_keys=True), rule)
    origins = {}
    for name in ("machine", "mpi"):
        values = dict.fromkeys(table.provenance[name] for table in loaded if table.provenance.get(name))
        if values:
            origins[name] = "; ".join(values)
    return document(list(rules.values()), command, **origins)


def document(rules: list[Rule], command: str, **origins: str) -> dict[str, Any]:
    """A table made now by `command`; `origins`: machine and mpi, as far as they are known."""
    made = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    provenance = {"unisono": __version__, **origins, "date": made, "command": command}
    return {"schema": schemas.TABLE, "version": VERSION, "provenance": provenance, "rules": rules}


def as_text(table: dict[str, Any]) -> str:
    """The table as a file holds it: a rule on each line."""
    head = [f"{json.dumps(name)}: {json.dumps(table[name])}" for name in table if name != "rules"]
    rules = ",\n".join(f"  {json.dumps(rule, ensure_ascii=False)}" for rule in table["rules"])
    return "{\n " + ",\n ".join(head) + ',\n "rules": [\n' + rules + "\n ]\n}\n"


@dataclass
class Difference:
    """Calls for which two tables say different things; None: that table says nothing of them."""

    calls: Rule
    first: Rule | None
    second: Rule | None


def differences(first: DecisionTable, second: DecisionTable) -> Iterator[Difference]:
    """Where the rules of two tables meet and disagree, and rules that meet none of the other table."""
    ours, theirs = (_in_order(rule for _, rule in table.rules) for table in (first, second))
    for i, our in enumerate(ours):
        has_met = False
        for j, their in enumerate(theirs):
            both = meeting(our, their)
            if both is None:
                continue
            has_met = True
            is_hidden = any(_covers(rule, both) for rule in ours[:i] + theirs[:j])
            if our["algorithm"] != their["algorithm"] and not is_hidden:
                yield Difference(both, our, their)
        if not has_met:
            yield Difference(conditions(our), our, None)
    for their in theirs:
        if all(meeting(our, their) is None for our in ours):
            yield Difference(conditions(their), None, their)


def _in_order(rules: Iterable[Rule]) -> list[Rule]:
    """As they are asked: those that name a region first, then those that name an MPI."""
    return sorted(rules, key=lambda rule: ("region" not in rule, "mpi" not in rule))


def meeting(first: Rule, second: Rule) -> Rule | None:
    """The conditions under which both rules hold; None: they never do."""
    if first["operation"] != second["operation"]:
        return None
    both: Rule = {"operation": first["operation"]}
    for name in _RANGES:
        lows, highs = zip(*(_limits(rule, name) for rule in (first, second)), strict=True)
        low, high = max(lows), min(highs)
        if low > high or (name == "bytes" and not any(low <= end <= high for end in _CLASS_ENDS)):
            return None
        if name in first or name in second:
            both[name] = [low, None if high == float("inf") else high]
    for name in _WORDS:
        given = [rule[name] for rule in (first, second) if name in rule]
        narrowest = next(
            (word for word in given if all(_holds_word(name, other, word) for other in given)), None
        )
        if given and narrowest is None:
            return None
        if given:
            both[name] = narrowest
    return both


def _holds_word(name: str, word: Any, asked: Any) -> bool:
    """Whether what holds for `word` holds for `asked`: MPIs go by how their names begin (`Open MPI 5` has `Open MPI 5.0.11`)."""
    if name == "mpi" and asked is not None:
        return f"{asked} ".replace(".", " ").startswith(f"{word} ".replace(".", " "))
    return bool(word == asked)


def _covers(rule: Rule, calls: Rule) -> bool:
    """Whether the rule holds for all of the calls."""
    if rule["operation"] != calls["operation"]:
        return False
    for name in _RANGES:
        (low, high), (first, last) = _limits(rule, name), _limits(calls, name)
        if first < low or last > high:
            return False
    return all(name not in rule or _holds_word(name, rule[name], calls.get(name)) for name in _WORDS)


def _limits(rule: Rule, name: str) -> tuple[float, float]:
    low, high = rule.get(name, (0, None))
    return low, float("inf") if high is None else high


def holds_size(rule: Rule, size: int) -> bool:
    """Whether the rule is for the class of this size, which counts by its upper end."""
    low, high = _limits(rule, "bytes")
    end = next((end for end in _CLASS_ENDS if size <= end), _CLASS_ENDS[-1])
    return low <= end <= high


def sizes_text(calls: Rule) -> str:
    """The size classes, by their upper ends: `2 KiB to 64 KiB`."""
    low, high = _limits(calls, "bytes")
    ends = [units.bytes_text(end) for end in _CLASS_ENDS if low <= end <= high]
    if "bytes" not in calls:
        return "all"
    if high == float("inf"):
        return f"from {ends[0]}"
    return ends[0] if len(ends) == 1 else f"{ends[0]} to {ends[-1]}"


def where_text(calls: Rule) -> str:
    """Layout and what else a rule asks for: `4 nodes x 2-8 ranks, ordered`."""
    parts = []
    if "nodes" in calls or "ranks_per_node" in calls:
        parts.append(f"{_range_text(calls, 'nodes')}x{_range_text(calls, 'ranks_per_node')}")
    if "oversubscribed" in calls:
        parts.append("cores shared" if calls["oversubscribed"] else "a core for each rank")
    parts += [calls[name] for name in ("placement", "operator", "form") if name in calls]
    if "region" in calls:
        parts.append(f"region {calls['region']}")
    if "mpi" in calls:
        parts.append(calls["mpi"])
    return ", ".join(parts) or "everywhere"


def _range_text(calls: Rule, name: str) -> str:
    low, high = _limits(calls, name)
    if low <= 1 and high == float("inf"):
        return "*"
    if low == high:
        return f"{low:.0f}"
    return f"{low:.0f}+" if high == float("inf") else f"{max(low, 1):.0f}-{high:.0f}"


def time_text(timed: Rule | None) -> str:
    """`12.3 us`, with the half width of its interval."""
    if not timed or "time_us" not in timed:
        return ""
    text = units.seconds_text(timed["time_us"] * 1e-6)
    if "interval_us" in timed:
        low, high = timed["interval_us"]
        text += f" ±{(high - low) / 2 / timed['time_us']:.0%}"
    return text


def native_of(rule: Rule) -> Rule | None:
    """What was measured of the MPI's own."""
    others: list[Rule] = rule.get("others", [])
    for timed in (rule, *others):
        if timed["algorithm"] == "native" and "time_us" in timed:
            return timed
    return None


def runner_up_of(rule: Rule) -> Rule | None:
    others: list[Rule] = [other for other in rule.get("others", []) if "time_us" in other]
    return min(others, key=lambda other: other["time_us"]) if others else None


def speed_up_text(rule: Rule) -> str:
    """How many times as fast as the MPI's own."""
    native = native_of(rule)
    if native is None or native is rule or "time_us" not in rule:
        return ""
    return f"{native['time_us'] / rule['time_us']:.2f}"


def render(table: DecisionTable, operation: str | None, console: Console) -> None:
    """Prints the rules by operation and size."""
    console.print(f"[bold]{escape(table.file)}[/bold]: {provenance_text(table)}", soft_wrap=True)
    for line in disabled_lines(table):
        console.print(f"[warning]warning:[/warning] {escape(line)}", soft_wrap=True)
    chosen = [rule for _, rule in table.rules if operation in (None, rule["operation"])]
    groups: dict[tuple[str, str], list[Rule]] = {}
    for rule in chosen:
        groups.setdefault((rule["operation"], where_text(rule)), []).append(rule)
    for (name, where), rules in groups.items():
        numbers = ("size", "time", "its time", "native", "speed-up")
        printing.print_rows(
            console,
            escape(f"{name}, {where}"),
            ["size", "algorithm", "time", "runner-up", "its time", "native", "speed-up"],
            [_row(rule) for rule in rules],
            right=numbers,
            give_way=("its time", "runner-up", "native"),
        )
        for note in dict.fromkeys(
            f"{sizes_text(rule)}: {rule['note']}" for rule in rules if rule.get("note")
        ):
            console.print(escape(note), soft_wrap=True)
        console.print()


def _row(rule: Rule) -> list[str]:
    runner_up = runner_up_of(rule)
    return [
        sizes_text(rule),
        rule["algorithm"],
        time_text(rule),
        runner_up["algorithm"] if runner_up else "",
        time_text(runner_up),
        time_text(native_of(rule)),
        speed_up_text(rule),
    ]


def provenance_text(table: DecisionTable) -> str:
    facts = table.provenance
    told = [facts[name] for name in ("machine", "mpi", "date", "command") if facts.get(name)]
    count = len(table.rules)
    return escape("; ".join([f"{count} rule{'s' if count != 1 else ''}", *told]))


def explain(table: DecisionTable, console: Console) -> None:
    """Prints each rule with all that was measured for it."""
    console.print(f"[bold]{escape(table.file)}[/bold]: {provenance_text(table)}\n", soft_wrap=True)
    for number, rule in table.rules:
        at = f" at {units.bytes_text(rule['measured_bytes'])}" if "measured_bytes" in rule else ""
        title = f"rule {number}: {rule['operation']}, {sizes_text(rule)}, {where_text(rule)}: {rule['origin']}{at}"
        made = printing.table(
            escape(title),
            "algorithm",
            "time",
            "samples",
            "native / it",
            right=("time", "samples", "native / it"),
            give_way=("samples",),
        )
        native = native_of(rule)
        for timed in (rule, *rule.get("others", [])):
            ratio = native["time_us"] / timed["time_us"] if native and "time_us" in timed else 0.0
            made.add_row(
                escape(timed["algorithm"]),
                time_text(timed),
                units.count_text(timed["samples"]) if "samples" in timed else "",
                f"{ratio:.2f}" if ratio else "",
            )
        console.print(made, "")
        if "note" in rule:
            console.print(f"{escape(rule['note'])}\n", soft_wrap=True)
    for line in disabled_lines(table):
        console.print(f"[warning]warning:[/warning] {escape(line)}", soft_wrap=True)
