# SPDX-License-Identifier: BSD-3-Clause
"""Commands that pages show without running them: each is one that the command line takes, with options and words that it knows.
(Those in blocks that are marked `run` are run by tests/integration/test_pages.py.)"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from conftest import ROOT, needs_build
from markdown_it import MarkdownIt
from unisono.commands.group import cli
from unisono.commands.run import RunCommand
from unisono.common.errors import UnisonoError

pytestmark = needs_build

PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")])
SHELLS = {"", "sh", "bash", "console"}
ASSIGNMENT = re.compile(r"[A-Z_]+=\S*")
PLACEHOLDER = re.compile(r"\.\.\.|…|\b[A-Z]{3,}\b|[\[\]<>]")


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """The lines, with their numbers, of the blocks that look like a shell's and are not run."""
    for token in MarkdownIt().parse(text):
        if token.type not in ("fence", "code_block") or not token.map:
            continue
        words = token.info.split()
        if (words[:1] or [""])[0] not in SHELLS or "run" in words or any("=" in word for word in words):
            continue
        whole = token.content.replace("\\\n", "\\ ")
        yield from enumerate(whole.splitlines(), token.map[0] + 2)


def in_sentences(text: str) -> Iterator[tuple[int, str]]:
    for token in MarkdownIt().enable("table").parse(text):
        for child in token.children or []:
            if child.type == "code_inline" and child.content.startswith(("unisono ", "make ")):
                yield (token.map[0] + 1 if token.map else 0), child.content


def commands_of(line: str) -> Iterator[list[str]]:
    """`FOO=1 ~/bin/unisono info && make test  # all` has two."""
    line = re.sub(r"\s>\s*\S+", "", line.removeprefix("$ ").replace("\\ ", " "))
    line = re.sub(r"\$\([^()]*\)", "inserted", line)
    try:
        reader = shlex.shlex(line, posix=True, punctuation_chars=";&|")
        reader.whitespace_split = True
        words = list(reader)
    except ValueError:  # no command, but text
        return
    command: list[str] = []
    for word in [*words, ";"]:
        if re.fullmatch(r"[;&|]+", word):
            if command and Path(command[0]).name in ("unisono", "make"):
                yield [Path(command[0]).name, *command[1:]]
            command = []
        elif command or not (ASSIGNMENT.fullmatch(word) or word == "exec"):
            command.append(word)


def shown(page: str) -> list[tuple[int, list[str]]]:
    found = [(n, words) for n, text in blocks(page) if "[OPTIONS]" not in text for words in commands_of(text)]
    for line, text in in_sentences(page):
        if not PLACEHOLDER.search(text):
            found += [(line, words) for words in commands_of(text)]
    return found


def complaint(words: list[str]) -> str | None:
    """What is wrong with the command; files that it names need not be there."""
    if words[0] == "make":
        targets = [word for word in words[1:] if "=" not in word and not word.startswith("-")]
        makefile = (ROOT / "Makefile").read_text()
        unknown = [target for target in targets if not re.search(rf"^{target}:", makefile, re.MULTILINE)]
        return f"there is no target {unknown[0]}" if unknown else None
    try:
        _parse(cli, "unisono", [word for word in words[1:] if word != "..."])
    except click.exceptions.Exit:
        return None
    except (click.UsageError, UnisonoError) as error:
        text = error.format_message() if isinstance(error, click.UsageError) else str(error)
        # A sentence may name a command, or an option, alone.
        is_fine = re.search(
            r"does not exist|No such file|cannot read|Missing argument|requires an argument", text
        )
        return None if is_fine else text
    return None


def _parse(command: click.Command, name: str, words: list[str], parent: click.Context | None = None) -> None:
    if isinstance(command, click.Group) and not words:
        return
    if isinstance(command, click.Group | RunCommand):  # `run` itself would become the compiled command
        context = click.Context(command, info_name=name, parent=parent, **command.context_settings)
        rest = click.Command.parse_args(command, context, words)
        if isinstance(command, click.Group) and rest:
            found, chosen, rest = command.resolve_command(context, rest)
            assert chosen is not None and found is not None
            _parse(chosen, found, rest, context)
    else:
        command.make_context(name, words, parent)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_that_are_shown_are_understood(
    page: Path, built: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("UNISONO_HOME", built["UNISONO_HOME"])
    wrong = [
        f"{page}:{line}: {shlex.join(words)}: {problem}"
        for line, words in shown(page.read_text())
        if (problem := complaint(words))
    ]
    assert not wrong, "\n".join(wrong)


def test_commands_are_found() -> None:
    text = "\n".join(page.read_text() for page in PAGES)
    names = {words[1] for _, words in shown(text) if words[0] == "unisono" and len(words) > 1}
    assert len(names) > 12 and len(shown(text)) > 150


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("```sh\nunisono rnu mpirun\n```", "did you mean `unisono run`?"),
        ("```\nX=1 ~/bin/unisono run --lern off mpirun\n```", "--lern"),
        ("```console\n$ cd x && unisono run --learn \\\n  atuo mpirun\n```", "atuo"),
        ("Say `unisono table shwo t.json` there.", "did you mean `unisono table show`?"),
        ("| a |\n| --- |\n| `unisono report --jsno r.json` |", "--jsno"),
        ("    make tset    # all\n", "there is no target tset"),
    ],
)
def test_mistakes_are_found(
    text: str, says: str, built: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNISONO_HOME", built["UNISONO_HOME"])
    (found,) = [problem for _, words in shown(text) if (problem := complaint(words))]
    assert says in found
