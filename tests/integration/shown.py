# SPDX-License-Identifier: BSD-3-Clause
"""Commands that pages show in blocks that are not marked `run`, and in sentences: which they are, and what makes them short.

They run on stand-ins: `fixtures_of_pages/reader.sh` says for what."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pages
from markdown_it import MarkdownIt
from mpis import ROOT

PAGES = sorted(
    [
        *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "examples/README.md")),
        *ROOT.glob("docs/**/*.md"),
    ]
)
SHELLS = {"", "sh", "bash", "console"}
# What a command of a page may begin with: without its folders.
PROGRAMS = re.compile(
    r"unisono|unisono-exec|make|mpi(?:run|exec|cc|cxx|f90)|srun|module|pip|python3?|cmake|apt|dnf|zypper|spack|apptainer|docker"
    r"|cluster\.sh|sysctl|export|\w+\.py|executor_overhead|matching_engines|scale|agent_ring|idle_rings"
)
ASSIGNMENT = re.compile(r"[A-Z_]+=\S*")
PLACEHOLDER = re.compile(r"\.\.\.|…|\b[A-Z]{3,}\b(?!=)|[\[\]<>]")
IN_SENTENCES = re.compile(rf"(?:[A-Z_]+=\S* )*(?:\S*/)?(?:{PROGRAMS.pattern}) ")


@dataclass(frozen=True)
class Block:
    """Commands that stand together on a page: a block's, or one of a sentence. A `script` is a file of its own."""

    page: Path
    line: int
    commands: tuple[str, ...]
    is_script: bool = False

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def program(command: str) -> str:
    """The name of what a line starts; nothing where it is no command."""
    if command.startswith("$(") or "[OPTIONS]" in command:
        return ""
    words = [word for word in command.split() if not ASSIGNMENT.fullmatch(word) and word != "exec"]
    name = words[0].rpartition("/")[2] if words else ""
    return name if PROGRAMS.fullmatch(name) else ""


def plain(command: str) -> str:
    """The command without its comment, and with single spaces outside of quotes."""
    command = re.sub(r"(^|\s+)#\s.*$", "", command)
    return command if "\n" in command or "'" in command else re.sub(r"\s+", " ", command).strip()


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Whole commands: a backslash or an open quote at the end of a line goes on in the next one."""
    held, first = "", 0
    for number, line in enumerate(text.splitlines()):
        first = first if held else number
        held += line
        if held.endswith("\\"):
            held = held[:-1]
        elif held.count("'") % 2 and program(held):
            held += "\n"
        else:
            yield first, held
            held = ""


def in_blocks(text: str) -> Iterator[tuple[int, tuple[str, ...], bool]]:
    for token in pages.tokens(text):
        if token.type not in ("fence", "code_block") or not token.map:
            continue
        words = token.info.split()
        if (words[:1] or [""])[0] not in SHELLS or "run" in words or any("=" in word for word in words):
            continue
        if token.content.startswith("#!"):
            yield token.map[0] + 1, (token.content,), True
            continue
        is_session = re.search(r"^\$ ", token.content, re.MULTILINE) is not None
        found = [
            plain(line.removeprefix("$ "))
            for _, line in _lines(token.content)
            if not is_session or line.startswith("$ ")
        ]
        is_shell = token.type == "fence" and words[:1] != []
        if commands := tuple(command for command in found if (is_shell and command) or program(command)):
            yield token.map[0] + 1, commands, False


def in_sentences(text: str) -> Iterator[tuple[int, str]]:
    for token in MarkdownIt().enable("table").parse(text):
        for child in token.children or []:
            if child.type == "code_inline" and IN_SENTENCES.match(child.content):
                yield (token.map[0] + 1 if token.map else 0), child.content


def blocks_of(page: Path, text: str) -> list[Block]:
    """A page's commands, as they come; forms with placeholders (FILE, ...) are none."""
    found = [Block(page, line, commands, is_script) for line, commands, is_script in in_blocks(text)]
    for line, command in in_sentences(text):
        if not PLACEHOLDER.search(command):
            found.append(Block(page, line, (plain(command),)))
    return sorted(found, key=lambda block: block.line)


def in_run_blocks() -> set[str]:
    """What blocks that are marked `run` run already."""
    there: set[str] = set()
    for path in PAGES:
        for command in pages.read(path).commands:
            there.update(plain(line) for _, line in _lines(command.text))
    return there


def shown() -> list[Block]:
    """What all pages show and no marked block runs, each command once."""
    seen = in_run_blocks()
    found = []
    for page in PAGES:
        for block in blocks_of(page, page.read_text(encoding="utf-8")):
            commands = tuple(command for command in block.commands if command not in seen)
            seen.update(commands)
            if commands:
                found.append(Block(block.page, block.line, commands, block.is_script))
    return found


# What takes long is made short: the command's first words; options that hold where the page gives none, and options that hold
# whatever the page gives, since they come last.
SHORT = {
    "unisono tune": ("--operation barrier", "--budget 2s"),
    "unisono bench": ("--operation bcast --size 8", "--seconds 0.01 --samples 2"),
    "unisono machine measure": ("", "--budget 2s"),
    "unisono topology measure": ("", "--seconds 0.05"),
    "unisono check": ("--ranks 1-2", ""),
    "unisono predict": ("", "--time 0.1 --steps 10000"),
    "unisono graph": ("--size 8", "--steps 1000"),
    "build/release/benchmarks/executor_overhead": ("", "--benchmark_min_time=0.001"),
    "build/release/benchmarks/scale": ("", "--ranks 1000"),
    "build/release/benchmarks/agent_ring": ("", "--calls 100 --windows 2"),
    "build/release/benchmarks/idle_rings": ("", "--looks 100 --windows 2"),
    "build/release/benchmarks/matching_engines": ("", "--depth 4 --ms 0.001 --batches 1"),
}
# The same of programs that a launcher starts: their options come last.
SHORT_PROGRAMS = {
    "./nbody": "--steps 40",
    "heat.py": "--cells 22 --steps 8 --time-step 0.05",
    "./matmul": "--size 50 --repeat 1",
    "./spmm": "--repeat 1",
    "./stencil": "--steps 3",
    "traversal.py": "--lattice 6",
    "halo.py": "--cells 4 --steps 5",
    "benchmarks/agent_deaths.py": "--agents 1 --hosts 1",
    "benchmarks/agents.py": "--rounds 1 --calls 10 --idle 0.2",
    "benchmarks/blocking_agents.py": "--rounds 1 --calls 20",
    "benchmarks/match_figures.py": "--steps 1 --only 5.5",
    "benchmarks/neighbor_groups.py": "moore:2,1",
    "benchmarks/queue_depths.py": "--only reverse --ranks 2",
    "benchmarks/neighbor_model.py": "'--random 124,0.78 --layout 4x31'",
    "benchmarks/neighbors.py": "--size 8 --seconds 0.05 --samples 3",
}
# What a command needs that the reader's folder has as a function: a word of it, and that.
NEEDS = {
    "srun": "use_mpi mpich",
    "mpif90": "use_mpi openmpi4",
    "pip": "use_wheels",
    "topology measure": "use_cluster",
    r"--try all|examples/|\./(?:matmul|nbody|spmm)": "export READER_RANKS=4",
}
# What stands for what a machine has that a test has not.
STANDS_FOR = {
    "/opt/unisono": '"$READER"/opt/unisono',
    "/path/libunisono.so": '"$READER"/opt/unisono/lib/unisono/libunisono.so',
    "/tmp/mine": '"$PWD"/mine',
}


def short(command: str) -> str:
    """The command as it is run: long measurements shortened, folders of a site in a folder of the test."""
    for name, stand_in in STANDS_FOR.items():
        command = command.replace(name, stand_in)
    parts = [command] if "\n" in command else re.split(r"(\s*(?:;|&&)\s+)", command)
    return "".join(map(_short, parts))


def _short(command: str) -> str:
    for words, (before, after) in SHORT.items():
        if match := re.match(rf"(?:\S*/)?{words}(?!\w*=)", command):
            rest, launcher = re.fullmatch(
                r"(.*?)((?: -- .*| > .*)?)", command[match.end() :], re.DOTALL
            ).groups()
            return " ".join([match[0], before, rest.strip(), after]) + launcher
    for name, options in SHORT_PROGRAMS.items():
        if re.search(rf"[ /]{re.escape(name)}(?: |$)", command):
            return f"{command} {options}"
    return command


def as_command(block: Block) -> pages.Command:
    """The block in a shell of its own: what it exports, loads and enters ends with it."""
    needed = [
        need
        for word, need in NEEDS.items()
        if any(re.search(rf"(?<!\w){word}(?!\w)", c) for c in block.commands)
    ]
    lines = ["set -e", *needed, *map(short, block.commands)]
    if block.is_script:
        lines[-1] = f"cat > job.sh <<'END_OF_JOB'\n{lines[-1]}END_OF_JOB\nbash -e job.sh"
    return pages.Command(block.line, "(\n" + "\n".join(lines) + "\n)")


def session(path: Path, blocks: list[Block], reader: Path) -> pages.Page:
    """A page that runs the blocks in a copy of the folder `reader`."""
    begin = f"export READER={shlex.quote(str(reader))} && cp -a $READER/work/. . && . $READER/settings.sh"
    return pages.Page(path, [], [pages.Command(0, begin), *map(as_command, blocks)])
