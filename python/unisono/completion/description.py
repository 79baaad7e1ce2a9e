# SPDX-License-Identifier: BSD-3-Clause
"""The commands as completion needs them: their options, and what may stand for each value and argument."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import click
from click.types import UnprocessedParamType

_MOST_ABOUT = 72  # columns of the text beside an option


class Kind(Enum):
    """What may stand in a place of the command line."""

    ANY = "any"  # nothing that can be listed
    WORDS = "words"  # one of a few
    FILE = "file"
    FOLDER = "folder"
    MACHINE = "machine"  # a machine's name, or its file
    OPERATION = "operation"
    OPERATIONS = "operations"  # several with commas
    OPERATION_OR_FILE = "operation_or_file"
    NAME = "name"  # of an algorithm of the operation that stands on the line
    NAMES = "names"  # several with commas
    ALGORITHMS = "algorithms"  # OPERATION:NAME, several with commas
    COMMAND = "command"  # here another command begins, with all its words


@dataclass(frozen=True)
class Value:
    """What an option takes, or what stands in the place of an argument."""

    kind: Kind
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Option:
    names: tuple[str, ...]
    about: str
    value: Value | None  # None: it is a switch
    may_repeat: bool


@dataclass(frozen=True)
class Argument:
    value: Value
    repeats: bool


@dataclass(frozen=True)
class Command:
    """A command by the words after `unisono` that name it: `("table", "show")`."""

    path: tuple[str, ...]
    about: str
    options: tuple[Option, ...]
    commands: tuple[Command, ...]
    arguments: tuple[Argument, ...]

    @property
    def name(self) -> str:
        """`table show`; empty for `unisono` alone."""
        return " ".join(self.path)

    @property
    def takes_command(self) -> bool:
        """Whether another command follows, so that options end at the first word that is none."""
        return any(argument.value.kind is Kind.COMMAND for argument in self.arguments)

    def all(self) -> Iterator[Command]:
        """This one and all below it."""
        yield self
        for command in self.commands:
            yield from command.all()


@dataclass(frozen=True)
class Algorithms:
    """The names of the algorithms, by operation."""

    names: dict[str, tuple[str, ...]]

    @property
    def operations(self) -> tuple[str, ...]:
        return tuple(self.names)

    @property
    def distinct(self) -> tuple[str, ...]:
        """Each name once, whatever operations have it."""
        return tuple(dict.fromkeys(name for names in self.names.values() for name in names))


@dataclass(frozen=True)
class Described:
    """All that a script is made of."""

    root: Command
    algorithms: Algorithms
    machines: tuple[str, ...]  # those that are built in


# By what an option's or argument's help calls its value.
_BY_METAVAR = {
    "FILE": Kind.FILE,
    "FILES": Kind.FILE,
    "FILE...": Kind.FILE,
    "PAGE": Kind.FILE,
    "TOPOLOGY": Kind.FILE,
    "NAME|FILE": Kind.MACHINE,
    "[FILE] [OPERATION [SIZE]]": Kind.OPERATION_OR_FILE,
    "LIST": Kind.ALGORITHMS,
    "NAME|LIST": Kind.NAMES,
    "NAMES": Kind.NAMES,
    "ALGORITHMS": Kind.NAMES,
}
# By its long option, or by the argument's name, where the help has no word that says it.
_BY_NAME = {
    "--cache": Kind.FOLDER,
    "--operation": Kind.OPERATION,
    "--machine": Kind.MACHINE,
    "operation": Kind.OPERATION,
    "topology": Kind.FILE,
    "first": Kind.FILE,
    "second": Kind.FILE,
}
_COMMUNICATORS = ("world", "node", "leaders", "reversed", "split:", "strided:")


def described(
    root: click.Command, algorithms: dict[str, tuple[str, ...]], machines: tuple[str, ...]
) -> Described:
    """`root` is the command `unisono`."""
    return Described(_command(root, None, ()), Algorithms(algorithms), machines)


def _command(command: click.Command, above: click.Context | None, path: tuple[str, ...]) -> Command:
    context = click.Context(
        command, parent=above, info_name=path[-1] if path else "unisono", **command.context_settings
    )
    params = command.get_params(context)
    inner = []
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            part = command.get_command(context, name)
            if part is not None and not part.hidden:
                inner.append(_command(part, context, (*path, name)))
    return Command(
        path=path,
        about=_short(command.get_short_help_str(200)),
        options=tuple(
            option for p in params if isinstance(p, click.Option) and not p.hidden for option in _options(p)
        ),
        commands=tuple(inner),
        arguments=tuple(_argument(p) for p in params if isinstance(p, click.Argument)),
    )


def _options(param: click.Option) -> Iterator[Option]:
    """The option; and what switches it off, where there is such."""
    value = None if param.is_flag or param.count else _value(param)
    # Options that take lists with commas add up when they come again.
    may_repeat = param.multiple or type(param).__name__ == "ListOption"
    yield Option(tuple(param.opts), _short(param.help or ""), value, may_repeat)
    if param.secondary_opts:
        yield Option(tuple(param.secondary_opts), f"The opposite of {param.opts[0]}", None, False)


def _argument(param: click.Argument) -> Argument:
    return Argument(_value(param), param.nargs == -1)


def _value(param: click.Parameter) -> Value:
    name = max(param.opts, key=len) if isinstance(param, click.Option) else param.name or ""
    if isinstance(param.type, click.Choice):
        return Value(Kind.WORDS, tuple(str(choice) for choice in param.type.choices))
    if isinstance(param.type, UnprocessedParamType) and param.nargs == -1:
        return Value(Kind.COMMAND)
    if name == "--comm":
        return Value(Kind.WORDS, _COMMUNICATORS)
    if name == "--algorithm" and param.metavar == "NAME":
        return Value(Kind.NAME)
    if name == "--algorithm" and param.metavar is None:
        return Value(Kind.ALGORITHMS)
    if name == "--operation" and param.metavar is None:
        return Value(Kind.OPERATIONS)
    if name in _BY_NAME:
        return Value(_BY_NAME[name])
    if isinstance(param.type, click.Path):
        return Value(Kind.FILE if param.type.file_okay else Kind.FOLDER)
    return Value(_BY_METAVAR.get(param.metavar or "", Kind.ANY))


def _short(text: str) -> str:
    """The first sentence, without its full stop, in one line of the list that a shell shows."""
    flat = " ".join(text.replace("\b", "").split()).replace("`", "")
    sentence = flat.split("  [default")[0].split(". ")[0].split(";")[0].split(" [default")[0]
    return textwrap.shorten(sentence.rstrip("."), _MOST_ABOUT, placeholder=" ...")
