# SPDX-License-Identifier: BSD-3-Clause
"""The script for fish: one line for each option, and a function that says where on the line the cursor is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from unisono.completion.description import Command, Described, Kind, Option, Value

_HEAD = r"""# Completion of `unisono` in fish, written by `unisono completion fish`.

# Prints the command before the cursor ("table show"), how many arguments it has, and which word begins another command (0: none).
function __unisono_place
    set -l tokens (commandline -opc)
    set -l command ''
    set -l arguments 0
    set -l ended no
    set -l index 1
    while test $index -lt (count $tokens)
        set index (math $index + 1)
        set -l word $tokens[$index]
        if test "$word" = -- -a $ended = no
            set ended yes
        else if string match -q -- '-?*' $word; and test $ended = no
            if not string match -q -- '*=*' $word; and __unisono_takes_value "$command:$word"
                set index (math $index + 1)
            end
        else if test $ended = no; and __unisono_is_command (string trim -- "$command $word")
            set command (string trim -- "$command $word")
        else if __unisono_takes_command "$command"
            printf '%s\n' "$command" $arguments $index
            return
        else
            set arguments (math $arguments + 1)
        end
    end
    printf '%s\n' "$command" $arguments 0
end

# Whether the cursor stands behind command $argv[1], at argument number $argv[2], from 0, where that is given.
function __unisono_at
    set -l place (__unisono_place)
    test "$place[1]" = "$argv[1]" -a $place[3] = 0
    and test (count $argv) = 1 -o "$place[2]" = "$argv[2]"
end

# Completes the rest of the line, which is another command's.
function __unisono_foreign
    set -l place (__unisono_place)
    set -l words (commandline -opc)
    set -l before
    test $place[3] = 0; or set before (string escape -- $words[$place[3]..-1])
    set -l line (string join ' ' -- $before (commandline -ct))
    string match -q -- '-*' "$line"; or complete --do-complete="$line"
end

function __unisono_is_foreign
    set -l place (__unisono_place)
    test $place[3] != 0
    or __unisono_takes_command "$place[1]"
end

# Each of $argv behind what is there of a list with commas.
function __unisono_listed
    set -l before (string match -r -- '^.*,' (__unisono_value))
    printf '%s\n' "$before"$argv
end

# What is there of the value, without `--option=`.
function __unisono_value
    string replace -r -- '^--[a-z-]+=' '' (commandline -ct)
end

# The algorithms of the operation that stands on the line; all where there is none.
function __unisono_names
    for word in (commandline -opc)
        if contains -- $word $__unisono_operations
            __unisono_names_of $word
            return
        end
    end
    __unisono_names_of all
end

function __unisono_algorithms
    set -l value (__unisono_value)
    set -l last (string replace -r -- '^.*,' '' $value)
    if string match -q -- '*:*' $last
        set -l operation (string split -m 1 -- : $last)[1]
        __unisono_listed $operation:(__unisono_names_of $operation) $operation:native
    else
        __unisono_listed $__unisono_operations: all:
    end
end

function __unisono_machines
    set -l cache (set -q XDG_CACHE_HOME; and echo $XDG_CACHE_HOME; or echo $HOME/.cache)/unisono
    set -q UNISONO_CACHE; and set cache $UNISONO_CACHE
    printf '%s\n' $__unisono_built_in
    for file in $cache/machines/*.json
        string replace -r -- '\.json$' '' (basename $file)
    end
end"""

_ACTIONS = {
    Kind.ANY: "-x",
    Kind.FILE: "-rF",
    Kind.FOLDER: "-xa '(__fish_complete_directories)'",
    Kind.MACHINE: "-rFa '(__unisono_machines)'",
    Kind.OPERATION: "-xa '$__unisono_operations'",
    Kind.OPERATIONS: "-xa '(__unisono_listed $__unisono_operations)'",
    Kind.OPERATION_OR_FILE: "-rFa '$__unisono_operations'",
    Kind.NAME: "-xa '(__unisono_names)'",
    Kind.NAMES: "-xa '(__unisono_listed (__unisono_names))'",
    Kind.ALGORITHMS: "-xa '(__unisono_algorithms)'",
}


def script(described: Described) -> str:
    commands = list(described.root.all())
    names = described.algorithms.names
    parts = [
        _HEAD,
        f"set -g __unisono_built_in {' '.join(described.machines)}\n"
        f"set -g __unisono_operations {' '.join(names)}",
        _switch(
            "__unisono_names_of",
            [
                *((_quoted(name), f"printf '%s\\n' {' '.join(found)}") for name, found in names.items()),
                ("'*'", f"printf '%s\\n' {' '.join(described.algorithms.distinct)}"),
            ],
        ),
        _test("__unisono_is_command", (c.name for c in commands if c.path)),
        _test("__unisono_takes_command", (c.name for c in commands if c.takes_command)),
        _test("__unisono_takes_value", _names_with_value(commands)),
        "complete -c unisono -f",
        "complete -c unisono -n __unisono_is_foreign -xa '(__unisono_foreign)'",
        *("\n".join(lines) for command in commands if (lines := list(_lines(command)))),
    ]
    return "\n\n".join(parts) + "\n"


def _lines(command: Command) -> Iterator[str]:
    at = f"complete -c unisono -n {_quoted(f'__unisono_at {_doubly(command.name)}')}"
    for inner in command.commands:
        yield f"{at} -a {inner.path[-1]} -d {_quoted(inner.about)}"
    for option in command.options:
        yield from (f"{at} {text}" for text in _option(option))
    for position, argument in enumerate(command.arguments):
        if argument.value.kind in (Kind.COMMAND, Kind.ANY):
            continue
        where = _doubly(command.name) + ("" if argument.repeats else f" {position}")
        yield f"complete -c unisono -n {_quoted(f'__unisono_at {where}')} {_action(argument.value).replace('-x', '-f').replace('-rF', '-F')}"


def _option(option: Option) -> Iterator[str]:
    action = f" {_action(option.value)}" if option.value is not None else ""
    for name in option.names:
        flag = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
        yield f"{flag} -d {_quoted(option.about)}{action}"


def _action(value: Value) -> str:
    if value.kind is Kind.WORDS:
        return f"-xa {_quoted(' '.join(value.words))}"
    return _ACTIONS[value.kind]


def _names_with_value(commands: Iterable[Command]) -> Iterator[str]:
    for command in commands:
        for option in command.options:
            if option.value is not None:
                yield from (f"{command.name}:{name}" for name in option.names)


def _test(name: str, words: Iterable[str]) -> str:
    return f"function {name}\n    contains -- $argv[1] {' '.join(map(_quoted, words))}\nend"


def _switch(name: str, branches: Iterable[tuple[str, str]]) -> str:
    cases = "\n".join(f"        case {pattern}\n            {body}" for pattern, body in branches)
    return f"function {name}\n    switch $argv[1]\n{cases}\n    end\nend"


def _quoted(text: str) -> str:
    """In fish's single quotes backslashes and quotes are escaped."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _doubly(text: str) -> str:
    return f'"{text}"'
