# SPDX-License-Identifier: BSD-3-Clause
"""Messages of libraries that a program loads when it runs, and of programs that load the MPI so."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from harness import Runner, compile_program
from mpis import Mpi

WAYS = {"local": [], "global": ["global"], "deep": ["deep"], "global_deep": ["global", "deep"]}
LAYOUTS = {"node": {}, "all": {"UNISONO_NODES": "1,1"}}


def plugin_of(mpi: Mpi) -> Path:
    flags = ["-DIS_PLUGIN", "-shared", "-fPIC"]
    return compile_program(mpi, "message_plugin.c", flags=flags, variant="library")


def mpi_of(mpi: Mpi, plugin: Path) -> str:
    """Return the MPI library that a plugin finds."""
    environment = {**mpi.environment, "PATH": "/usr/bin:/bin"}
    listed = subprocess.run(["ldd", plugin], env=environment, capture_output=True, text=True, check=True)
    found = re.search(r"libmpi(ch|_abi)?\.so\.\d+ => (\S+)", listed.stdout)
    assert found, listed.stdout
    return found[2]


def sent(report: Path) -> int:
    """Return how many messages Unisono has carried."""
    messages = json.loads(report.read_text())["messages"] if report.exists() else None
    return messages["sent"] if messages else 0


@pytest.mark.in_turns(6)
@pytest.mark.parametrize("messages", LAYOUTS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("first", ["plugin", "mpi"])
def test_programs_whose_library_alone_has_the_mpi(
    mpi: Mpi, runner: Runner, tmp_path: Path, first: str, way: str, messages: str
):
    """The library's calls are Unisono's, unless it finds its own MPI first (RTLD_DEEPBIND): then all is the MPI's."""
    program = compile_program(mpi, "message_plugin.c", flags=["-Wl,--as-needed", "-ldl"], variant="alone")
    plugin, report = plugin_of(mpi), tmp_path / "report.json"
    before = [mpi_of(mpi, plugin)] if first == "mpi" else []
    settings = {"UNISONO_MESSAGES": messages, "UNISONO_REPORT": str(report), **LAYOUTS[messages]}
    result = runner.unisono(mpi, 2, [program, plugin, *WAYS[way], *before], settings, timeout=60)
    assert result.check().output == "OK\n", str(result)
    assert (sent(report) > 0) == ("deep" not in way), str(result)


@pytest.mark.in_turns(4)
@pytest.mark.parametrize("messages", LAYOUTS)
@pytest.mark.parametrize("way", WAYS)
def test_plugins_of_programs_with_the_mpi(mpi: Mpi, runner: Runner, tmp_path: Path, way: str, messages: str):
    """A library that finds its own MPI first sends to itself alone, beside what Unisono carries for the program."""
    # Without -fPIC a program has copies of Open MPI's handles, and such a library others: it crashes natively.
    flags = ["-DIS_LINKED", "-fPIC", "-ldl"]
    program = compile_program(mpi, "message_plugin.c", flags=flags, variant="linked")
    report = tmp_path / "report.json"
    settings = {"UNISONO_MESSAGES": messages, "UNISONO_REPORT": str(report), **LAYOUTS[messages]}
    result = runner.unisono(mpi, 2, [program, plugin_of(mpi), *WAYS[way]], settings, timeout=60)
    assert result.check().output == "OK\n", str(result)
    assert (sent(report) > 100) == ("deep" not in way) and sent(report) > 0, str(result)
