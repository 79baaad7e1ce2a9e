# SPDX-License-Identifier: BSD-3-Clause
"""`unisono simulate` on the compiled tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import ROOT, Stage, needs_build
from unisono.machine import catalogue
from unisono.reporting.simulated import Row

SCHEMA = ROOT / "python/unisono/schema/machine.schema.json"
NOISE = "uniform(rate=100,mean=50)"


def simulated(stage: Stage, built: dict[str, str], *words: str) -> dict[str, Any]:
    answer = stage.unisono("simulate", *words, "--json", environment=built)
    assert answer.returncode == 0, answer.stderr
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


@needs_build
def test_noise_spreads_times(stage: Stage, built: dict[str, str]) -> None:
    found = simulated(stage, built, "allreduce", "--layout", "256x1", "--calls", "500", "--noise", NOISE)
    spread = found["distribution"]
    assert found["by_events"] is None
    assert spread["least_us"] >= found["quiet_us"] - 1e-6
    assert spread["mean_us"] > found["quiet_us"] + 5
    assert sum(count for *_, count in spread["histogram"]) == 500
    percentiles = [one["us"] for one in spread["percentiles"]]
    assert percentiles == sorted(percentiles)
    again = simulated(stage, built, "allreduce", "--layout", "256x1", "--calls", "500", "--noise", NOISE)
    assert again == found
    quiet = simulated(stage, built, "allreduce", "--layout", "256x1", "--calls", "5", "--noise", "none")
    assert quiet["distribution"]["deviation_us"] == pytest.approx(0, abs=1e-6)


@needs_build
def test_page_and_text(stage: Stage, built: dict[str, str], tmp_path: Path) -> None:
    page = tmp_path / "calls.html"
    words = ["reduce", "--layout", "31x1", "--machine", "quadrics-alc", "--agents", "--html", str(page)]
    answer = stage.unisono("simulate", *words, environment=built)
    assert answer.returncode == 0, answer.stderr
    assert "by agents" in answer.stdout and "standard deviation" in answer.stdout
    text = page.read_text()
    assert "<svg" in text and "quadrics-alc" in text and "<script" not in text


@needs_build
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "say which operation"),
        (["allreduce", "--noise", "unifrom(rate=1,mean=1)"], "did you mean 'uniform'"),
        (["allreduce", "--noise", "recorded"], "has no recording"),
        (["allreduce", "--agents", "--layout", "4x1"], "has no agent"),
        (["allreduce", "--overlap"], "--overlap goes with --agents"),
        (["allreduce", "--slow", "3"], "--slow takes a share"),
        (["allreduce", "--algorithm", "native"], "name an algorithm"),
        (["allreduce", "--layout", "1x1"], "one rank"),
        (["allreduce", "--published"], "in place of an operation"),
    ],
)
def test_mistakes(stage: Stage, built: dict[str, str], words: list[str], said: str) -> None:
    answer = stage.unisono("simulate", *words, environment=built)
    assert answer.returncode == 2
    assert said in answer.stderr


@needs_build
def test_what_was_published_is_met(stage: Stage, built: dict[str, str]) -> None:
    answer = stage.unisono("simulate", "--published", "--json", environment=built)
    assert answer.returncode == 0, answer.stderr
    rows = json.loads(answer.stdout)
    assert {row["is_met"] for row in rows} == {True, None}
    assert all(row["remark"] for row in rows if row["is_met"] is None and row["source"])


@needs_build
def test_machines_with_agents(stage: Stage, built: dict[str, str]) -> None:
    for name in ("quadrics-crescendo", "quadrics-alc"):
        answer = stage.unisono("machine", "show", name, "--json", environment=built)
        document = json.loads(answer.stdout)
        jsonschema.validate(document, json.loads(SCHEMA.read_text()))
        assert document["agent"]["completion_us"] > 0
        assert name in catalogue.BUILT_IN


def test_rows_are_judged_by_their_own_measure() -> None:
    assert Row("a", "b", 100, 105, "us", 0.06).is_met is True
    assert Row("a", "b", 100, 107, "us", 0.06).is_met is False
    assert Row("a", "b", 100, 107, "us", None, "why").is_met is None
