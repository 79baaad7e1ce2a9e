# SPDX-License-Identifier: BSD-3-Clause
"""Commands that pages show in blocks that are not marked `run`, and in sentences: they run here, made short and on stand-ins.

Those that cannot stand in NOT_RUN with the reason. All are ones that the command line takes, with options and words that it knows.
(Blocks that are marked `run` are run by test_pages.py, as they stand.)"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import harness
import job
import mpis
import pages
import pytest
import shown
import test_benchmarks
from mpis import ROOT
from shown import Block
from unisono.commands.group import cli
from unisono.commands.run import RunCommand
from unisono.common.errors import UnisonoError

# Why a command does not run in a test; each is one that a page shows. What a test beside this one runs is named.
NOT_RUN = {
    ".ci/run, and who works on the project, run it: it builds, or runs all these tests": (
        "make build",
        "make setup",
        "make test",
        "make lint",
        "make unit",
        'make integration PYTEST="-k openmpi5 -x"',
        "make integration PYTEST=--every-turn",
    ),
    "test_demo.py runs its parts": ("make demo",),
    "test_site.py builds the site": ("make site",),
    "tests/cli/test_docs.py and test_man.py make the same, and compare; the source tree is not written to by a test": (
        "make docs",
        "make format",
        "make man",
        "make page-images",
    ),
    "it takes minutes to hours; what it starts is tested by test_benchmarks.py": (
        "make figures",
        "make repository",
    ),
    "it takes six minutes; make test makes fewer of such calls": ("make random-calls",),
    "it takes an hour; what it starts is tested by test_simgrid.py": (
        "make simulate",
        'make simulate SIMULATE="--platforms fat-tree --ranks 1024 --operations barrier,allreduce,bcast --sizes 8 --selectors ompi,mpich"',
    ),
    "it takes minutes to hours; what it starts is tested by test_suites.py": (
        "make conformance",
        "make conformance CONFORMANCE=--help",
        'make conformance CONFORMANCE="--suite mpi4py --mpi openmpi5 --ranks 2,4 --again"',
        'make conformance CONFORMANCE="--suite mpi4py --mpi intel --ranks 2,4"',
        "test/main.py -v",
    ),
    "it builds all once more, with other compilers or for users": (
        "make fuzz",
        "make sanitize",
        "make aarch64",
        "make wheel",
        "make wheel-aarch64",
        "make deb",
        "make rpm",
        "make check-packages",
    ),
    "make check-packages compiles the source archive so: ten minutes, and the network": (
        "pip install unisono-0.1.0.tar.gz -C cmake.define.UNISONO_OPENMPI_INCLUDE=/opt/openmpi/include"
        " -C cmake.define.UNISONO_MPICH_INCLUDE=/opt/mpich/include",
        "pip download --dest parts scikit-build-core pip click rich ninja cmake -r requirements/headers.txt"
        " -r requirements/mpi-openmpi.txt -r requirements/mpi-mpich.txt",
        "export PIP_NO_INDEX=1 PIP_FIND_LINKS=$PWD/parts",
        "pip install unisono-0.1.0.tar.gz",
    ),
    "it changes the machine; make check-packages does so to a Debian of its own": (
        "apt install ./unisono_*_amd64.deb",
        "apt purge unisono",
        "dnf install ./unisono-*.x86_64.rpm",
        "dnf remove unisono",
        "zypper install --allow-unsigned-rpm",
        "sysctl kernel.sched_autogroup_enabled=0",
    ),
    "neither Debian nor the Python package registry has this tool": (
        "spack repo add packaging/spack",
        "spack install unisono",
        "apptainer build unisono.sif packaging/apptainer/unisono.def",
        "docker run --shm-size 1g",
    ),
    "tests/cli/test_adding_an_algorithm.py builds a tool with that algorithm, and asks it the same": (
        "cmake --build build/release --target unisono-tool",
        ".venv/bin/unisono list --operation barrier",
        ".venv/bin/unisono check --operation barrier --algorithm double_ring",
        "unisono show barrier --algorithm double_ring --ranks 4",
    ),
    "no library is built with that algorithm": (
        "unisono bench --operation barrier --try double_ring -- mpirun -n 4",
    ),
    "it needs a GPU, and tests have none": (
        "make check-device",
        "benchmarks/device_memory.py --rounds 2",
    ),
    "PETSc, which its program solves with, is no requirement of the tests": (
        ".venv/bin/python benchmarks/pipelined_solvers.py",
        ".venv/bin/python benchmarks/pipelined_solvers.py --layout 4x1 --points 30",
    ),
    "test_pages.py does so": (".venv/bin/python tests/integration/pages.py --show docs/start.md",),
    "pyamg, which has that matrix, is no requirement of the tests": (
        "python3 -c 'from pyamg.gallery import load_example; from scipy.io import mmwrite\n"
        'mmwrite("airfoil.mtx", load_example("airfoil")["A"])\'',
    ),
    "its report is one of a program with neighbours; test_neighbors.py asks about that": (
        "unisono graph report.json",
    ),
    "files that a page makes in another block; test_pages.py runs that with others": (
        "unisono explain train.json allreduce 8K",
        "unisono table diff train.json all.json",
    ),
}
WITHOUT_TEST = {command for commands in NOT_RUN.values() for command in commands}
# Less is better: what is added to NOT_RUN needs a better reason than that it is easier.
MOST_WITHOUT_TEST = 59
# Names of commands and options, with less than what they need.
NAMES = {
    "cmake -DUNISONO_CLI_PYTHON=/opt/python/bin/python3",
    "mpirun --oversubscribe",
    "pip install --target",
    "unisono bench",
    "unisono bench --json",
    "unisono bench --try all --json",
    "unisono cache",
    "unisono completion",
    "unisono explain",
    "unisono graph",
    "unisono graph --json",
    "unisono match",
    "unisono match profile",
    "unisono match replay",
    "unisono match replay --profile",
    "unisono match report",
    "unisono machine",
    "unisono machine measure",
    "unisono machine show --json",
    "unisono predict",
    "unisono profile",
    "unisono report",
    "unisono report --html",
    "unisono run",
    "unisono run --algorithm",
    "unisono run --algorithm barrier:double_ring",
    "unisono run --report -",
    "unisono run --report report.json",
    "unisono run --topology",
    "unisono show",
    "unisono simulate",
    "unisono run --record-messages",
    "unisono table",
    "unisono table check",
    "unisono table diff",
    "unisono table merge",
    "unisono topology",
    "unisono tune",
    "unisono tune --prove",
}
SHOWN = shown.shown()
BENCHMARK = re.compile(r"benchmarks/(\w+)\.py ")  # test_benchmarks.py runs them
DEAR = re.compile(
    r"unisono (tune|bench|(machine|topology) measure)\b|cluster\.sh |profile_cost|recording_cost|executor_overhead|matching_engines"
    r"|benchmarks/neighbors|unisono graph --(random|moore)|unisono predict .*(x48|x40|--plot)|tree:4x8"
)
EXAMPLE = re.compile(r"(?:/| \./)(nbody|matmul|sort|spmm|stencil|traversal)\b")


def runnable(block: Block) -> Block | None:
    """What of a block this test runs."""
    left_out = WITHOUT_TEST | NAMES
    commands = tuple(c for c in block.commands if c not in left_out and not BENCHMARK.match(c))
    return Block(block.page, block.line, commands, block.is_script) if commands else None


def grouped() -> Iterator[tuple[str, list[Block]]]:
    """Blocks that run in one folder: dear ones apart from the others of their page; those of an example together."""
    groups: dict[str, list[Block]] = {}
    for block in filter(None, map(runnable, SHOWN)):
        name = str(block.page.relative_to(ROOT))
        text = "\n".join(block.commands)
        if re.search(r"\bpip\b", text):
            name = "pip"
        elif example := EXAMPLE.search(text if name == "examples/README.md" else ""):
            name = f"dear example {example[1]}"
        elif DEAR.search(text):
            name = f"dear {name}"
        groups.setdefault(name, []).append(block)
    yield from groups.items()


GROUPS = dict(grouped())
DEAR_GROUPS = [name for name in GROUPS if name.startswith("dear ") or name == "pip"]


@pytest.fixture(scope="session")
def reader(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Path:
    """The folder of fixtures_of_pages/reader.sh."""
    for name in ("openmpi4", "openmpi5", "mpich5", "intel"):
        harness.installed(mpis.BY_NAME[name], pytestconfig)
    folder = tmp_path_factory.mktemp("reader")
    environment = {**pages.environment(folder), "READER": str(folder / "made")}
    job.run(["bash", pages.FIXTURES / "reader.sh"], environment, 120, folder).check()
    return folder / "made"


def run(blocks: Sequence[Block], reader: Path, folder: Path) -> None:
    page = shown.session(blocks[0].page, list(blocks), reader)
    wrong = [text for outcome in pages.run(page, folder / "page") if (text := pages.complaint(page, outcome))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.in_turns(5)
@pytest.mark.parametrize("name", [name for name in GROUPS if name not in DEAR_GROUPS])
def test_commands_run(name: str, reader: Path, tmp_path: Path) -> None:
    run(GROUPS[name], reader, tmp_path)


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("name", DEAR_GROUPS)
def test_dear_commands_run(name: str, reader: Path, tmp_path: Path) -> None:
    if re.search("cluster.sh|topology measure", str(GROUPS[name])) and os.geteuid() != 0:
        pytest.skip("an emulated cluster needs root")
    run(GROUPS[name], reader, tmp_path)


# --- Which are not run ---


def test_what_is_not_run_is_on_pages() -> None:
    on_pages = {command for block in SHOWN for command in block.commands}
    assert sorted(WITHOUT_TEST - on_pages) == [], (
        "no page shows these, or a block that is marked `run` has them"
    )
    assert sorted(NAMES - on_pages) == []


def test_benchmarks_run() -> None:
    there = {c for block in SHOWN for c in block.commands if BENCHMARK.match(c)} - WITHOUT_TEST
    run = {*test_benchmarks.ALONE, *test_benchmarks.CLUSTER, *test_benchmarks.IN_TURNS}
    assert sorted(BENCHMARK.sub(r"\1 ", command) for command in there) == sorted(
        name for name in run if " " in name
    )


def test_what_is_not_run_does_not_grow() -> None:
    assert len(WITHOUT_TEST) <= MOST_WITHOUT_TEST


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


def words_of(line: str) -> Iterator[list[str]]:
    """`FOO=1 ~/bin/unisono info && make test` has two commands that can be checked."""
    line = re.sub(r"\s>\s*\S+", "", line)
    line = re.sub(r"\$\([^()]*\)", "inserted", line)
    reader = shlex.shlex(line, posix=True, punctuation_chars=";&|")
    reader.whitespace_split = True
    command: list[str] = []
    for word in [*reader, ";"]:
        if re.fullmatch(r"[;&|]+", word):
            if command and Path(command[0]).name in ("unisono", "make"):
                yield [Path(command[0]).name, *command[1:]]
            command = []
        elif command or not (shown.ASSIGNMENT.fullmatch(word) or word == "exec"):
            command.append(word)


def wrong_in(page: Path, text: str) -> list[str]:
    return [
        f"{block}: {shlex.join(words)}: {problem}"
        for block in shown.blocks_of(page, text)
        for command in block.commands
        if not block.is_script
        for words in words_of(command)
        if (problem := complaint(words))
    ]


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UNISONO_HOME", str(harness.BUILD))


@pytest.mark.usefixtures("built")
def test_commands_that_are_shown_are_understood() -> None:
    wrong = [problem for page in shown.PAGES for problem in wrong_in(page, page.read_text(encoding="utf-8"))]
    assert not wrong, "\n".join(wrong)


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("```sh\nunisono rnu mpirun\n```", "did you mean `unisono run`?"),
        ("```\nX=1 ~/bin/unisono run --lern off mpirun\n```", "--lern"),
        ("```console\n$ unisono run --learn \\\n  atuo mpirun\n```", "atuo"),
        ("Say `unisono table shwo t.json` there.", "did you mean `unisono table show`?"),
        ("| a |\n| --- |\n| `unisono report --jsno r.json` |", "--jsno"),
        ("    make tset    # all\n", "there is no target tset"),
    ],
)
def test_mistakes_are_found(text: str, says: str) -> None:
    (found,) = wrong_in(ROOT / "page.md", text)
    assert says in found


def test_commands_are_found() -> None:
    commands = [command for block in SHOWN for command in block.commands]
    assert len({words[1] for c in commands for words in words_of(c) if words[0] == "unisono"}) > 12
    assert sum(len(block.commands) for blocks in GROUPS.values() for block in blocks) > 130


@pytest.mark.parametrize(
    ("text", "commands"),
    [
        ("```sh run\nunisono list\n```", []),
        ("```text\nunisono list\n```", []),
        ("    unisono run mpirun ./p   # as it is\n    {json}\n", ["unisono run mpirun ./p"]),
        ("    $ X=1 mpirun -n 2 ./p\n    make: printed\n", ["X=1 mpirun -n 2 ./p"]),
        ("```sh\npip install a \\\n  b\ncd x\n```", ["pip install a b", "cd x"]),
        ("Say `unisono run FILE`, or `module load unisono`.", ["module load unisono"]),
        ("    unisono run [OPTIONS] COMMAND\n", []),
    ],
)
def test_what_is_a_command(text: str, commands: list[str]) -> None:
    assert [c for block in shown.blocks_of(ROOT / "page.md", text) for c in block.commands] == commands


@pytest.mark.parametrize(
    ("command", "run"),
    [
        (
            "unisono tune --budget 20m -- mpirun -n 2",
            "unisono tune --operation barrier --budget 20m --budget 2s -- mpirun -n 2",
        ),
        ("unisono list", "unisono list"),
        (
            "unisono machine measure -- a; unisono predict bcast",
            "unisono machine measure --budget 2s -- a; unisono predict bcast --time 0.1 --steps 10000",
        ),
        ("mpirun -n 4 ./nbody --json a", "mpirun -n 4 ./nbody --json a --steps 40"),
        ("mpirun -x L=/opt/unisono/lib ./p", 'mpirun -x L="$READER"/opt/unisono/lib ./p'),
    ],
)
def test_what_is_long_is_made_short(command: str, run: str) -> None:
    assert re.sub(" +", " ", shown.short(command)) == run
