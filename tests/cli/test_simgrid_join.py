# SPDX-License-Identifier: BSD-3-Clause
"""`tools/simgrid/compare.py --join`: one report of what several comparisons have found. It needs no SimGrid."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from conftest import ROOT

COMPARE = ROOT / "tools/simgrid/compare.py"


def cell(platform: str, operation: str, unisono_us: float, native_us: float) -> dict[str, Any]:
    return {
        "platform": platform,
        "ranks": 64,
        "operation": operation,
        "bytes": 1024,
        "chosen": "ring",
        "predicted_us": {"ring": unisono_us / 2, "chain": 4 * unisono_us},
        "unisono_us": {"ring": unisono_us, "chain": 2 * unisono_us},
        "native_us": {"mpich": native_us},
        "results": {"ring": "7", "chain": "7", "mpich": "7"},
    }


def join(folder: Path, *files: Path) -> subprocess.CompletedProcess[str]:
    words = ["--join", *map(str, files), "--output", str(folder / "out/joined")]
    return subprocess.run(
        [sys.executable, str(COMPARE), *words], capture_output=True, text=True, check=False, timeout=120
    )


def test_all_files_are_in_one_report(tmp_path: Path) -> None:
    first, second = tmp_path / "torus.json", tmp_path / "tree.json"
    first.write_text(json.dumps([cell("torus", "bcast", 10, 40), cell("torus", "scan", 10, 10)]))
    second.write_text(json.dumps([cell("fat-tree", "bcast", 30, 10)]))
    done = join(tmp_path, first, second)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    # 4 and 1 times as fast on one network, a third as fast on the other.
    for row in (
        "| torus, 64 | 2.00 (0 of 2) |",
        "| fat-tree, 64 | 0.33 (1 of 1) |",
        "| bcast | 1.15 (1 of 2) |",
    ):
        assert row in lines, done.stdout
    assert "| bcast of 1 KiB, fat-tree, 64 ranks | 3.00 |" in lines, done.stdout
    assert (tmp_path / "out/joined.md").read_text().strip() == done.stdout.strip()
    assert (tmp_path / "out/joined.png").stat().st_size > 1000


def test_what_is_none_is_said(tmp_path: Path) -> None:
    """And nothing is run."""
    for content, says in (
        ("[]", "nothing in these files"),
        ("[1]", "none that this writes"),
        (None, "none that this writes"),
    ):
        file = tmp_path / "some.json"
        file.unlink(missing_ok=True)
        if content is not None:
            file.write_text(content)
        done = join(tmp_path, file)
        assert done.returncode == 1 and says in done.stderr and "Traceback" not in done.stderr, done.stderr


def test_one_file_is_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "torus.json"
    file.write_text(json.dumps([cell("torus", "bcast", 10, 40)]))
    assert "| torus, 64 | 4.00 (0 of 1) |" in join(tmp_path, file).stdout
