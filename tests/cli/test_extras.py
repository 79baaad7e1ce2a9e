# SPDX-License-Identifier: BSD-3-Clause
"""Commands without the packages that are extras: what does not need them works, what does asks for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import FIXTURES, Stage, needs_build
from unisono.commands.group import COMMANDS
from unisono.common import extras

_WITHOUT = """
import sys


class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numpy", "matplotlib", "jinja2"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Without())
"""

_EVERY_HELP = """
import sys

from unisono.commands.group import COMMANDS, cli

for name in sorted(COMMANDS, key=lambda name: name == "run"):  # last, since the process becomes the compiled command
    sys.stdout.flush()
    try:
        cli([name, "--help"], prog_name="unisono")
    except SystemExit as end:
        assert not end.code, (name, end.code)
"""
_TABLE = '{"schema": "unisono-table", "version": 1, "provenance": {}, "rules": []}'


@pytest.fixture
def bare(stage: Stage, tmp_path: Path, built: dict[str, str]) -> dict[str, str]:
    """Changes to the environment: the extras are not there."""
    (tmp_path / "without").mkdir()
    (tmp_path / "without/sitecustomize.py").write_text(_WITHOUT)
    return {**built, "PYTHONPATH": str(tmp_path / "without")}


@pytest.mark.parametrize(
    "words",
    [
        ["run", "mpirun", "-n", "2", sys.executable, "-c", "pass"],
        ["run", "--verbose", "mpirun", "-n", "2", sys.executable, "-c", "pass"],
        ["report", str(FIXTURES / "report.json")],
        ["report", "-"],
        ["list"],
        ["options"],
        ["info"],
        ["explain", "allreduce", "8", "--layout", "4"],
        ["cache", "show"],
        ["table", "show", "table.json"],
    ],
    ids=lambda words: " ".join(word for word in words if len(word) < 20),
)
@needs_build
def test_a_command_that_needs_none(stage: Stage, bare: dict[str, str], words: list[str]) -> None:
    (stage.work / "table.json").write_text(_TABLE)
    answer = stage.unisono(*words, environment=bare)
    if words == ["report", "-"]:  # nothing was piped into it
        assert (
            answer.returncode == 2 and "Traceback" not in answer.stderr and "pip install" not in answer.stderr
        )
    else:
        assert answer.returncode == 0, answer.stderr


@needs_build
def test_every_help(stage: Stage, bare: dict[str, str]) -> None:
    answer = subprocess.run(
        [sys.executable, "-c", _EVERY_HELP],
        env=stage.environment(bare),
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    for name in COMMANDS:
        assert f"Usage: unisono {name}" in answer.stdout


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["report", str(FIXTURES / "report.json"), "--html", "page.html"], "page"),
        (["bench", "--size", "8", "mpirun", "-n", "2"], "models"),
    ],
)
@needs_build
def test_a_command_that_needs_one(stage: Stage, bare: dict[str, str], words: list[str], extra: str) -> None:
    answer = stage.unisono(*words, environment=bare)
    assert answer.returncode == 1
    assert f'pip install "unisono[{extra}]"' in answer.stderr
    assert "Traceback" not in answer.stderr


def test_every_extra_is_declared() -> None:
    text = (Path(__file__).resolve().parents[2] / "pyproject.toml").read_text()
    optional = text.partition("[project.optional-dependencies]")[2].partition("\n[")[0]
    for extra, packages in extras.EXTRAS.items():
        (line,) = [line for line in optional.splitlines() if line.startswith(f"{extra} = ")]
        assert [package for package in packages if f'"{package}>=' in line] == packages


def test_commands_can_be_read_where_click_is_old() -> None:
    """Before version 8.2 its choices had no type to name in brackets."""
    code = (
        "import click, importlib\n"
        "def refuse(cls, item):\n"
        "    raise TypeError('not subscriptable')\n"
        "click.Choice.__class_getitem__ = classmethod(refuse)\n"
        "from unisono.commands.group import COMMANDS\n"
        "for module, _ in COMMANDS.values():\n"
        "    importlib.import_module(f'unisono.commands.{module}')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=50
    )
    assert done.returncode == 0, done.stderr


def test_a_page_that_cannot_be_made_leaves_the_report(stage: Stage, bare: dict[str, str]) -> None:
    copy = f"import os, shutil; shutil.copy('{FIXTURES / 'report.json'}', os.environ['UNISONO_REPORT'])"
    words = ["run", "--report", "page.html", "mpirun", sys.executable, "-c", copy]
    answer = stage.unisono(*words, environment={**bare, "FAKE_DO": "start 0"})
    assert answer.returncode == 0
    assert "jinja2" in answer.stderr and "work/page.json --html " in answer.stderr
    assert sorted(path.name for path in stage.work.glob("*page*")) == ["page.json"]
    (stage.work / "page.json").write_text("mine")
    stage.unisono(*words, environment={**bare, "FAKE_DO": "start 0"})
    assert (stage.work / "page.json").read_text() == "mine"
