#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes what the code itself can tell: cli.md, options.md and algorithms.md of docs/reference/, the version in CITATION.cff.

With --check nothing is written; the exit status is 1 where a page differs from what the code says.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from unisono import __version__
from unisono.commands.group import COMMANDS, cli
from unisono.commands.listing import parameter_about
from unisono.commands.options import default_text
from unisono.commands.run import SettingOption
from unisono.common import files, tool
from unisono.common.errors import UnisonoError

ROOT = Path(__file__).resolve().parents[1]
DOCS, CITATION = ROOT / "docs/reference", ROOT / "CITATION.cff"
NOTE = "<!-- Written by tools/generate_docs.py from the code; change it there. -->"


def cell(text: str) -> str:
    """Text as it stands in a table."""
    return text.replace("|", "\\|").replace("\n", " ")


def table(columns: list[str], rows: list[list[str]]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def cli_page() -> str:
    parts = [
        "# The command `unisono`",
        NOTE,
        inspect.cleandoc(cli.help or ""),
        table(
            ["command", ""],
            [[f"[`unisono {name}`](#unisono-{name})", line] for name, (_, line) in COMMANDS.items()],
        ),
        "Exit status: 0; 1 where something went wrong or a proof failed; 2 where the command line makes no sense.\n"
        "It is 2 too where a file that it names cannot be read, or is of another kind; `unisono table check` says so with 1.\n"
        "`unisono run` ends as the job ends, with 127 or 126 where its command is not found or cannot be started; "
        "`unisono tune` and `unisono predict` end with 130 where Ctrl-C ended them.",
        "`UNISONO_HOME` names the folder whose `bin/` and `lib/` hold the compiled parts. Without it they are looked for below the "
        "prefix of the installation, or in `build/release` of the source tree.",
    ]
    context = click.Context(cli, info_name="unisono")
    for name in COMMANDS:
        command = cli.get_command(context, name)
        assert command is not None
        parts.append(command_section(name, command, context))
    return "\n\n".join(parts) + "\n"


def command_section(name: str, command: click.Command, context: click.Context, level: str = "##") -> str:
    own = click.Context(command, info_name=name, parent=context)
    usage = " ".join(command.collect_usage_pieces(own))
    parts = [f"{level} {own.command_path}", f"    {own.command_path} {usage}", prose(command.help or "")]
    rows = []
    # What `run` reads from the library's list has a page of its own.
    own_params = [param for param in command.params if not isinstance(param, SettingOption)]
    for param in [*own_params, command.get_help_option(own)]:
        record = param.get_help_record(own) if isinstance(param, click.Option) else None
        if record is not None:
            rows.append([f"`{cell(record[0])}`", cell(record[1])])
    parts.append(table(["option", ""], rows))
    if name == "run":
        parts.append("Every option of the library is one of `unisono run` as well: [options](options.md).")
    if isinstance(command, click.Group):
        parts += [command_section(part, inner, own, f"{level}#") for part, inner in command.commands.items()]
    return "\n\n".join(parts)


def prose(text: str) -> str:
    """A help text: its paragraphs, and what is set apart by \\b as code."""
    paragraphs = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("\b\n"):
            lines = inspect.cleandoc(paragraph.removeprefix("\b\n")).splitlines()
            paragraphs.append("\n".join(f"    {line}" for line in lines))
        else:
            paragraphs.append(" ".join(paragraph.split()))
    return "\n\n".join(paragraphs)


def options_page() -> str:
    parts = [
        "# Options",
        NOTE,
        "Each option can be given to `unisono run`, as an environment variable, or in a configuration file with lines "
        "`name = value`. Where several of these name it, the first one holds. The file is that of `--config FILE`, of "
        "`UNISONO_CONFIG`, else `~/.config/unisono/unisono.conf`. Rank 0's options hold for all ranks. A value that makes no sense is ignored with a warning.",
        "In a file, what follows a `#` at the beginning of a line or after a blank is a comment. A value in double quotes may "
        'hold anything: `report = "times # 1.json"`; there `\\"`, `\\\\` and `\\n` stand for `"`, `\\` and the end of a line.',
    ]
    groups: dict[str, list[dict[str, Any]]] = {}
    for option in tool.options():
        groups.setdefault(option["group"], []).append(option)
    for group, options in groups.items():
        rows = []
        for option in options:
            names = SettingOption(option).opts + SettingOption(option).secondary_opts
            default = default_text(option["default"])
            rows.append(
                [
                    "<br>".join(f"`{name}`" for name in names),
                    f"`{option['environment']}`",
                    f"`{option['config_key']}`",
                    cell(option["type"]),
                    f"`{default}`" if default else "",
                    cell(option["help"]),
                ]
            )
        parts.append(f"## {group.capitalize()}")
        parts.append(table(["unisono run", "environment", "file", "takes", "default", "meaning"], rows))
    return "\n\n".join(parts) + "\n"


def algorithms_page() -> str:
    algorithms = tool.algorithms()
    parts = [
        "# Algorithms",
        NOTE,
        f"All {len(algorithms)} algorithms, as `unisono list` shows them. One is forced by `--algorithm OPERATION:NAME` or with parameters "
        "`--algorithm 'OPERATION:NAME(segment=64K)'`; `unisono show OPERATION --algorithm NAME` draws it. Where its needs are not met it is "
        "refused, whoever asks for it. Reproducible ones keep the one order of [reproducible reductions](../guide/reproducible.md) where that is asked for. "
        "[Sources](sources.md) says what the codes in the column *source* stand for.",
        ALLTOALLV_NOTE,
        names_section(algorithms),
    ]
    operations: dict[str, list[dict[str, Any]]] = {}
    for algorithm in algorithms:
        operations.setdefault(algorithm["operation"], []).append(algorithm)
    for operation, chosen in operations.items():
        rows = [
            [
                f"`{algorithm['name']}`",
                cell(algorithm["group"] + (", reproducible" if algorithm["reproducible"] else "")),
                cell(algorithm["sentence"]),
                cell(", ".join(algorithm["legality"])),
                "<br>".join(
                    cell(f"`{entry['name']}` {parameter_about(entry)}") for entry in algorithm["parameters"]
                ),
                cell(algorithm["source"]),
            ]
            for algorithm in chosen
        ]
        parts.append(f"## {operation}")
        parts.append(table(["algorithm", "group", "what it does", "needs", "parameters", "source"], rows))
    return "\n\n".join(parts) + "\n"


ALLTOALLV_NOTE = (
    "The two-level ones of alltoallv and alltoallw bundle nothing: a node's blocks go through shared memory, all others straight from "
    "rank to rank ([why](../inside/decisions.md#blocks-of-different-lengths-are-not-bundled))."
)


def names_section(algorithms: list[dict[str, Any]]) -> str:
    """What the sources call the algorithms: a line for each name, with the operations in which it means the same."""
    operations: dict[tuple[str, str, str], list[str]] = {}
    for algorithm in algorithms:
        for named in algorithm["names_in_sources"]:
            key = (named["row"], named["name"], algorithm["name"])
            operations.setdefault(key, []).append(algorithm["operation"])
    order = list(dict.fromkeys(row for row, _, _ in operations))
    rows = [
        [row, cell(name), f"`{here}`", ", ".join(having)]
        for (row, name, here), having in sorted(operations.items(), key=lambda line: order.index(line[0][0]))
    ]
    lead = (
        "`--algorithm` takes these names too where one means a single algorithm of its operation: "
        "`'alltoall:pair with light barrier'`, `'allreduce:Rab2-(ring, ring)'`. Blanks and capitals do not count. A name from here "
        "goes first: `allgather:ring` is the logical ring, S1's *ring* is `direct_ring`."
    )
    return "\n\n".join(
        ["## Names in the sources", lead, table(["row", "name in the source", "name here", "of"], rows)]
    )


def citation() -> str:
    """What is there, with the version that the package has."""
    return re.sub(r"^version: .*$", f"version: {__version__}", CITATION.read_text(), flags=re.MULTILINE)


PAGES: dict[str, Callable[[], str]] = {
    "cli.md": cli_page,
    "options.md": options_page,
    "algorithms.md": algorithms_page,
    CITATION.name: citation,
}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="write nothing, compare")
    parser.add_argument("pages", nargs="*", metavar="PAGE", help=f"only these: {', '.join(PAGES)}")
    arguments = parser.parse_args()
    unknown = set(arguments.pages) - set(PAGES)
    if unknown:
        parser.error(f"no such page: {', '.join(sorted(unknown))}")
    status = 0
    for name in arguments.pages or PAGES:
        page = CITATION if name == CITATION.name else DOCS / name
        text = PAGES[name]()
        if page.is_file() and page.read_text() == text:
            continue
        if arguments.check:
            print(f"{page} differs from what the code says; run tools/generate_docs.py", file=sys.stderr)
            status = 1
        else:
            files.write_whole(page, text)
            print(f"wrote {page}")
    return status


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UnisonoError as error:
        error.show()
        sys.exit(error.exit_code)
