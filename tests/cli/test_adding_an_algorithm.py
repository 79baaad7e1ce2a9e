# SPDX-License-Identifier: BSD-3-Clause
"""The algorithm that docs/inside/adding-an-algorithm.md adds is built as it stands there, found and proved."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import BUILD, ROOT, Stage

needs_ninja = pytest.mark.skipif(
    not (BUILD / "build.ninja").is_file() or not (BUILD / "bin/unisono-tool").is_file(),
    reason=f"there is no build by ninja in {BUILD} (make build)",
)
CHECK = ("check", "--operation", "barrier", "--algorithm", "double_ring", "--ranks", "1-9", "--json")
PAGE = ROOT / "docs/inside/adding-an-algorithm.md"


def blocks(info: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"^```{re.escape(info)}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def object_of(source: Path, target: Path) -> None:
    """Compile as the build compiles the barriers that are there already."""
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    beside = next(entry for entry in commands if entry["file"].endswith("messages/barrier.cc"))
    words = shlex.split(beside["command"])
    words[words.index("-o") + 1] = str(target)
    words[words.index("-c") + 1] = str(source)
    subprocess.run(words, cwd=beside["directory"], check=True, timeout=50)


def tool_with(extra: Path, target: Path) -> None:
    """Link the build's own parts once more, with one object beside them."""
    command = ["ninja", "-C", str(BUILD), "-t", "commands", "unisono-tool"]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    line = next(line for line in reversed(lines) if "-o bin/unisono-tool" in line)
    line = line.replace("-o bin/unisono-tool", f"{shlex.quote(str(extra))} -o {shlex.quote(str(target))}", 1)
    subprocess.run(line, cwd=BUILD, shell=True, check=True, timeout=50)


def built(folder: Path, text: str) -> Path:
    """A home of Unisono whose tool has the algorithm that `text` is."""
    (folder / "bin").mkdir(parents=True)
    source, extra = folder / "barrier_double_ring.cc", folder / "extra.o"
    source.write_text(text)
    object_of(source, extra)
    tool_with(extra, folder / "bin/unisono-tool")
    (folder / "lib").symlink_to(BUILD / "lib")
    return folder


def unisono(stage: Stage, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "unisono", *words]
    environment = stage.environment({"UNISONO_HOME": str(home)})
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=50, check=False)


@needs_ninja
def test_the_algorithm_of_the_page(stage: Stage, tmp_path: Path) -> None:
    home = built(tmp_path / "whole", "\n".join(blocks("cpp algorithm")))
    listed = unisono(stage, home, "list", "--operation", "barrier", "--long").stdout
    assert "A token goes round twice" in listed
    assert "two_level_double_ring" in listed
    proof = unisono(stage, home, *CHECK)
    assert proof.returncode == 0, proof.stderr
    counts = json.loads(proof.stdout)
    drawn = unisono(stage, home, "show", "barrier", "--algorithm", "double_ring", "--ranks", "4")
    assert drawn.returncode == 0, drawn.stderr
    assert counts["algorithms"] == 1 and counts["cases"] > 50 and not counts["failures"]


@needs_ninja
def test_damage_to_it_is_found(stage: Stage, tmp_path: Path) -> None:
    text = "\n".join(blocks("cpp algorithm"))
    damaged = text.replace("writer.send(token(), after);", "if (rank != 1) writer.send(token(), after);")
    assert damaged != text
    proof = unisono(stage, built(tmp_path / "damaged", damaged), *CHECK)
    assert proof.returncode == 1
    assert "nobody sends this in the same stage and round" in proof.stdout


def test_the_line_of_the_build_fits() -> None:
    lines = (ROOT / "src/algorithms/CMakeLists.txt").read_text().splitlines()
    (line,) = blocks("cmake line")
    assert line.rstrip("\n") not in lines
    assert line.split("/")[0] in {known.split("/")[0] for known in lines}
    assert "  messages/barrier.cc" in lines
