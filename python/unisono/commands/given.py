# SPDX-License-Identifier: BSD-3-Clause
"""The options of a command as they were given, for files that say what made them."""

from __future__ import annotations

from collections.abc import Mapping

import click
from click.core import ParameterSource

from unisono.common import tool
from unisono.common.errors import UsageError


def require_sensible(settings: Mapping[str, tuple[str, str]]) -> None:
    """Ends the command where a setting of the library makes no sense: a job would only warn of it, after it has started.
    `settings` has, by the library's name, the value that the library would get and the words that gave it."""
    words = [word for name, (value, _) in settings.items() for word in ("--set", f"{name}={value}")]
    problems = tool.ask("settings", *words) if words else []
    if problems:
        raise UsageError("\n".join(f"{settings[one['name']][1]}: {one['problem']}" for one in problems))


def require_algorithms(forced: str | None) -> None:
    """Ends the command where `--algorithm` names what cannot be forced."""
    if forced:
        require_sensible({"algorithm": (forced, f"--algorithm {forced}")})


def given_words(context: click.Context) -> list[str]:
    """Each option that stands on the command line, with its value; without those that nobody gave, and without arguments."""
    words: list[str] = []
    for param in context.command.params:
        if not isinstance(param, click.Option) or param.name is None:
            continue
        if context.get_parameter_source(param.name) is not ParameterSource.COMMANDLINE:
            continue
        value, name = context.params[param.name], max(param.opts, key=len)
        if param.is_flag:
            words += [name] if value else param.secondary_opts[:1]
            continue
        for one in value if param.multiple else [value]:
            # What a callback has made a list of was given with commas.
            words += [name, ",".join(map(str, one)) if isinstance(one, list | tuple) else str(one)]
    return words
