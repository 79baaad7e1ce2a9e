# SPDX-License-Identifier: BSD-3-Clause
"""Puts the exec shim before every program of a command.

Settings travel as the shim's own arguments: launchers differ in how they hand environment variables to other
nodes (-x, -genv, --export), but all of them start the program's command line as it is given."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from unisono.common.errors import UsageError
from unisono.common.places import SHIM
from unisono.launch import detect, parse
from unisono.launch.flavours import Flavour


class Shim(NamedTuple):
    """The shim as it goes before a program: where it is, what it sets there, and what every host must have."""

    path: Path
    library: Path
    settings: Mapping[str, str] = MappingProxyType({})
    adapters: Sequence[str] = ()  # families, as in libunisono-FAMILY.so

    def words(self) -> list[str]:
        words = [str(self.path)]
        for name, value in self.settings.items():
            words += ["--set", f"{name}={value}"]
        words += ["--library", str(self.library)]
        return [*words, "--adapters", ",".join(self.adapters)] if self.adapters else words


class Rewritten(NamedTuple):
    """The command to run, how it was understood (for --verbose), and the programs in it as the shim will find them."""

    words: list[str]
    explanation: str
    programs: Sequence[str] = ()


def rewrite(command: list[str], shim: Shim) -> Rewritten:
    """The command with the shim before each program."""
    position = detect.launcher_position(command)
    if position is not None:
        launcher = detect.identify(command[position])
        sections = parse.parse_sections(launcher.flavour, command[position + 1 :])
        words = command[: position + 1]
        found = [_as_found(launcher.flavour, section) for section in sections]
        for index, (section, program) in enumerate(zip(sections, found, strict=True)):
            if index:
                words.append(parse.SEPARATOR)
            words += section.options + before_program(shim, program)
        programs = ", ".join(_own_name(section.program) for section in sections)
        explanation = f"launcher {launcher.path} ({launcher.title}); programs: {programs}"
        return Rewritten(words, explanation, [_own_name(program) for program in found])
    if any(parse.is_shim(word) for word in command):
        return Rewritten(_at_markers(command, shim), f"started by {command[0]}; programs: as marked")
    if detect.is_foreign_launcher(command[0]):
        raise UsageError(f"unisono run does not know the options of {command[0]}.\n{parse.HINT}")
    return Rewritten(before_program(shim, command), f"no launcher; program: {command[0]}")


def before_program(shim: Shim, program: list[str]) -> list[str]:
    """The shim and the program. Where the user wrote the shim already, its own settings are kept, last."""
    if not parse.is_shim(program[0]):
        return [*shim.words(), "--", *program]
    return _for_marker(shim, program[1:]) + program[1:]


def _at_markers(command: list[str], shim: Shim) -> list[str]:
    words: list[str] = []
    for position, word in enumerate(command):
        words += _for_marker(shim, command[position + 1 :]) if parse.is_shim(word) else [word]
    return words


def _for_marker(shim: Shim, following: list[str]) -> list[str]:
    """What stands in the place of the user's own mark."""
    if following in ([], ["--"]):
        raise UsageError(f"no program follows {SHIM} in the command.")
    return shim.words() if following[0].startswith("-") else [*shim.words(), "--"]


def _own_name(program: list[str]) -> str:
    """The program's name behind the user's own mark."""
    is_marked = parse.is_shim(program[0]) and len(program) > 1
    return program[1] if is_marked else program[0]


def _as_found(flavour: Flavour, section: parse.Section) -> list[str]:
    """The program's command, named such that the shim finds it where the launcher would have: in the
    launcher's own search path, or in the working directory."""
    name = section.program[0]
    if "/" in name or parse.is_shim(name):
        return section.program
    searched = section.values.get(flavour.path_option, "") if flavour.path_option else ""
    if searched:
        found = shutil.which(name, path=searched)
        if found:
            return [str(Path(found).absolute()), *section.program[1:]]
    if flavour.looks_in_directory and not shutil.which(name):
        given = (section.values.get(option) for option in flavour.directory_options)
        directory = Path(next((value for value in given if value), "."))
        candidate = directory / name
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return [f"./{name}", *section.program[1:]]
    return section.program
