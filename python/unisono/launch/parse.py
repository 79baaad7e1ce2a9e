# SPDX-License-Identifier: BSD-3-Clause
"""Finds the programs in a launcher's command line."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePath
from typing import NamedTuple

from unisono.common.errors import UsageError
from unisono.common.places import SHIM
from unisono.launch.flavours import MAYBE, PAIR, Flavour

SEPARATOR = ":"  # between the sections of a job with several programs (MPMD)

HINT = f"Write `{SHIM}` before each program in the command to say where they are."


class Section(NamedTuple):
    """One program of a job: the launcher's options for it, and its own command."""

    options: list[str]
    program: list[str]
    # The values of single options that matter later, by the option's name without dashes.
    values: Mapping[str, str]


def parse_sections(flavour: Flavour, words: list[str]) -> list[Section]:
    """The sections of the words behind the launcher's name."""
    sections = []
    for number, part in enumerate(_split(_with_section_files(flavour, words)), start=1):
        section = parse_section(flavour, part)
        if not section.program:
            where = f"section {number} of the command" if number > 1 else "the command"
            raise UsageError(f"found no program in {where}: {' '.join(part) or '(empty)'}\n{HINT}")
        sections.append(section)
    return sections


def parse_section(flavour: Flavour, words: list[str]) -> Section:
    """Splits one section into the launcher's options and the program."""
    values: dict[str, str] = {}
    position = 0
    for option, start in _options(flavour, words):
        if option.name in flavour.refused:
            raise UsageError(
                f"unisono run cannot work with {words[start].partition('=')[0]} of {flavour.title}: "
                f"{flavour.refused[option.name]}."
            )
        if option.value:
            values[option.name] = option.value
        position = start + 1 + option.followers
    if words[position : position + 1] == ["--"]:
        position += 1
    marker = next((index for index, word in enumerate(words) if is_shim(word)), None)
    if marker is not None:
        position = marker
    return Section(words[:position], words[position:], values)


def is_shim(word: str) -> bool:
    """The user's own mark for 'the program follows'."""
    return PurePath(word).name == SHIM


def looks_like_program(word: str) -> bool:
    path = Path(word)
    if "/" in word or not shutil.which(word):
        return path.is_file() and os.access(path, os.X_OK)
    return True


class Option(NamedTuple):
    """One option of the launcher as it stands in a command."""

    name: str  # without dashes
    value: str  # its (first) value, empty if it has none
    followers: int  # how many of the words behind it belong to it


def _options(flavour: Flavour, words: list[str]) -> Iterator[tuple[Option, int]]:
    """The options at the beginning of a section, each with the position of its first word."""
    position = 0
    while position < len(words) and words[position].startswith("-") and words[position] not in ("-", "--"):
        word, following = words[position], words[position + 1 :]
        if not flavour.is_getopt:
            option = _dashed_option(flavour, word, following)
        elif word.startswith("--"):
            option = _getopt_name(flavour, word, following)
        else:
            option = _getopt_letters(flavour, word, following)
        yield option, position
        position += 1 + option.followers


def _dashed_option(flavour: Flavour, word: str, following: list[str]) -> Option:
    """-name, --name, -name=value."""
    name, equals, value = word.lstrip("-").partition("=")
    if name not in flavour.arities and not word.startswith("--"):
        if name[:1] in flavour.glued:
            return Option(name[:1], word[2:], 0)
        if all(flavour.arities.get(letter) == 0 for letter in name):
            return Option(name, "", 0)
    if equals:
        return Option(name, value, 0)
    return _with_followers(name, flavour.arities.get(name), following)


def _getopt_name(flavour: Flavour, word: str, following: list[str]) -> Option:
    """--name, --name=value; a name may be cut short where it stays unique."""
    name, equals, value = word[2:].partition("=")
    if name not in flavour.arities:
        longer = [known for known in flavour.arities if len(known) > 1 and known.startswith(name)]
        if len(longer) == 1:
            name = longer[0]
    return Option(name, value, 0) if equals else _with_followers(name, flavour.arities.get(name), following)


def _getopt_letters(flavour: Flavour, word: str, following: list[str]) -> Option:
    """-abc: the first letter that takes a value has the rest of the word, or the next word."""
    index = 1
    while flavour.arities.get(word[index]) == 0 and word[index + 1 : index + 2] in flavour.arities:
        index += 1
    letter, rest = word[index], word[index + 1 :]
    # A rest that begins with no option is a value that may be left out: -K0, -I30.
    return (
        Option(letter, rest, 0) if rest else _with_followers(letter, flavour.arities.get(letter), following)
    )


def _with_followers(name: str, arity: int | None, following: list[str]) -> Option:
    if arity is None:
        return Option(name, "", _guess_count(following))
    if arity == MAYBE:
        arity = min(1, _guess_count(following))
    elif arity == PAIR:
        arity = 1 if following and "=" in following[0] else 2
    return Option(name, following[0] if arity and following else "", arity)


def _guess_count(following: list[str]) -> int:
    """For an option that is not known: all words up to the next option or the first that can be started."""
    for count, word in enumerate(following):
        if word.startswith("-") or word == SEPARATOR or looks_like_program(word) or is_shim(word):
            return count
    return len(following)


def _split(words: list[str]) -> list[list[str]]:
    parts: list[list[str]] = [[]]
    for word in words:
        if word == SEPARATOR:
            parts.append([])
        else:
            parts[-1].append(word)
    return parts


def _with_section_files(flavour: Flavour, words: list[str]) -> list[str]:
    """The command with `--app FILE`, `-configfile FILE` replaced by the sections that stand in FILE. To the
    launchers both say the same."""
    for option, start in _options(flavour, words):
        if option.name in flavour.section_files:
            rest = words[:start] + words[start + 1 + option.followers :]
            if parse_section(flavour, rest).program:
                raise UsageError(
                    f"{words[start]} and a program are both given; {flavour.title} would heed only one."
                )
            return rest + _file_sections(option.value, words[start])
    return words


def _read(file_name: str) -> str:
    from unisono.common import files  # here, since most runs do without

    return files.read_bytes(Path(file_name), most=1 << 20).decode()


def _file_sections(file_name: str, option: str) -> list[str]:
    try:
        lines = _read(file_name).splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read the file of {option}, {file_name!r}: {error}") from error
    words: list[str] = []
    for line in lines:
        line_words = line.partition("#")[0].split()
        if not line_words:
            continue
        if any(sign in line for sign in "\"'\\"):
            raise UsageError(
                f"{file_name}: launchers disagree on quotes and backslashes in this file: {line.strip()}\n"
                "Write its sections on the command line instead, separated by ':'."
            )
        if words:
            words.append(SEPARATOR)
        words += line_words
    if not words:
        raise UsageError(f"the file of {option}, {file_name!r}, names no program.")
    return words
