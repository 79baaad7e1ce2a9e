# SPDX-License-Identifier: BSD-3-Clause
"""Pages of the commands: `unisono.1`, `unisono-run.1` and so on, and `unisono-exec.1`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import click
from unisono import __version__
from unisono.commands.group import COMMANDS, cli

from man.roff import Page, alias, bold, italic, signature

_STATUS = {
    "0": "All went well.",
    "1": "Something went wrong, or a proof failed; standard error says what.",
    "2": "The command line makes no sense.",
    "130": "Ctrl-C has ended the command.",
}
_STATUS_OF_RUN = {
    "126, 127": "The job's command cannot be started, or is not found.",
    "2": "The options make no sense.",
    "other": "The status of the job's command.",
}
_OPTIONS = ("unisono.conf", 5)


def pages() -> Iterator[Page]:
    """That of `unisono`, and one for each command."""
    top = click.Context(cli, info_name="unisono", **cli.context_settings)
    yield _main_page(top)
    for name, (_, about) in COMMANDS.items():
        command = cli.get_command(top, name)
        assert command is not None
        yield _command_page(name, command, about, top)


def aliases(page: Page) -> Iterator[tuple[str, str]]:
    """`unisono-table-show` leads to the page of `unisono table`."""
    name = page.name.removeprefix("unisono-")
    command = cli.get_command(click.Context(cli), name) if name in COMMANDS else None
    if isinstance(command, click.Group):
        yield from (alias(page, f"{page.name}-{inner}") for inner in command.commands)


def _main_page(context: click.Context) -> Page:
    page = Page("unisono", 1, "faster collective communication for MPI programs", __version__)
    page.title("SYNOPSIS")
    page.line(f"{bold('unisono')} {italic('COMMAND')} [{italic('ARGUMENTS')}]")
    page.title("DESCRIPTION")
    page.help_text(inspect.cleandoc(cli.help or ""))
    page.code(["unisono run mpirun -n 4 ./program"])
    page.title("COMMANDS")
    for name, (_, about) in COMMANDS.items():
        page.tagged(f"{bold(f'unisono-{name}')}(1)", about)
    _options(page, cli, context)
    _status(page, _STATUS)
    page.title("ENVIRONMENT")
    page.tagged(
        bold("UNISONO_HOME"),
        "The folder that holds the compiled parts. Without it they are looked for beside the command.",
    )
    page.tagged(bold("UNISONO_..."), "Each option of a run is a variable too: see `unisono.conf`(5).")
    page.title("FILES")
    page.tagged(italic("~/.config/unisono/unisono.conf"), "Options that hold for all runs.")
    page.tagged(
        italic("~/.cache/unisono"), "What jobs keep for later ones; `unisono cache` shows and forgets it."
    )
    page.see_also(
        [*((f"unisono-{name}", 1) for name in COMMANDS), ("unisono-exec", 1), ("unisono", 3), _OPTIONS]
    )
    return page


def _command_page(name: str, command: click.Command, about: str, top: click.Context) -> Page:
    page = Page(f"unisono-{name}", 1, about, __version__)
    context = click.Context(command, info_name=name, parent=top)
    page.title("SYNOPSIS")
    _synopsis(page, command, context)
    page.title("DESCRIPTION")
    page.help_text(inspect.cleandoc(command.help or ""))
    if isinstance(command, click.Group):
        page.title("COMMANDS")
        for inner_name, inner in command.commands.items():
            inner_context = click.Context(inner, info_name=inner_name, parent=context)
            page.subtitle(inner_context.command_path)
            _synopsis(page, inner, inner_context)
            page.help_text(inspect.cleandoc(inner.help or ""))
            _option_list(page, inner, inner_context)
    _options(page, command, context)
    _status(page, _STATUS_OF_RUN if name == "run" else _STATUS)
    page.see_also([("unisono", 1), *([("unisono-exec", 1)] if name == "run" else []), _OPTIONS])
    return page


def _synopsis(page: Page, command: click.Command, context: click.Context) -> None:
    pieces = command.collect_usage_pieces(context)
    page.line(" ".join([bold(context.command_path), *map(signature, pieces)]))


def _options(page: Page, command: click.Command, context: click.Context) -> None:
    page.title("OPTIONS")
    _option_list(page, command, context)


def _option_list(page: Page, command: click.Command, context: click.Context) -> None:
    """Those of the library, which `run` has, by their groups behind those of the command itself."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for param in command.get_params(context):
        record = param.get_help_record(context) if isinstance(param, click.Option) else None
        if record is not None:
            groups.setdefault(getattr(param, "group", ""), []).append(record)
    for record in groups.pop("", []):
        _option(page, record)
    for group, records in groups.items():
        page.subtitle(group.capitalize())
        for record in records:
            _option(page, record)


def _option(page: Page, record: tuple[str, str]) -> None:
    page.tagged(signature(record[0]), record[1])


def _status(page: Page, meanings: dict[str, str]) -> None:
    page.title("EXIT STATUS")
    for status, meaning in meanings.items():
        page.tagged(bold(status), meaning)


def exec_page(help_text: str) -> Page:
    """From what `unisono-exec --help` prints: a usage, paragraphs, and options that are indented by two blanks."""
    usage, *blocks = help_text.strip("\n").split("\n\n")
    page = Page("unisono-exec", 1, "start one program with Unisono loaded into it", __version__)
    page.title("SYNOPSIS")
    words = " ".join(usage.split()).removeprefix("usage: unisono-exec ")
    page.line(f"{bold('unisono-exec')} {signature(words)}")
    page.title("DESCRIPTION")
    page.paragraph(
        "`unisono run` puts this program before each program that a launcher starts. Where it does not know the launcher, "
        "write it there yourself."
    )
    page.code(["mpirun -n 4 unisono-exec ./program"])
    for block in blocks:
        if block.startswith("  -"):
            for entry in re.split(r"\n(?=  -)", block):
                name, *text = re.split(r"\s{2,}", entry.strip(), maxsplit=1)
                page.tagged(signature(" ".join(name.split())), *text) if text else page.tagged(
                    signature(name), "Print this help, or the version."
                )
        else:
            page.paragraph(block)
    page.see_also([("unisono-run", 1), ("unisono", 1)])
    return page
