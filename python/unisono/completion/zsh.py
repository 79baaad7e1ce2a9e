# SPDX-License-Identifier: BSD-3-Clause
"""The script for zsh, by its own `_arguments`: a function for each command."""

from __future__ import annotations

import re
import shlex

from unisono.completion.description import Argument, Command, Described, Kind, Option, Value

_HEAD = "#compdef unisono\n# Completion of `unisono` in zsh, written by `unisono completion zsh`."

# Whether the file was found in `fpath`, or read by `source`.
_TAIL = """if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    _unisono "$@"
else
    compdef _unisono unisono
fi"""

_VALUES = r"""_unisono_operation() { compadd "$@" - $_unisono_operations }

_unisono_operations() { compset -P '*,'; compadd -q -S, "$@" - $_unisono_operations }

_unisono_operation_or_file() { _alternative 'operations:operation:_unisono_operation' 'files:file:_files' }

# Algorithms of the operation that stands on the line; all where there is none.
_unisono_name() {
    local word
    local -a names
    for word in $words; do
        (( ! $+_unisono_names[$word] )) || names=(${=_unisono_names[$word]})
    done
    (( $#names )) || names=(${(u)=_unisono_names})
    compadd "$@" - $names
}

_unisono_names() { compset -P '*,'; _unisono_name "$@" }

_unisono_algorithms() {
    compset -P '*,'
    if [[ $PREFIX == *:* ]]; then
        local operation=${PREFIX%%:*}
        compset -P '*:'
        local -a names=(${=_unisono_names[$operation]})
        (( $#names )) || names=(${(u)=_unisono_names})
        compadd "$@" - $names native
    else
        compadd "$@" -S: - $_unisono_operations all
    fi
}

# Another command, with or without `--` before it.
_unisono_command() {
    if [[ $words[1] == -- ]]; then
        shift words
        (( CURRENT-- ))
    fi
    _normal
}

_unisono_machine() {
    local cache=${UNISONO_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/unisono}
    local -a names=($_unisono_built_in $cache/machines/*.json(N:t:r))
    _alternative 'machines:machine:compadd -a names' 'files:file:_files'
}"""

_ACTIONS = {
    Kind.ANY: " ",
    Kind.FILE: "_files",
    Kind.FOLDER: "_files -/",
}


def script(described: Described) -> str:
    names = [
        f"    {operation} {shlex.quote(' '.join(found))}"
        for operation, found in described.algorithms.names.items()
    ]
    parts = [
        _HEAD,
        f"typeset -ga _unisono_built_in=({' '.join(described.machines)})",
        f"typeset -ga _unisono_operations=({' '.join(described.algorithms.operations)})",
        "\n".join(["typeset -gA _unisono_names=(", *names, ")"]),
        _VALUES,
        *(_function(command) for command in described.root.all()),
        _TAIL,
    ]
    return "\n\n".join(parts) + "\n"


def _function(command: Command) -> str:
    name = "_unisono" + "".join(f"_command_{part}" for part in command.path)
    specifications = [text for option in command.options for text in _option(option)]
    # No options behind the first word of another command, or behind `--`.
    flags = "-C -S -s" + (" -A '-*'" if command.takes_command or command.commands else "")
    if not command.commands:
        specifications += [_argument(position, one) for position, one in enumerate(command.arguments, 1)]
        return "\n".join([f"{name}() {{", _call(flags, specifications, ""), "}"])
    specifications += ["'1: :->command'", "'*:: :->rest'"]
    listed = [
        f"                {shlex.quote(_escaped(c.path[-1]) + ':' + c.about)}" for c in command.commands
    ]
    return f"""{name}() {{
    local curcontext=$curcontext state line ret=1
    local -A opt_args
{_call(flags, specifications, " && ret=0")}
    case $state in
        command)
            local -a commands=(
{chr(10).join(listed)}
            )
            _describe -t commands 'command' commands && ret=0
            ;;
        rest) _call_function ret {name}_command_$words[1] ;;
    esac
    return ret
}}"""


def _call(flags: str, specifications: list[str], end: str) -> str:
    return " \\\n".join([f"    _arguments {flags}", *(f"        {text}" for text in specifications)]) + end


def _option(option: Option) -> list[str]:
    """A specification for each of its names; the others are offered no more once one is there."""
    made = []
    for name in option.names:
        others = "*" if option.may_repeat else f"({' '.join(option.names)})"
        joint = value = ""
        if option.value is not None:
            joint = "=" if name.startswith("--") else "+"
            value = f": :{_action(option.value)}"
        made.append(shlex.quote(f"{others}{name}{joint}[{_escaped(option.about)}]{value}"))
    return made


def _argument(position: int, argument: Argument) -> str:
    action = _action(argument.value)
    if argument.value.kind is Kind.COMMAND:
        return shlex.quote(f"*:: :{action}")
    return shlex.quote(f"*: :{action}" if argument.repeats else f"{position}: :{action}")


def _action(value: Value) -> str:
    if value.kind is Kind.WORDS:
        # What asks for more to be typed gets no blank.
        whole = [word for word in value.words if not word.endswith(":")]
        begun = [_escaped(word) for word in value.words if word.endswith(":")]
        if begun:
            return f"{{compadd - {' '.join(whole)}; compadd -S '' - {' '.join(begun)}}}"
        return f"({' '.join(_escaped(word) for word in whole)})"
    return _ACTIONS.get(value.kind, f"_unisono_{value.kind.value}")


def _escaped(text: str) -> str:
    """As it stands inside of a specification."""
    return re.sub(r"([\\:\[\]])", r"\\\1", text)
