# SPDX-License-Identifier: BSD-3-Clause
"""Groups of commands, and choices, that say what a mistyped name may have meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import click

from unisono.common.errors import UsageError
from unisono.common.nearest import did_you_mean, nearest
from unisono.common.operations import OPERATIONS, operation_and_form

# Choices have a type since click 8.2; systems come with older ones.
if TYPE_CHECKING:
    _Choice = click.Choice[str]
else:
    _Choice = click.Choice

_FEW = 8  # names that can stand on one line


class HintingGroup(click.Group):
    """Its commands go by their names; `tuen` may mean `tune`."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            names = self.list_commands(ctx)
            meant = nearest(name, names)
            whole = ctx.command_path
            say = f"did you mean `{whole} {meant}`?" if meant else f"`{whole} --help` lists them"
            raise UsageError(f"there is no command '{whole} {name}'; {say}")
        found, command, rest = super().resolve_command(ctx, args)
        if command is not None and not command.context_settings.get("ignore_unknown_options"):
            _require_values(command, rest, f"{ctx.command_path} {name}")
        return found, command, rest


def _require_values(command: click.Command, words: Sequence[str], called: str) -> None:
    """What ends the options is no value of one: the parser would take it for that, and a job's launcher for a word of ours."""
    options = {name: param for param in command.params for name in param.opts if _takes_value(param)}
    takes_all = command.context_settings.get("allow_interspersed_args", command.allow_interspersed_args)
    rest = iter(words)
    for word in rest:
        if word == "--" or not (takes_all or word.startswith("-")):
            return
        if word in options and next(rest, None) == "--":
            kind = options[word].type
            wanted = f": {', '.join(map(str, kind.choices))}" if isinstance(kind, click.Choice) else ""
            raise UsageError(f"{word} wants a value{wanted}; -- came; see `{called} --help`")


def _takes_value(param: click.Parameter) -> bool:
    return isinstance(param, click.Option) and not (param.is_flag or param.count)


class HintingChoice(_Choice):
    """One of several words."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        return refused(str(value), [str(choice) for choice in self.choices])


def refused(word: str, names: Sequence[str]) -> str:
    """`'wolrd' is none of world, node; did you mean 'world'?`."""
    meant = did_you_mean(word, names)
    if meant and len(names) > _FEW:
        return f"'{word}' means nothing here{meant}"
    return f"'{word}' is none of {', '.join(names)}{meant}"


def no_operation(word: str, known: Iterable[str] = OPERATIONS) -> UsageError:
    names = list(known)
    if (form := operation_and_form(word)) and form[0] in names:
        return UsageError(f"there is no operation '{word}' here: '{form[0]}' stands for all its forms")
    otherwise = f"; there are {', '.join(names)}"
    return UsageError(f"there is no operation '{word}'{did_you_mean(word, names, otherwise)}")
