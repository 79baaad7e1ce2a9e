# SPDX-License-Identifier: BSD-3-Clause
"""What was measured of waits and buffers is said, and machines that somebody has written in four numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from unisono.commands.group import cli
from unisono.common import places, tool
from unisono.machine import catalogue

ROOT = Path(__file__).resolve().parents[2]
LINK = {"hockney": {"alpha_us": 40, "beta_us_per_byte": 2.6e-2}}
LEAST = {"schema": "unisono-machine", "version": 1, "name": "mine", "node": LINK, "network": LINK}
WAITS = {
    "yield": {"value": 10, "low": 9, "high": 11},
    "futex": {"value": 5, "low": 4, "high": 6},
}

pytestmark = pytest.mark.skipif(
    not (ROOT / "build/release/bin/unisono-tool").is_file(), reason="needs the compiled tool"
)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNISONO_HOME", str(ROOT / "build/release"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("UNISONO_CACHE", raising=False)
    tool.algorithms.cache_clear()
    return tmp_path


def run(*words: str) -> str:
    done = CliRunner().invoke(cli, list(words))
    assert done.exit_code == 0, done.output
    return " ".join(done.output.split())


def test_what_was_measured_is_said():
    assert "As measured" not in run("info")
    catalogue.write(LEAST | {"name": catalogue.own_name(), "findings": {"waits_us": WAITS}})
    assert places.cache() in catalogue.folder().parents
    wanted = "ranks that share cores wait by 'futex'"
    assert wanted in run("info")
    assert json.loads(run("info", "--json"))["machine"]["measured"] == wanted
    assert f"As measured on this machine, {wanted}." in run("explain", "allreduce", "8")
    catalogue.write(
        LEAST
        | {"name": catalogue.own_name(), "measured": {"is_steady": False}, "findings": {"waits_us": WAITS}}
    )
    assert "As measured" not in run("info"), "the machine changed meanwhile"


def test_four_numbers_are_a_machine(tmp_path: Path):
    file = tmp_path / "mine.json"
    file.write_text(json.dumps(LEAST))
    said = run("predict", "bcast", "--layout", "4x4", "--size", "1K", "--machine", str(file))
    assert "The file of machine mine does not have cores_per_node, switch_us, node.loggp" in said
    shown = json.loads(run("machine", "show", str(file), "--json"))
    assert "shared_memory" in shown["filled"] and shown["network"]["hockney"] == LINK["hockney"]
    answers = json.loads(run("predict", "bcast", "--size", "1K", "--machine", str(file), "--json"))
    assert answers[0]["machine_filled"] == shown["filled"]
    assert "does not have" not in run("predict", "bcast", "--size", "1K")
