#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs the code blocks of pages that are marked `run`, and compares what they print with what the page shows.

    .venv/bin/python tests/integration/pages.py docs/start.md            says what differs
    .venv/bin/python tests/integration/pages.py --show docs/start.md     prints what each command has printed

docs/inside/testing.md says how such blocks are written.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path

import job
import mpis
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mpis import ROOT

BUILD = Path(os.environ.get("UNISONO_TEST_BUILD", ROOT / "build/release")).resolve()
FIXTURES = Path(__file__).resolve().parent / "fixtures_of_pages"
PAGE_SECONDS = 200.0
HIDDEN = re.compile(r"<!--\s*(run\b[^\n]*)\n?(.*?)-->", re.DOTALL)
SESSION_LANGUAGES = {"console"}
SCRIPT_LANGUAGES = {"bash", "sh"}
KNOWN_OPTIONS = {"file", "status", "fixture"}


class PageError(Exception):
    """A block that makes no sense."""


@dataclass(frozen=True)
class Command:
    """One command of a page, the output that is shown for it (None: none is), and the status that it ends with. Of a script the
    last line that fails gives the status."""

    line: int
    text: str
    shown: str | None = None
    status: int = 0
    is_script: bool = False


@dataclass
class Page:
    """What a page has to run. `fixtures` come first; `commands` follow in the page's order."""

    path: Path
    fixtures: list[str] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)


@dataclass(frozen=True)
class Outcome:
    """How a command ended. Neither output nor status where the page's commands did not get so far."""

    command: Command
    output: str
    status: int | None
    seconds: float = 0


# --- What a page has ---


def read(path: Path) -> Page:
    page = Page(path)
    for line, info, text in _blocks(path.read_text(encoding="utf-8")):
        words = shlex.split(info)
        if words[1:2] == ["output"]:
            if not page.commands:
                raise PageError(f"{path}:{line}: output before the first command")
            page.commands[-1] = replace(page.commands[-1], shown=text)
            continue
        if "run" not in words[:2] and not any(word.startswith("file=") for word in words[1:]):
            continue
        language = words[0] if words[0] != "run" else "console"
        options = _options(path, line, [word for word in words[1:] if word != "run"])
        if "fixture" in options:
            page.fixtures.append(options["fixture"])
        if "file" in options:
            page.commands.append(_writing(line, options["file"], text))
        elif language in SCRIPT_LANGUAGES:
            page.commands.append(Command(line, text, None, int(options.get("status", 0)), True))
        elif language in SESSION_LANGUAGES:
            page.commands += _session(path, line, text, int(options.get("status", 0)))
        else:
            raise PageError(
                f"{path}:{line}: a block of {language} needs file=NAME: it is written, not executed"
            )
    return page


@cache
def tokens(text: str) -> list[Token]:
    """A page's parts. Several tests look at each page, and parsing it takes a while."""
    return MarkdownIt().parse(text)


def _blocks(text: str) -> Iterator[tuple[int, str, str]]:
    """The page's code blocks: line, info string, text. A comment `<!-- run ... -->` is a block that readers do not see."""
    for token in tokens(text):
        line = token.map[0] + 1 if token.map else 0
        if token.type == "fence" and token.info.strip():
            yield line, token.info.strip(), token.content
        elif token.type == "html_block":
            for match in HIDDEN.finditer(token.content):
                yield line, match[1].strip(), match[2]


def _options(path: Path, line: int, words: list[str]) -> dict[str, str]:
    options = {}
    for word in words:
        name, equals, value = word.partition("=")
        if name not in KNOWN_OPTIONS or not equals:
            raise PageError(f"{path}:{line}: no such option of a block: {word}")
        options[name] = value
    return options


def _writing(line: int, name: str, text: str) -> Command:
    end = "END_OF_THE_BLOCK"
    return Command(
        line,
        f"mkdir -p {shlex.quote(str(Path(name).parent))} && cat > {shlex.quote(name)} <<'{end}'\n{text}{end}",
    )


def _session(path: Path, line: int, text: str, status: int) -> list[Command]:
    """Lines that begin with `$ ` are commands; after one that ends with a backslash its next line follows."""
    found: list[tuple[int, list[str], list[str]]] = []
    goes_on = False
    for number, content in enumerate(text.splitlines(), line + 1):
        if goes_on:
            found[-1][1].append(content.removeprefix("> "))
        elif content.startswith("$ "):
            found.append((number, [content[2:]], []))
        elif found:
            found[-1][2].append(content)
        elif content.strip():
            raise PageError(f"{path}:{number}: output before the first command")
        goes_on = (goes_on or content.startswith("$ ")) and content.endswith("\\")
    last = len(found) - 1
    return [
        Command(number, "\n".join(words), "\n".join(shown) if shown else None, status if i == last else 0)
        for i, (number, words, shown) in enumerate(found)
    ]


# --- Running it ---


def environment(scratch: Path) -> dict[str, str]:
    """Where `unisono`, and the mpirun and mpicc of Open MPI 5 are found; home, cache and options are nobody's."""
    mpi = mpis.BY_NAME["openmpi5"]
    kept = mpis.launcher_environment(mpi)
    for name in [name for name in kept if name.startswith("XDG_")] + ["COLUMNS"]:
        kept.pop(name, None)
    home = scratch / "home"
    home.mkdir(parents=True, exist_ok=True)
    places = [Path(sys.executable).parent, mpi.launcher.parent]
    return {
        **kept,
        "HOME": str(home),
        "PATH": ":".join([*map(str, places), kept["PATH"]]),
        "UNISONO_HOME": str(BUILD),
        "SOURCE_TREE": str(ROOT),
        "LC_ALL": "C.UTF-8",
        # More ranks than cores, by a root: what test machines are like.
        "PRTE_MCA_rmaps_default_mapping_policy": "slot:OVERSUBSCRIBE",
        "PRTE_MCA_hwloc_default_binding_policy": "none",
        "OMPI_MCA_mpi_yield_when_idle": "1",
        "OMPI_MCA_pml": "ob1",
        "OMPI_MCA_osc": "^ucx",
    }


_FAILING = "page_status=0; trap 'page_status=$?' ERR"
_FAILED = "trap - ERR; (exit $page_status)"


def script(commands: list[Command], record: Path) -> str:
    """One shell runs them all, so that `cd` and `export` last; each leaves its output and its status in `record`."""
    lines = []
    for number, command in enumerate(commands):
        lines.append("begin=$EPOCHREALTIME")
        text = f"{_FAILING}\n{command.text}\n{_FAILED}" if command.is_script else command.text
        lines.append(f"eval {shlex.quote(text)} >{record}/{number}.output 2>&1 </dev/null")
        lines.append(f'echo "$? $begin $EPOCHREALTIME" >{record}/{number}.status')
    return "\n".join(lines) + "\n"


def run(page: Page, scratch: Path) -> list[Outcome]:
    """Run a page in a folder of its own, `scratch`, which must be empty."""
    record, work = scratch / "record", scratch / "work"
    record.mkdir(parents=True)
    work.mkdir()
    commands = [_fixture(name) for name in page.fixtures] + page.commands
    lines = scratch / "commands.sh"
    lines.write_text(script(commands, record))
    result = job.run(["bash", lines], environment(scratch), PAGE_SECONDS, work)
    outcomes = []
    for number, command in enumerate(commands):
        output, status = record / f"{number}.output", record / f"{number}.status"
        text = output.read_text(errors="replace") if output.exists() else result.errors
        if status.exists():
            ended, begin, end = status.read_text().split()
            outcomes.append(Outcome(command, text, int(ended), float(end) - float(begin)))
        else:
            outcomes.append(Outcome(command, text, None))
    return outcomes


def _fixture(name: str) -> Command:
    path = FIXTURES / f"{name}.sh"
    if not path.is_file():
        there = ", ".join(sorted(file.stem for file in FIXTURES.glob("*.sh")))
        raise PageError(f"no fixture {name} in {FIXTURES}; there are: {there}")
    return Command(0, path.read_text(encoding="utf-8"))


# --- Comparing ---

UNITS = r"(?:ns|us|ms|s|min|h|B|KiB|MiB|GiB|TiB|kB|MB|GB|[KMG]iB/s|[KMG]?B/s|[KMG]bit/s|%)"
NUMBER = re.compile(rf"[~<]?(?<![\w.])[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?: ?{UNITS}(?![\w/]))?")


def normalised(line: str) -> str:
    """A line without what differs from run to run: numbers, with their units; widths of columns."""
    line = NUMBER.sub("#", line)
    line = re.sub(r"[─━═-]{3,}", "---", line)
    return re.sub(r"\s+", " ", line).strip()


def matches(shown: str, output: str) -> bool:
    """Whether output is what is shown; there `...` stands for any text of a line, alone on a line for any lines."""
    pattern = ""
    for line in shown.strip("\n").splitlines():
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            parts = [re.escape(part) for part in re.split(r"\s*\.\.\.\s*", normalised(line))]
            pattern += ".*".join(parts) + r"\n"
    text = "".join(f"{normalised(line)}\n" for line in output.strip("\n").splitlines())
    return re.fullmatch(pattern, text) is not None


def complaint(page: Page, outcome: Outcome) -> str | None:
    """What is wrong with a command's outcome, with all that a reader of the failure needs; None if nothing is."""
    command = outcome.command
    head = f"{page.path}:{command.line}: $ {command.text}\n"
    if outcome.status is None:
        return (
            f"{head}did not end within the page's {PAGE_SECONDS:.0f} s, or was never begun\n{outcome.output}"
        )
    if outcome.status != command.status:
        return f"{head}ended with status {outcome.status}, not {command.status}\n{outcome.output}"
    if command.shown is not None and not matches(command.shown, outcome.output):
        return f"{head}--- the page shows ---\n{command.shown}\n--- it printed ---\n{outcome.output}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--show", action="store_true", help="print the output of all commands")
    parser.add_argument("pages", nargs="+", type=Path, metavar="PAGE")
    arguments = parser.parse_args()
    status = 0
    for path in arguments.pages:
        scratch = Path(tempfile.mkdtemp(prefix="unisono-page-"))
        try:
            page = read(path)
            outcomes = run(page, scratch)
        except PageError as error:
            print(error, file=sys.stderr)
            status = 1
            continue
        finally:
            shutil.rmtree(scratch)
        if arguments.show:
            for outcome in outcomes:
                print(f"[{outcome.seconds:.1f} s] $ {outcome.command.text}\n{outcome.output}", end="")
        found = [text for outcome in outcomes if (text := complaint(page, outcome))]
        print(
            "\n".join(
                [
                    *found,
                    f"{path}: {len(outcomes)} commands, {len(found)} wrong, {sum(outcome.seconds for outcome in outcomes):.1f} s",
                ]
            )
        )
        status = status or bool(found)
    return status


if __name__ == "__main__":
    sys.exit(main())
