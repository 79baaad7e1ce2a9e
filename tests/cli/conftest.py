# SPDX-License-Identifier: BSD-3-Clause
"""A home of Unisono that is made of stand-ins, and the command run on it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from unisono.measuring import bench

# How runs share the tests (--share).
pytest_plugins = ["shares"]

# Tables are as wide as in a file, whatever terminal the tests (or a worker of theirs) believe in.
os.environ.pop("COLUMNS", None)
HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FIXTURES = HERE / "fixtures"
BUILD = Path(os.environ.get("UNISONO_TEST_BUILD", ROOT / "build/release")).resolve()

needs_build = pytest.mark.skipif(
    not (BUILD / "bin/unisono-tool").is_file(), reason=f"there is no build in {BUILD} (make build)"
)


def install_script(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(f"#!{sys.executable}\n{source.read_text()}")
    target.chmod(0o755)


@dataclass
class Stage:
    """Where a test plays: a home with bin/ and lib/, a folder with launchers in PATH, a working directory."""

    root: Path

    @property
    def home(self) -> Path:
        return self.root / "home"

    @property
    def work(self) -> Path:
        return self.root / "work"

    @property
    def log(self) -> Path:
        return self.root / "launcher.json"

    @property
    def launcher_ready(self) -> Path:
        return self.log.with_suffix(".ready")

    def environment(self, changes: Mapping[str, str] | None = None) -> dict[str, str]:
        kept = {
            name: value for name, value in os.environ.items() if not name.startswith(("UNISONO_", "FAKE_"))
        }
        return {
            **kept,
            "PATH": f"{self.root / 'launchers'}:{kept['PATH']}",
            "UNISONO_HOME": str(self.home),
            "TMPDIR": str(self.root),
            "FAKE_FIXTURES": str(FIXTURES),
            "FAKE_LOG": str(self.log),
            "FAKE_REAL_TOOL": str(BUILD / "bin/unisono-tool"),
            **(changes or {}),
        }

    def command(self, *words: str) -> list[str]:
        return [str(self.root / "bin/unisono"), *words]

    def unisono(
        self, *words: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.command(*words),
            env=self.environment(environment),
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=50,
            check=False,
        )

    def launched(self) -> list[str]:
        """The words that the launcher was started with, without its own name."""
        words: list[str] = json.loads(self.log.read_text())
        return words[1:]

    def agents(self) -> dict[str, Any]:
        """What the launcher of the agents has written down."""
        found: dict[str, Any] = json.loads(self.log.with_suffix(".agents").read_text())
        return found

    def asked(self) -> list[list[str]]:
        """The questions that the tool was asked."""
        return [json.loads(line) for line in (self.home / "bin/asked").read_text().splitlines()]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    made = Stage(tmp_path)
    made.work.mkdir()
    install_script(HERE / "fake_tool.py", made.home / "bin/unisono-tool")
    install_script(HERE / "fake_shim.py", made.home / "bin/unisono-exec")
    install_script(HERE / "fake_shim.py", made.home / "bin/unisono-agent")
    (made.home / "bin/unisono").symlink_to(BUILD / "bin/unisono")
    (made.home / "lib").mkdir()
    (made.home / "lib/libunisono.so").write_bytes(b"")
    (made.home / "lib/libunisono-openmpi.so").write_bytes(b"")
    # The command as users have it: compiled, with its part in Python beside it.
    install_script(HERE / "python_command.py", tmp_path / "bin/unisono-cli")
    (tmp_path / "bin/unisono").symlink_to(BUILD / "bin/unisono")
    for name in ("mpirun", "srun"):
        install_script(HERE / "fake_launcher.py", tmp_path / "launchers" / name)
    return made


@pytest.fixture
def built() -> dict[str, str]:
    """Changes to the environment that put the real compiled parts in the place of the stand-ins."""
    return {"UNISONO_HOME": str(BUILD)}


def compiled_with_benchmarks(folder: Path, name: str, text: str) -> Path:
    """A C program that includes headers of the benchmark programs."""
    source, program = folder / f"{name}.c", folder / name
    source.write_text(text)
    include = ["-I", str(bench.source("series_samples.h").parent)]
    subprocess.run(["cc", *include, "-o", program, source, "-lm"], check=True)
    return program


def said_by_check(tool: str, tree: Path, files: Mapping[str, str]) -> list[str]:
    """What one of the project's checks (tools/TOOL) says of a tree of these files."""
    for name, text in {**files, f"tools/{tool}": (ROOT / "tools" / tool).read_text()}.items():
        file = tree / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    command = [sys.executable, str(tree / "tools" / tool)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == bool(done.stdout), done.stderr
    return done.stdout.splitlines()
