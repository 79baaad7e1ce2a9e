# SPDX-License-Identifier: BSD-3-Clause
"""`unisono run`: an MPI program under Unisono."""

from __future__ import annotations

import os
import secrets
import shlex
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from unisono.commands import given
from unisono.common import places, schemas, tool
from unisono.common.errors import UnisonoError, UsageError
from unisono.launch import job, process
from unisono.launch.job import CONFIG, REPORT

_GENERAL_GROUP = "Options"
_JOINTS = {"list": ",", "files": ":"}  # of what may be given several times


class SettingOption(click.Option):
    """An option of the library: what is given becomes the value of an environment variable."""

    def __init__(self, description: Mapping[str, str]) -> None:
        self.environment = description["environment"]
        self.group = description["group"]
        self.kind = description["type"]
        self.key = description["name"]
        name, default = description["cli"], description["default"]
        is_switch = self.kind == "bool"
        choices = self.kind.split("|") if "|" in self.kind else None
        super().__init__(
            [self.environment.lower(), f"{name}/--no-{name[2:]}" if is_switch else name],
            help=description["help"]
            + (f"  [default: {_default_text(self.kind, default)}]" if default else ""),
            default=None,
            multiple=self.kind in _JOINTS,
            type=click.Choice(choices) if choices else None,
            metavar=None if is_switch or choices else self.kind.upper(),
        )

    def setting(self, value: Any) -> str | None:
        """The environment variable's value, None where the option was not given."""
        if value is None or value == ():
            return None
        if isinstance(value, bool):
            return "1" if value else "0"
        if self.kind == "files":
            return ":".join(_seen_from_ranks(file) for part in value for file in part.split(":"))
        if isinstance(value, tuple):
            return _JOINTS[self.kind].join(value)
        return _seen_from_ranks(value) if self.kind == "file" else str(value)


def _default_text(kind: str, default: str) -> str:
    return {"1": "on", "0": "off"}[default] if kind == "bool" else default


def _seen_from_ranks(file: str) -> str:
    """Ranks may run in another directory than this command. Some words stand for themselves."""
    return (
        file
        if file in ("", "-", "auto", "none", "off") or file.startswith("tree:")
        else str(Path(file).absolute())
    )


class RunCommand(click.Command):
    """`run` with the options that the library's own list names."""

    def settings(self) -> list[SettingOption]:
        return [SettingOption(description) for description in tool.options()]

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        params = super().get_params(ctx)
        if places.find_home() is None:
            return params
        return [*self.settings(), *params]

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                title = (
                    f"{param.group.capitalize()} options"
                    if isinstance(param, SettingOption)
                    else _GENERAL_GROUP
                )
                groups.setdefault(title, []).append(record)
        general = groups.pop(_GENERAL_GROUP)
        for title, records in {_GENERAL_GROUP: general, **groups}.items():
            with formatter.section(title):
                formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if places.find_home() is None:
            formatter.write_paragraph()
            formatter.write_text(
                "The library's own options are missing here: its compiled parts were not found."
            )
        super().format_epilog(ctx, formatter)


def settings_for_ranks(ctx: click.Context, environment: Mapping[str, str]) -> dict[str, str]:
    """The UNISONO_* variables that the ranks shall see: those of our environment; over them, the options."""
    settings = job.settings_from_environment(environment)
    for param in ctx.command.get_params(ctx):
        if isinstance(param, SettingOption) and param.name is not None:
            value = param.setting(ctx.params.get(param.name))
            if value is not None:
                settings[param.environment] = value
    if ctx.params["config"]:
        settings[CONFIG] = str(Path(ctx.params["config"]).absolute())
    return settings


def _require_sensible(ctx: click.Context) -> None:
    """Judges the options of the library that stand on the command line. (What stands in the environment may be meant for
    others.)"""
    settings: dict[str, tuple[str, str]] = {}
    for param in ctx.command.get_params(ctx):
        typed = ctx.params.get(param.name or "")
        if not isinstance(param, SettingOption) or typed is None or isinstance(typed, bool) or typed == ():
            continue
        one = _JOINTS[param.kind].join(typed) if isinstance(typed, tuple) else str(typed)
        value = _machine_file(one) if param.key == "machine" else param.setting(typed) or ""
        settings[param.key] = (value, f"{param.opts[0]} {one}")
    given.require_sensible(settings)


def _machine_file(name: str) -> str:
    # Here, since it takes long to import, and few runs name a machine.
    from unisono.machine import catalogue

    return catalogue.resolve(name)


@click.command(
    cls=RunCommand,
    context_settings={"allow_interspersed_args": False},
    options_metavar="[OPTIONS] [--]",
)
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False),
    help="Configuration file, lines `name = value`  [default: ~/.config/unisono/unisono.conf, if it is there]",
)
@click.option("--dry-run", is_flag=True, help="Print the command that would run, and do not run it.")
@click.option("-v", "--verbose", is_flag=True, help="Say on standard error how the command was understood.")
@click.argument("words", metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def command(ctx: click.Context, /, dry_run: bool, verbose: bool, words: tuple[str, ...], **_: Any) -> None:
    """Run an MPI program under Unisono.

    COMMAND is what starts the program without Unisono: mpirun, mpiexec, srun or the program alone, with all
    arguments. A small shim, unisono-exec, is put before each program in it; the shim loads Unisono into the
    program and into nothing else. The exit status is the command's, signals reach it, and nothing is printed
    that was not asked for.

    \b
      unisono run mpirun -n 8 ./program input.txt
      unisono run --report - -- mpirun -n 2 ./ocean : -n 6 ./atmosphere
      unisono run --algorithm allreduce:ring srun -N 4 python script.py

    Where the launcher is one that Unisono does not know, write `unisono-exec` before each program yourself.

    `--report -` prints the report on standard error when the job has ended; `--report page.html` makes a page of it.
    """
    _require_sensible(ctx)
    settings = settings_for_ranks(ctx, os.environ)
    wanted = settings.get(REPORT, "")
    if wanted == "-" and not dry_run:
        with tempfile.TemporaryDirectory(prefix="unisono-") as directory:
            report = Path(directory) / f"unisono-report-{secrets.token_hex(8)}.json"
            status = process.supervise(job.prepare(words, {**settings, REPORT: str(report)}, verbose))
            _show_report(report)
        ctx.exit(status)
    if wanted and not Path(wanted).parent.is_dir():
        raise UsageError(f"--report {wanted}: there is no folder {Path(wanted).parent}")
    if wanted.endswith(".html") and not dry_run:
        from unisono.common import files  # here, since most runs do without

        files.require_writable(Path(wanted))
        # Beside the page: all hosts see that folder if they see any of the user's. In one of its own, which a host
        # does not have that has another folder by that name.
        with tempfile.TemporaryDirectory(prefix=".unisono-", dir=Path(wanted).absolute().parent) as directory:
            report = Path(directory) / f"unisono-report-{secrets.token_hex(8)}.json"
            status = process.supervise(job.prepare(words, {**settings, REPORT: str(report)}, verbose))
            _write_page(report, Path(wanted))
        ctx.exit(status)
    if wanted and wanted != "-" and not wanted.endswith(".html"):
        from unisono.common import files  # here, since most runs do without

        files.require_own(Path(wanted), schemas.REPORT)
    command_line = job.prepare(words, settings, verbose)
    if dry_run:
        from unisono.common import printing  # here, since most runs do without

        printing.echo(shlex.join(command_line))
    else:
        process.replace(command_line)


def _written(file: Path) -> Path | None:
    """Where the job has left its report; says what may be the reason where there is none.

    Rank 0's host may lack the folder that it was to go to: then it is in the working or the home directory, if this
    host sees those.
    """
    for place in (file, Path.cwd() / file.name, Path.home() / file.name):
        if place.is_file():
            return place
    from unisono.common import printing

    printing.echo(
        "unisono: no report was written here. Either no program came to its MPI_Finalize, or rank 0 ran on another host: "
        "if that could write one it has said above where it is. Use --report with a file that all hosts see.",
        err=True,
    )
    return None


def _show_report(file: Path) -> None:
    from unisono.common import printing
    from unisono.reporting import report

    written = _written(file)
    if written is None:
        return
    try:
        content = report.load(written)
        written.unlink()
        if isinstance(content.get("options"), dict):
            content["options"]["report"] = "-"  # as it was asked for
        report.render(content, printing.console(sys.stderr))
    except UnisonoError as error:
        error.show()


def _write_page(file: Path, page: Path) -> None:
    from unisono.page import build, sources
    from unisono.reporting import report

    written = _written(file)
    if written is None:
        return
    try:
        content = report.load(written)
        if isinstance(content.get("options"), dict):
            content["options"]["report"] = str(page)
        build.write(page, [sources.Run(page.stem, content)])
        written.unlink()
    except UnisonoError as error:
        error.show()
