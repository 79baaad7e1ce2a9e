# SPDX-License-Identifier: BSD-3-Clause
"""The page of the configuration file, `unisono.conf.5`, from the library's own list of options."""

from __future__ import annotations

from typing import Any

from unisono import __version__
from unisono.commands.options import default_text
from unisono.common import tool

from man.roff import Page, bold, escaped, italic


def page() -> Page:
    made = Page("unisono.conf", 5, "options of Unisono, in a file or in the environment", __version__)
    made.title("DESCRIPTION")
    made.paragraph("Each line of the file gives an option its value:")
    made.code(["# What follows this sign is a comment.", "learn = auto", 'report = "times # 1.json"'])
    made.paragraph(
        'A value in double quotes may hold anything; there `\\"`, `\\\\` and `\\n` stand for a quote, a backslash and the end of a line.'
    )
    made.paragraph(
        "Each option can also be given to `unisono run`, or as an environment variable. The command line goes first, then the "
        "environment, then the user's file, then those of the site. The options of rank 0 hold for all ranks. A value that makes no "
        "sense is ignored with a warning."
    )
    made.title("OPTIONS")
    groups: dict[str, list[dict[str, Any]]] = {}
    for option in tool.options():
        groups.setdefault(option["group"], []).append(option)
    for group, options in groups.items():
        made.subtitle(group.capitalize())
        for option in options:
            _option(made, option)
    made.title("FILES")
    made.tagged(
        italic("~/.config/unisono/unisono.conf"),
        "Read where neither `--config` of `unisono run` nor the variable `UNISONO_CONFIG` names another file.",
    )
    made.tagged(
        italic("/etc/unisono.conf"),
        "What a site sets for all its users. After it `etc/unisono.conf` below the prefix of the installation is read. Only root, or "
        "the user, may be able to write these files.",
        "`UNISONO_SITE_CONFIG` names the one to read in their stead; `none`: none.",
    )
    made.see_also([("unisono-run", 1), ("unisono-options", 1), ("unisono", 1)])
    return made


def _option(made: Page, option: dict[str, Any]) -> None:
    default = default_text(option["default"])
    tag = f"{bold(option['config_key'])} = {italic(option['type'])}"
    names = f"Variable `{option['environment']}`"
    more = f", option `{option['cli']}` of `unisono run`." if option["cli"] else "."
    made.tagged(tag + (f" [default: {escaped(default)}]" if default else ""), option["help"], names + more)
