# SPDX-License-Identifier: BSD-3-Clause
"""Options that take lists: what is given several times adds up, in commands and in benchmarks."""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import click
import pytest
from unisono.commands.bench import command as bench_command
from unisono.commands.group import cli
from unisono.commands.predict import command as predict_command
from unisono.commands.tune import command as tune_command

ROOT = Path(__file__).resolve().parents[2]


def module(file: str) -> ModuleType:
    """A script, which is not run."""
    path = ROOT / file
    spec = importlib.util.spec_from_file_location(f"script_{path.stem}", path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    sys.path[:0] = [str(path.parent), str(ROOT / "benchmarks"), str(ROOT / "tests/integration")]
    try:
        sys.modules[spec.name] = made  # where dataclasses look
        spec.loader.exec_module(made)
    finally:
        sys.path[:] = before
    return made


@pytest.mark.parametrize(
    ("command", "words", "name", "wanted"),
    [
        (tune_command, ["--size", "8,64", "--size", "4K"], "sizes", "8,64,4K"),
        (tune_command, ["--operation", "bcast", "--operation", "scan"], "operations", "bcast,scan"),
        (tune_command, ["--comm", "node", "--comm", "leaders"], "comms", ["node", "leaders"]),
        (bench_command, ["--size", "8", "--size", "64"], "sizes", "8,64"),
        (bench_command, ["--try", "ring", "--try", "chain(segment=64K)"], "tried", "ring,chain(segment=64K)"),
        (
            bench_command,
            ["--algorithm", "bcast:ring", "--algorithm", "scan:chain"],
            "algorithm",
            "bcast:ring,scan:chain",
        ),
        (predict_command, ["--algorithms", "ring", "--algorithms", "native"], "algorithms", "ring,native"),
        (predict_command, [], "sizes", "8,1K,64K,1M"),
        (predict_command, [], "algorithms", None),
    ],
)
def test_lists_of_commands_add_up(command: click.Command, words: list[str], name: str, wanted: object):
    given = [*words, "mpirun"] if command is not predict_command else ["bcast", *words]
    assert command.make_context("x", given).params[name] == wanted


def test_no_option_that_takes_a_list_keeps_the_last_alone():
    """What says of itself that it takes several, by commas, adds up."""
    for name in cli.list_commands(click.Context(cli)):
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        for param in command.params:
            says = isinstance(param, click.Option) and "separated by commas" in (param.help or "")
            # Those of `run` are the library's: the compiled command adds up what stands there several times.
            adds_up = type(param).__name__ == "ListOption" or (name == "run" and param.multiple)
            assert not says or adds_up, f"{name} {param.opts}"


def test_lists_of_benchmarks_add_up():
    figures = module("benchmarks/figures.py")
    parser = argparse.ArgumentParser()
    known = figures.EVERY_MPI
    lists = module("tests/integration/lists.py")
    parser.add_argument("--mpi", action=lists.AddUp, type=lambda v: figures.named(v, known), default=known)
    parser.add_argument("--only", action=lists.AddUp, default="all")
    parsed = parser.parse_args(
        ["--mpi", "openmpi5", "--mpi", "mpich5,openmpi5", "--only", "a", "--only", "b"]
    )
    assert (parsed.mpi, parsed.only) == (["openmpi5", "mpich5"], "a,b")
    parsed = parser.parse_args([])
    assert (parsed.mpi, parsed.only) == (known, "all")
    assert parser.parse_args(["--mpi", known[0]]).mpi == known[:1]


def test_every_list_of_benchmarks_adds_up():
    """Each has commas in what it takes, and the action that adds up."""
    found = 0
    for file in [*(ROOT / "benchmarks").glob("*.py"), ROOT / "tests/conformance/run.py"]:
        for call in file.read_text().split("add_argument(")[1:]:
            words = " ".join(call.split(")\n")[0].split())
            has_list = any(
                mark in words for mark in ("named(", "names,", "numbers,", '",".join', "byte_counts")
            )
            found += has_list
            adds_up = "action=AddUp" in words or 'action="append"' in words
            assert not has_list or adds_up, f"{file.name}: {words}"
    assert found >= 8


def test_the_best_is_named():
    figures = module("benchmarks/figures.py")

    class Cell:
        def __init__(self, mpi: str) -> None:
            self.mpi = mpi

    assert figures.best_of([Cell("openmpi5")]) == "native openmpi5"
    assert figures.best_of([Cell("openmpi5"), Cell("mpich5")]) == "the best of openmpi5, mpich5"
    assert figures.best_of([Cell(name) for name in figures.EVERY_MPI]) == "the best MPI"
