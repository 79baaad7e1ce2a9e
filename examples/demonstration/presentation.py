# SPDX-License-Identifier: BSD-3-Clause
"""The demo's findings as text on the terminal and as reports/demo.md."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape
from unisono.common import printing, units
from unisono.reporting import report

from demonstration.comparison import Comparison, TimeComparison, Times
from demonstration.mpi import Installation, usable_cores
from demonstration.programs import Program, are_passed


@dataclass(frozen=True)
class Finding:
    """All that is known of one program; without Unisono no comparison and no report."""

    program: Program
    steps: int
    native: list[dict[str, Any]]  # what the program said of itself, run by run
    comparison: Comparison | None
    times: list[TimeComparison]
    report: dict[str, Any] | None
    report_file: Path | None

    @property
    def is_good(self) -> bool:
        """Nothing failed, and what was compared is the same."""
        if self.comparison is None:
            return all(map(are_passed, self.native))
        return self.comparison.is_same


@dataclass(frozen=True)
class Setting:
    """What all programs of one demo have in common."""

    installation: Installation
    ranks: int
    repeats: int

    def sentences(self) -> list[str]:
        launcher = self.installation.launcher
        cores = usable_cores()
        lines = [
            f"{launcher.title}, {self.installation.origin} ({launcher.path})",
            f"{self.ranks} ranks on {cores} core{'s' if cores != 1 else ''}; {self.repeats}"
            f" run{'s' if self.repeats != 1 else ''} of each kind, in turn",
        ]
        if self.ranks > cores:
            lines.append(
                "more ranks than cores: the times say how ranks share cores, not how fast a machine is"
            )
        return lines


def verdict(finding: Finding) -> str:
    """One sentence with the numbers that the verdict rests on."""
    comparison = finding.comparison
    if comparison is None:
        return "not compared" + ("" if finding.is_good else "; NO: the program's own checks failed")
    if comparison.failed_checks:
        return f"NO: the program's own checks failed: {', '.join(comparison.failed_checks)}"
    different = [row.name for row in [*comparison.quantities, *comparison.digests] if not row.is_same]
    if different:
        return f"NO: {', '.join(different)}"
    worst = max(comparison.quantities, key=lambda row: row.difference)
    allowed = min(row.tolerance for row in comparison.quantities if row.tolerance > 0)
    parts = [
        f"{len(comparison.quantities)} numbers agree, the largest difference is {_difference(worst.difference)}"
        f" (allowed {allowed:.0e})"
    ]
    parts += [f"all {row.name} are the same bit for bit ({row.native})" for row in comparison.digests]
    parts.append(f"all {len(finding.native[0]['checks'])} checks of its own passed in every run")
    return f"yes: {'; '.join(parts)}"


def times_text(times: Times | None) -> str:
    """`1.6 s (1.4 s - 1.8 s)`."""
    if times is None:
        return ""
    if times.low == times.high:
        return units.seconds_text(times.median)
    return f"{units.seconds_text(times.median)} ({units.seconds_text(times.low)} - {units.seconds_text(times.high)})"


def ratio_text(row: TimeComparison) -> str:
    if math.isnan(row.ratio_low):
        return f"{row.ratio:.2f}"
    return f"{row.ratio:.2f} [{row.ratio_low:.2f}, {row.ratio_high:.2f}]"


def _quantity_rows(comparison: Comparison) -> Iterable[list[str]]:
    for row in comparison.quantities:
        values = ["no number" if value is None else f"{value:.15g}" for value in (row.native, row.unisono)]
        yield [
            row.name,
            *values,
            _difference(row.difference),
            f"{row.tolerance:.0e}" if row.tolerance else "0",
        ]
    for digest in comparison.digests:
        yield [
            f"digest of the {digest.name}",
            digest.native,
            digest.unisono,
            "none" if digest.is_same else "DIFFERENT",
            "none",
        ]


def _time_table(times: Sequence[TimeComparison]) -> tuple[tuple[str, ...], list[list[str]]]:
    """Column names and rows; natively alone where nothing ran under Unisono."""
    rows = [[row.name, times_text(row.native)] for row in times]
    if times[0].unisono is None:
        return _native_time_columns, rows
    compared = [[times_text(row.unisono), ratio_text(row)] for row in times]
    return _time_columns, [left + right for left, right in zip(rows, compared, strict=True)]


def _algorithm_rows(run: dict[str, Any]) -> Iterable[list[str]]:
    """What was used for what and why, the longest first; then what was left to the MPI."""
    for row in sorted(run["classes"], key=lambda row: -row["time_s"]):
        yield [
            row["operation"],
            row["size_class"],
            units.count_text(row["calls"]),
            ("~" if row["sampled"] else "") + units.seconds_text(row["time_s"]),
            report.algorithm_text(row),
            row["reason"] + ("" if row["source"] != "forced" else " (forced)"),
        ]
    for row in run["native"]:
        yield [row["operation"], "", units.count_text(row["calls"]), "", "native", row["reason"]]


_quantity_columns = ("result", "native", "Unisono", "largest difference", "allowed")
_native_time_columns = ("time", "native: median (range)")
_time_columns = (
    "time",
    "native: median (range)",
    "Unisono: median (range)",
    "native / Unisono [95 % interval]",
)
_algorithm_columns = ("operation", "size", "calls", "time", "algorithm", "why")


def _print_table(
    console: Console, columns: Sequence[str], rows: Iterable[list[str]], right: tuple[str, ...]
) -> None:
    made = printing.table(None, *columns, right=right)
    for row in rows:
        made.add_row(*map(escape, row))
    console.print(made)
    console.print()


def print_finding(finding: Finding, console: Console) -> None:
    colour = "bad" if not finding.is_good else "warning" if finding.comparison is None else "good"
    console.print(f"[bold]{escape(finding.program.title)}[/bold], {units.count_text(finding.steps)} steps")
    console.print(f"same results: [{colour}]{escape(verdict(finding))}[/{colour}]\n")
    if finding.comparison is not None and not finding.comparison.is_same:
        _print_table(console, _quantity_columns, _quantity_rows(finding.comparison), _quantity_columns[1:])
    columns, rows = _time_table(finding.times)
    _print_table(console, columns, rows, columns[1:])
    if finding.report is not None:
        _print_table(console, _algorithm_columns, _algorithm_rows(finding.report), ("size", "calls", "time"))
        for warning in finding.report["warnings"]:
            console.print(f"[warning]warning:[/warning] {escape(warning)}\n")


def _markdown_table(columns: Sequence[str], rows: Iterable[list[str]]) -> list[str]:
    lines = [columns, ["---"] * len(columns), *rows]
    return ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines] + [""]


def markdown(
    setting: Setting, findings: Sequence[Finding], failures: Sequence[tuple[Program, str]], when: str
) -> str:
    """The whole summary as one page; `failures` are programs that did not come to their end, and how."""
    lines = ["# Real programs natively and under Unisono", ""]
    lines += [f"- {sentence}" for sentence in [*setting.sentences(), when]]
    lines += [
        "- times are the programs' own, of the rank where they are longest; a time in a collective includes the wait for"
        " ranks that arrive later",
        "- the last column of times is the ratio of the medians, above 1 where Unisono is faster, with its bootstrap interval",
        "",
    ]
    for finding in findings:
        lines += [f"## {finding.program.title}, {units.count_text(finding.steps)} steps", ""]
        lines += [f"Same results: {verdict(finding)}.", ""]
        if finding.comparison is not None:
            lines += _markdown_table(_quantity_columns, _quantity_rows(finding.comparison))
        lines += _markdown_table(
            ("check of its own (native)", "value", "limit"),
            (
                [check["name"], _number(check["value"]), _number(check["limit"])]
                for check in finding.native[0]["checks"]
            ),
        )
        lines += _markdown_table(*_time_table(finding.times))
        if finding.report is not None and finding.report_file is not None:
            lines += _markdown_table(_algorithm_columns, _algorithm_rows(finding.report))
            lines += [f"Warning: {warning}" for warning in finding.report["warnings"]]
            lines += [f"The last run's report: `{finding.report_file.name}`.", ""]
    for program, message in failures:
        lines += [f"## {program.title}: failed", "", "```", message, "```", ""]
    return "\n".join(lines)


def _difference(value: float) -> str:
    return f"{value:.1e}" if value else "0"


def _number(value: float | None) -> str:
    return "no number" if value is None else f"{value:.2e}"
