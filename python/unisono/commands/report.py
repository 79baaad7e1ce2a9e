# SPDX-License-Identifier: BSD-3-Clause
"""`unisono report`: prints the report that a run left, or makes a page of reports and tunings."""

from __future__ import annotations

from pathlib import Path

import click

from unisono.commands.values import json_option
from unisono.common import printing
from unisono.common.errors import UsageError
from unisono.reporting import report


@click.command()
@json_option("Print the report as JSON.")
@click.option(
    "--html",
    "page",
    metavar="PAGE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write all that the files hold as one HTML page, which needs no network.",
)
@click.option(
    "--machine",
    metavar="NAME|FILE",
    help="On the page: predict times for this machine, to compare with those measured.  [default: typical]",
)
@click.option(
    "--layout",
    "layouts",
    metavar="LAYOUT",
    multiple=True,
    help="On the page: what a table decides for this layout, 4x8, 3,5,8 or 4x2x8; may come several times. Of cells of `unisono bench`: "
    "where they were measured.  [default: the layouts of the table's rules; one node]",
)
@click.argument("names", metavar="FILE...", type=click.Path(path_type=Path), nargs=-1, required=True)
def command(
    names: tuple[Path, ...], as_json: bool, page: Path | None, machine: str | None, layouts: tuple[str, ...]
) -> None:
    """Print the report of a run as tables, or make a page of reports and tunings.

    \b
      unisono report report.json                          # what `unisono run --report FILE` wrote
      unisono report report.json --html report.html       # as a page: charts, time lines, models
      unisono report report.json unisono-table.json cells.json --html all.html

    A page takes reports of runs, tables (`unisono tune`) and measured cells (`unisono bench --json`), as many as there are.
    """
    if page is None:
        if machine is not None or layouts:
            raise UsageError("--machine and --layout are for a page: add --html PAGE")
        if len(names) > 1:
            raise UsageError("several files make a page: add --html PAGE")
        loaded = report.load(names[0])
        if as_json:
            printing.print_json(loaded)
        else:
            report.render(loaded, printing.console())
        return
    if as_json:
        raise UsageError("--json prints a report, --html writes a page: leave one of them out")
    from unisono.machine import catalogue
    from unisono.page import build, sources  # here, since printing a report does without

    build.require_name(page)
    cells_layout = layouts[0] if layouts else None
    build.write(
        page, [sources.load(file, cells_layout) for file in names], machine or catalogue.STANDARD, layouts
    )
    printing.echo(f"page: {page}")
