# SPDX-License-Identifier: BSD-3-Clause
"""Records of jobs that died in an algorithm: shown, forgotten, and what `explain` makes of them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import Stage, needs_build
from unisono import __version__
from unisono.machine import host

pytestmark = needs_build


def record(program: str, algorithm: str, **changes: Any) -> str:
    found = {
        "program": program,
        "machine": f"{host.processor_model()}, {os.sysconf('SC_NPROCESSORS_ONLN')} processors",
        "mpi": "Open MPI 5.0.11",
        "unisono": __version__,
        "host": "node1",
        "rank": 3,
        "ranks": 8,
        "id": "node1:1:1",
        "time": 24 * 60 * 60,
        "signal": "SIGSEGV",
        "operation": "allreduce",
        "algorithm": algorithm,
        "bytes": 65536,
    }
    return json.dumps({**found, **changes}) + "\n"


@pytest.fixture
def cache(stage: Stage) -> Path:
    made = stage.root / "cache"
    made.mkdir()
    text = (
        record("solver", "ring(segment=65536)") + record("other", "shared", mpi="MPICH 5.0.1") + "nothing\n"
    )
    (made / "crashes.jsonl").write_text(text)
    return made


@pytest.fixture
def environment(cache: Path, built: dict[str, str]) -> dict[str, str]:
    return {**built, "UNISONO_CACHE": str(cache)}


def test_shows_them(stage: Stage, environment: dict[str, str]) -> None:
    text = stage.unisono("crashes", environment=environment).stdout
    assert "allreduce:ring(segment=65536)" in text and "SIGSEGV 1970-01-02" in text and "3 of 8" in text
    assert "other" in text and "64 KiB" in text and "1 lines" in text
    text = stage.unisono("crashes", "solver", environment=environment).stdout
    assert "solver" in text and "other" not in text
    found = json.loads(stage.unisono("crashes", "--json", environment=environment).stdout)
    assert [crash["program"] for crash in found["crashes"]] == ["solver", "other"]
    assert all(crash["holds_here"] for crash in found["crashes"]) and found["malformed"] == 1
    assert json.loads(stage.unisono("info", "--json", environment=environment).stdout)["crashes"] == 2
    assert "died in 2 algorithms" in stage.unisono("info", environment=environment).stdout


@pytest.mark.parametrize("changes", [{"machine": "another one"}, {"unisono": "0.0.1"}])
def test_says_what_does_not_hold_here(
    stage: Stage, environment: dict[str, str], cache: Path, changes: dict[str, str]
) -> None:
    (cache / "crashes.jsonl").write_text(record("solver", "ring", **changes))
    assert "not here" in stage.unisono("crashes", environment=environment).stdout
    words = ["explain", "allreduce", "64K", "--program", "solver"]
    assert "quarantined" not in stage.unisono(*words, environment=environment).stdout


def test_forgets_them(stage: Stage, environment: dict[str, str], cache: Path) -> None:
    assert stage.unisono("crashes", "--forget", "solver", environment=environment).stdout == "1 forgotten\n"
    text = stage.unisono("crashes", environment=environment).stdout
    assert "other" in text and "solver" not in text and "no records" not in text
    assert stage.unisono("crashes", "--forget", environment=environment).stdout == "1 forgotten\n"
    assert not (cache / "crashes.jsonl").exists()
    assert "No job is known" in stage.unisono("crashes", environment=environment).stdout
    assert "died in" not in stage.unisono("info", environment=environment).stdout


def test_explain_names_the_reason(stage: Stage, environment: dict[str, str]) -> None:
    why = "is quarantined: a job of 1970-01-02 died of SIGSEGV inside it"
    words = ["explain", "allreduce", "64K", "--layout", "8", "--json", "--program"]

    def illegal(*more: str) -> dict[str, str]:
        answer = json.loads(stage.unisono(*words, *more, environment=environment).stdout)
        return {entry["algorithm"].partition("(")[0]: entry["illegal"] for entry in answer["candidates"]}

    assert illegal("solver")["ring"] == why
    assert illegal("solver")["shared"] == ""
    assert illegal("other")["shared"] == why
    assert illegal("other", "--mpi", "Open MPI 5.0.11")["shared"] == ""
    forced = stage.unisono(
        *words[:-2], "--program", "solver", "--algorithm", "allreduce:ring", environment=environment
    )
    assert f"allreduce:ring is refused: it {why}" in forced.stdout
