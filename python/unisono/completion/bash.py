# SPDX-License-Identifier: BSD-3-Clause
"""The script for bash: its own part is fixed, what follows from the commands stands in `case` lists."""

from __future__ import annotations

import shlex
from collections.abc import Iterable

from unisono.completion.description import Command, Described, Kind, Value

_HEAD = r"""# Completion of `unisono` in bash, written by `unisono completion bash`.

_unisono() {
    # `words` are those up to the cursor, `at` says where each begins in COMP_WORDS.
    local words=() at=() cur cut='' command='' ended='' kind='' candidates='' operation=''
    local index=1 position=0 word
    COMPREPLY=()
    _unisono_split
    cur=${words[-1]}
    while ((index < ${#words[@]} - 1)); do
        word=${words[index]}
        if [[ $word == -- && ! $ended ]]; then
            ended=yes
        elif [[ $word == -?* && ! $ended ]]; then
            _unisono_value_of "$command" "${word%%=*}"
            if [[ $kind && $word != *=* ]]; then
                ((index += 1))
                if ((index == ${#words[@]} - 1)); then
                    _unisono_complete
                    return
                fi
                [[ $word != --operation ]] || operation=${words[index]}
            fi
            [[ $word != --operation=* ]] || operation=${word#*=}
        else
            _unisono_commands_of "$command"
            if [[ " $candidates " == *" $word "* && ! $ended ]]; then
                command+=${command:+ }$word
            else
                _unisono_argument_of "$command" "$position"
                if [[ $kind == command ]]; then
                    _unisono_foreign "$index"
                    return
                fi
                [[ $kind != operation* ]] || operation=$word
                ((position += 1))
            fi
        fi
        ((index += 1))
    done
    _unisono_at_cursor
}

# What stands at the cursor is no option's value in a word of its own.
_unisono_at_cursor() {
    if [[ $cur == --*=* && ! $ended ]]; then
        _unisono_value_of "$command" "${cur%%=*}"
        cut=${cur%%=*}=
        cur=${cur#*=}
        _unisono_complete
    elif [[ $cur == -* && ! $ended ]]; then
        _unisono_options_of "$command"
        _unisono_among "$candidates"
    else
        _unisono_commands_of "$command"
        if [[ $candidates && ! $ended ]]; then
            _unisono_among "$candidates"
            return
        fi
        _unisono_argument_of "$command" "$position"
        if [[ $kind == command ]]; then
            _unisono_foreign "$index"
        else
            _unisono_complete
        fi
    fi
}

# Bash cuts words at ':' and '='; here they are whole.
_unisono_split() {
    local rest=${COMP_LINE:0:COMP_POINT} word stripped index
    for ((index = 0; index <= COMP_CWORD; index++)); do
        stripped=${rest#"${rest%%[![:space:]]*}"}
        word=${COMP_WORDS[index]}
        ((index < COMP_CWORD)) || word=$stripped
        if ((index == 0)) || [[ $stripped != "$rest" ]]; then
            words+=("$word")
            at+=("$index")
        else
            words[-1]+=$word
        fi
        rest=${stripped#"$word"}
    done
}

# The rest of the line is another command's, as after `sudo`.
_unisono_foreign() {
    local offset=${at[$1]}
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "$offset"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$offset"
    elif ((offset == COMP_CWORD)) && [[ $cur != */* ]]; then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
    else
        _unisono_files -f
    fi
}

_unisono_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "$1" -- "$cur")
    cut=
    _unisono_trim
}

# Offers those of the words in $1 that begin as the word at the cursor does.
_unisono_among() {
    mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
    # What asks for more to be typed gets no blank.
    [[ ${#COMPREPLY[@]} != 1 || ${COMPREPLY[0]} != *[:=] ]] || compopt -o nospace 2>/dev/null
    COMPREPLY=("${COMPREPLY[@]/#/$cut}")
    _unisono_trim
}

# Bash puts in what follows the last ':' or '=' where it cuts words there.
_unisono_trim() {
    local word=${words[-1]} stop
    [[ $word != [\'\"]* ]] || return
    for stop in : =; do
        if [[ $word == *"$stop"* && $COMP_WORDBREAKS == *"$stop"* ]]; then
            COMPREPLY=("${COMPREPLY[@]#"${word%"${word##*"$stop"}"}"}")
        fi
    done
}

# The last one of a list with commas.
_unisono_last_of_list() {
    if [[ $cur == *,* ]]; then
        cut+=${cur%,*},
        cur=${cur##*,}
    fi
}

_unisono_machines() {
    local cache=${UNISONO_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/unisono} file
    for file in "$cache"/machines/*.json; do
        [[ ! -f $file ]] || file=${file##*/} candidates+=" ${file%.json}"
    done
}

# Offers what $kind says.
_unisono_complete() {
    if [[ $cur == [\'\"]* ]]; then
        cur=${cur:1}
    fi
    case $kind in
        words\ *) _unisono_among "${kind#words }" ;;
        file) _unisono_files -f ;;
        folder) _unisono_files -d ;;
        machine)
            candidates=$_unisono_built_in
            _unisono_machines
            [[ $cur == */* ]] || _unisono_among "$candidates"
            ((${#COMPREPLY[@]} > 0)) || _unisono_files -f
            ;;
        operation) _unisono_among "$_unisono_operations" ;;
        operations)
            _unisono_last_of_list
            _unisono_among "$_unisono_operations"
            ;;
        operation_or_file)
            _unisono_among "$_unisono_operations"
            candidates=("${COMPREPLY[@]}")
            _unisono_files -f
            COMPREPLY=("${candidates[@]}" "${COMPREPLY[@]}")
            ;;
        name | names)
            [[ $kind == name ]] || _unisono_last_of_list
            [[ $operation ]] || _unisono_operation_anywhere
            _unisono_names_of "$operation"
            _unisono_among "$candidates"
            ;;
        algorithms)
            _unisono_last_of_list
            if [[ $cur == *:* ]]; then
                _unisono_names_of "${cur%%:*}"
                cut+=${cur%%:*}:
                cur=${cur#*:}
                _unisono_among "$candidates native"
            else
                _unisono_among "${_unisono_operations// /: }: all:"
            fi
            ;;
    esac
}

# An option may stand before the operation that it is about.
_unisono_operation_anywhere() {
    local word
    for word in "${COMP_WORDS[@]:1}"; do
        [[ ! $word || " $_unisono_operations " != *" $word "* ]] || operation=$word
    done
}
"""


def script(described: Described) -> str:
    commands = list(described.root.all())
    parts = [
        _HEAD,
        f"_unisono_built_in={_quoted(described.machines)}",
        f"_unisono_operations={_quoted(described.algorithms.operations)}",
        _cases(
            "_unisono_names_of",
            "Sets `candidates` to the algorithms of operation $1; those of all where it names none.",
            [
                *(
                    (name, f"candidates={_quoted(names)}")
                    for name, names in described.algorithms.names.items()
                ),
                ("*", f"candidates={_quoted(described.algorithms.distinct)}"),
            ],
        ),
        _cases(
            "_unisono_commands_of",
            "Sets `candidates` to the commands below command $1.",
            [
                *(
                    (_key(c.name), f"candidates={_quoted(i.path[-1] for i in c.commands)}")
                    for c in commands
                    if c.commands
                ),
                ("*", "candidates=''"),
            ],
        ),
        _cases(
            "_unisono_options_of",
            "Sets `candidates` to the options of command $1.",
            [
                (_key(c.name), f"candidates={_quoted(n for o in c.options for n in o.names)}")
                for c in commands
            ],
        ),
        _cases(
            "_unisono_value_of",
            "Sets `kind` to what option $2 of command $1 takes; empty: it takes nothing.",
            [*_grouped(_option_kinds(commands)), ("*", "kind=''")],
            "$1:$2",
        ),
        _cases(
            "_unisono_argument_of",
            "Sets `kind` to what may stand as argument number $2, from 0, of command $1.",
            [*_grouped(_argument_kinds(commands)), ("*", "kind=''")],
            "$1:$2",
        ),
        "complete -F _unisono unisono",
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _quoted(words: Iterable[str]) -> str:
    return shlex.quote(" ".join(words))


def _key(text: str) -> str:
    return shlex.quote(text)


def _kind(value: Value) -> str:
    return " ".join([value.kind.value, *value.words]) if value.kind is Kind.WORDS else value.kind.value


def _option_kinds(commands: Iterable[Command]) -> list[tuple[str, str]]:
    return [
        (_key(f"{command.name}:{name}"), _kind(option.value))
        for command in commands
        for option in command.options
        if option.value is not None
        for name in option.names
    ]


def _argument_kinds(commands: Iterable[Command]) -> list[tuple[str, str]]:
    kinds = []
    for command in commands:
        for position, argument in enumerate(command.arguments):
            key = _key(f"{command.name}:") + "*" if argument.repeats else _key(f"{command.name}:{position}")
            kinds.append((key, _kind(argument.value)))
    return kinds


def _grouped(kinds: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """One branch for all patterns that mean the same."""
    together: dict[str, list[str]] = {}
    for pattern, kind in kinds:
        together.setdefault(kind, []).append(pattern)
    return [(" | ".join(patterns), f"kind={shlex.quote(kind)}") for kind, patterns in together.items()]


def _cases(name: str, about: str, branches: Iterable[tuple[str, str]], subject: str = "$1") -> str:
    lines = [f"        {pattern}) {body} ;;" for pattern, body in branches]
    return "\n".join([f"# {about}", f"{name}() {{", f'    case "{subject}" in', *lines, "    esac", "}"])
