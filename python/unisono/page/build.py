# SPDX-License-Identifier: BSD-3-Clause
"""The page as a whole: its sections from what is given, and all of it in one file.

Tables and charts are HTML that Python has written, so that they are there without scripts too; the script filters, sorts, explains
and switches axes. A policy in the page itself lets it load nothing and run no other script, whatever names a program has chosen."""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from unisono import __version__
from unisono.common import extras, files, units
from unisono.common.errors import FileError, UnisonoError
from unisono.common.operations import OPERATIONS
from unisono.machine import catalogue
from unisono.page import colours, decisions, fit, profile, shares, speedups, templates, text, timelines
from unisono.page.sources import Cells, Run, Source, Table
from unisono.reporting import estimates, verdict
from unisono.tables import decision_table

_SUFFIXES = (".html", ".htm")
_PROVENANCE = {
    "unisono": "Unisono",
    "mpi": "MPI",
    "machine": "machine",
    "date": "date",
    "command": "command",
}


@dataclass(frozen=True)
class Place:
    """A choice of the filter by communicator."""

    value: str  # `layout/4x8` or `communicator/NAME/ID`
    label: str
    layout: str


@dataclass(frozen=True)
class Overview:
    """What a file is, in a few lines."""

    title: str
    kind: str
    headline: str
    facts: Sequence[tuple[str, str]]
    figures: Sequence[tuple[str, str]]  # a number, and what it is
    verdict: str = ""  # of a run: what it has gained


def require_name(file: Path) -> None:
    """Ends the command where `file` is no name for a page, or no page can be made."""
    extras.require("page")
    if file.suffix not in _SUFFIXES:
        raise UnisonoError(f"{file}: the name of a page ends in .html")
    if not file.absolute().parent.is_dir():
        raise UnisonoError(f"{file}: there is no folder {file.parent}")


def write(
    file: Path, sources: Sequence[Source], machine: str = catalogue.STANDARD, layouts: Sequence[str] = ()
) -> None:
    """Writes the page of the sources. `machine` is what predictions are made for, `layouts` what tables are asked about."""
    require_name(file)
    made = page(sources, machine, layouts)
    # Half a letter, which JSON can hold, cannot be written.
    files.write_whole(file, made.encode("utf-8", "replace").decode("utf-8"))


def page(sources: Sequence[Source], machine: str = catalogue.STANDARD, layouts: Sequence[str] = ()) -> str:
    try:
        return _rendered(_values(sources, machine, layouts))
    except (KeyError, TypeError, ValueError) as error:
        raise FileError(f"what was read is damaged: {type(error).__name__} {error}") from error


def _rendered(values: Mapping[str, Any]) -> str:
    environment = templates.environment()
    environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False}  # and not sorted, as by itself
    environment.filters |= {
        "seconds": text.seconds,
        "times": text.times,
        "percent": text.percent,
        "count": units.count_text,
        "bytes": units.bytes_text,
    }
    script = _asset("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return environment.get_template("page.html").render(
        **values,
        version=__version__,
        script=script,
        script_digest=digest,
        style=_asset("page.css") + colours.css(),
    )


def _asset(name: str) -> str:
    return (importlib.resources.files("unisono") / "page/assets" / name).read_text()


def _values(sources: Sequence[Source], machine: str, layouts: Sequence[str]) -> dict[str, Any]:
    runs = [source for source in sources if isinstance(source, Run)]
    decided = decisions.of_sources(sources, layouts)
    palette = colours.Algorithms(_names(runs, decided))
    drawn = [decisions.draw(*one, palette) for one in decided]
    lines = [found for run in runs if (found := timelines.of_run(run, palette))]
    resolved = catalogue.resolve(machine)
    maps = speedups.of_sources(sources)
    return {
        "title": "; ".join(dict.fromkeys(title_of(source) for source in sources)),
        "overviews": [_overview(source, maps) for source in sources],
        "profiles": [seen for run in runs if (seen := profile.of_run(run))],
        "shares": [shares.of_run(run) for run in runs],
        "speedups": maps,
        "speedup_legend": colours.speedup_legend(),
        "decisions": drawn,
        "decision_legend": palette.legend(name for one in drawn for name in one.algorithms),
        "timelines": lines,
        "timeline_legend": palette.legend(name for one in lines for name in one.algorithms),
        "fit": fit.of_measured(fit.measured(sources), resolved, machine),
        "fit_width": fit.WIDTH,
        "fit_height": fit.HEIGHT,
        "operations": _operations(sources),
        "places": _places(runs, [mark.layout for _, _, mark, _ in decided]),
        "regions": _regions(sources),
        "data": [_data(source) for source in sources],
    }


def _names(runs: Iterable[Run], decided: Iterable[Any]) -> Iterable[str]:
    """Every appearance of an algorithm in maps and time lines."""
    for _, _, _, listed in decided:
        yield from (text.bare(one.algorithm) for one in listed)
    for run in runs:
        for row in run.report["learning"]:
            if row["agreements"]:
                yield from dict.fromkeys(entry["algorithm"] for entry in row["timeline"])


def _operations(sources: Iterable[Source]) -> list[str]:
    found: set[str] = set()
    for source in sources:
        if isinstance(source, Run):
            found |= {row["operation"] for name in ("classes", "native") for row in source.report[name]}
        elif isinstance(source, Cells):
            found |= {cell.operation for cell in source.cells}
        else:
            found |= {rule["operation"] for _, rule in source.table.rules}
    return [name for name in OPERATIONS if name in found]


def _regions(sources: Iterable[Source]) -> list[str]:
    """All that learning or a rule names; empty: outside of all."""
    found: set[str] = set()
    for source in sources:
        if isinstance(source, Run):
            found |= {row["region"] for row in source.report["learning"]}
        elif isinstance(source, Table):
            found |= {rule.get("region", "") for _, rule in source.table.rules}
    return sorted(found)


def _places(runs: Iterable[Run], layouts: Iterable[str | None]) -> list[Place]:
    """Shapes of communicators, also those that tables decide for, then single communicators that learned: what they learned
    is known for each."""
    found: dict[str, Place] = {}
    for run in runs:
        for row in (*run.report["classes"], *run.report["learning"]):
            value = f"layout/{row['layout']}"
            found.setdefault(value, Place(value, row["shape"], row["layout"]))
    for layout in filter(None, layouts):
        value = f"layout/{layout}"
        found.setdefault(value, Place(value, f"layout {layout}", layout))
    for run in runs:
        names = {row["id"]: row["name"] for row in run.report["communicators"]}
        for row in run.report["learning"]:
            number = row["communicator"]
            value = f"communicator/{run.name}/{number}"
            name = names.get(number) or f"communicator {number}"
            found.setdefault(value, Place(value, f"{name} of {run.name}", row["layout"]))
    return list(found.values())


def title_of(source: Source) -> str:
    """`nbody, 2026-11-27 17:03 UTC, node0`: what tells one run's page from another's; of files of other kinds their names."""
    if not isinstance(source, Run) or not source.report.get("program"):
        return source.name
    return ", ".join(filter(None, (source.report["program"], _date(source.report), _host(source.report))))


def _date(report: Mapping[str, Any]) -> str:
    date, _, time = str(report.get("date", "")).partition("T")
    return f"{date} {time[:5]} UTC" if time else date


def _host(report: Mapping[str, Any]) -> str:
    names = [node["name"] for node in report["nodes"]]
    return str(names[0]) + (f" and {len(names) - 1} more" if len(names) > 1 else "")


def _overview(source: Source, maps: Sequence[speedups.SpeedupMap]) -> Overview:
    if isinstance(source, Run):
        return _overview_of_run(source)
    means = [found for found in maps if found.title.startswith(f"{source.name}:")]
    figures = [(text.times(found.mean), f"times as fast as native: {found.note}") for found in means]
    if isinstance(source, Cells):
        return Overview(
            source.name,
            "measured cells",
            f"{text.plural(len(source.cells), 'cell')} that unisono bench has measured",
            [("ranks", units.count_text(source.cells[0].ranks))],
            figures,
        )
    told = source.table.provenance
    facts = [(label, told[name]) for name, label in _PROVENANCE.items() if told.get(name)]
    facts += [("disabled", line) for line in decision_table.disabled_lines(source.table)]
    return Overview(
        source.name, "table of decisions", text.plural(len(source.table.rules), "rule"), facts, figures
    )


def _overview_of_run(run: Run) -> Overview:
    content, found = run.report, shares.of_run(run)
    wall_s, collective_s = content["wall_s"], content["collective_time_s"]["max"]
    calls = sum(row["calls"] for row in (*content["classes"], *content["native"]))
    ours = sum(row["calls"] for row in content["classes"] if row["algorithm"] != "native")
    share = estimates.share_text(collective_s, content["collective_time_s"]["error"], wall_s)
    figures = [(share, "of the run in collectives")] if share else []
    figures += [(units.count_text(calls), "collective calls")]
    figures += [(text.percent(ours / calls), "of them served by Unisono")] if calls else []
    speeds = [row["native_s"] / row["time_s"] for row in speedups.learned(run)]
    if speeds:
        figures.append(
            (
                text.times(text.geometric_mean(speeds)),
                "times as fast as native: what was learned, mean of its kinds",
            )
        )
    gained = verdict.of_report(content).text
    told = {
        "command": content.get("command", ""),
        "date": _date(content),
        "host": _host(content),
        "file": run.name,
    }
    facts = [(name, value) for name, value in told.items() if value and content.get("program")]
    title = content.get("program") or run.name
    return Overview(title, "run", found.headline, [*facts, *found.about], figures, gained)


def _data(source: Source) -> dict[str, Any]:
    """What was read, for whoever has the page alone."""
    if isinstance(source, Run):
        return {"name": source.name, "report": source.report}
    if isinstance(source, Cells):
        return {"name": source.name, "cells": [asdict(cell) for cell in source.cells]}
    return {
        "name": source.name,
        "table": decision_table.merged([source.table], source.table.provenance.get("command", "")),
    }
