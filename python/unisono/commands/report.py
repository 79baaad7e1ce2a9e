# SPDX-License-Identifier: BSD-3-Clause
"""`unisono report`: prints the report that a run left."""

from __future__ import annotations

from pathlib import Path

import click

from unisono import report, tables


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.argument("file", type=click.Path(path_type=Path))
def command(file: Path, as_json: bool) -> None:
    """Print the report of a run as tables.

    FILE is what `unisono run --report FILE` wrote.
    """
    loaded = report.load(file)
    if as_json:
        tables.print_json(loaded)
    else:
        report.render(loaded, tables.console())
