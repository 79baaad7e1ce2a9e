# SPDX-License-Identifier: BSD-3-Clause
"""The pages in docs/ that are made from the code say what the code says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, Stage, needs_build

GENERATE = ROOT / "tools/generate_docs.py"


def generate(*arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(GENERATE), *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=50, check=False)


def test_command_line_page(stage: Stage) -> None:
    answer = generate("--check", "cli.md", environment=stage.environment())
    assert answer.returncode == 0, answer.stderr


@needs_build
@pytest.mark.parametrize("page", ["options.md", "algorithms.md"])
def test_pages_of_the_compiled_code(stage: Stage, built: dict[str, str], page: str) -> None:
    answer = generate("--check", page, environment=stage.environment(built))
    assert answer.returncode == 0, answer.stderr


def test_differences_are_found(stage: Stage) -> None:
    """The recorded answers are not those of the compiled code, so their pages differ from docs/."""
    answer = generate("--check", "options.md", environment=stage.environment())
    assert answer.returncode == 1
    assert "options.md differs from what the code says" in answer.stderr


def test_all_options_are_on_the_page(stage: Stage, tmp_path: Path) -> None:
    """Run in a copy of the tree's docs/, so that nothing real is written."""
    copy = tmp_path / "tree/tools/generate_docs.py"
    copy.parent.mkdir(parents=True)
    (tmp_path / "tree/docs").mkdir()
    copy.write_text(GENERATE.read_text())
    subprocess.run([sys.executable, str(copy)], env=stage.environment(), check=True, capture_output=True)
    options = (tmp_path / "tree/docs/options.md").read_text()
    assert "`--single-copy`<br>`--no-single-copy`" in options
    assert "quiet\\|warning\\|info" in options
    algorithms = (tmp_path / "tree/docs/algorithms.md").read_text()
    assert "`segment` 8 KiB (0 B to 1 GiB)" in algorithms
    assert "All 4 algorithms" in algorithms
    assert (tmp_path / "tree/docs/cli.md").read_text() == (ROOT / "docs/cli.md").read_text()
