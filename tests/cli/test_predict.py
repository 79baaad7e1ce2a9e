# SPDX-License-Identifier: BSD-3-Clause
"""`unisono predict` on the compiled tool."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from conftest import ROOT, Stage, needs_build
from unisono.commands.predict import best_of_each, split_outside_brackets

SCHEMA = ROOT / "python/unisono/schema/machine.schema.json"


def predictions(stage: Stage, built: dict[str, str], *words: str) -> list[dict[str, Any]]:
    answer = stage.unisono("predict", *words, "--json", environment=built)
    assert answer.returncode == 0, answer.stderr
    sizes: list[dict[str, Any]] = json.loads(answer.stdout)
    return sizes


def test_items_outside_brackets() -> None:
    assert split_outside_brackets("ring(segment=64K,window=2), binomial,") == [
        "ring(segment=64K,window=2)",
        "binomial",
    ]
    assert split_outside_brackets("") == []


def test_best_of_each() -> None:
    found = best_of_each(
        [{"algorithm": "a", "us": 1}, {"algorithm": "b", "us": 2}, {"algorithm": "a", "us": 3}]
    )
    assert found == [{"algorithm": "a", "us": 1}, {"algorithm": "b", "us": 2}]


@needs_build
def test_ranking(stage: Stage, built: dict[str, str]) -> None:
    [small, large] = predictions(
        stage, built, "bcast", "--layout", "4x4", "--size", "8,4M", "--machine", "ethernet"
    )
    assert (small["ranks"], small["nodes"], small["bytes"], large["bytes"]) == (16, 4, 8, 4 << 20)
    for answer in (small, large):
        times = [one["us"] for one in answer["predictions"] if one["us"] is not None]
        assert times == sorted(times) and times[0] > 0
        refused = [one for one in answer["predictions"] if one["us"] is None]
        assert refused and all(one["problem"] for one in refused)
        native = next(one for one in answer["predictions"] if one["algorithm"] == "native")
        assert native["stands_for"] in [one["algorithm"] for one in answer["predictions"]]
    # Every byte leaves each node's card once in a chain: that is the wire's limit, and others are behind.
    best = large["predictions"][0]
    assert "chain" in best["algorithm"]
    assert best["us"] >= (4 << 20) * 8.5e-3


@needs_build
def test_chosen_algorithms(stage: Stage, built: dict[str, str]) -> None:
    words = [
        "allreduce",
        "--layout",
        "2x4",
        "--size",
        "64K",
        "--algorithms",
        "ring(segment=8K,window=1),native",
    ]
    [answer] = predictions(stage, built, *words)
    assert {one["text"] for one in answer["predictions"]} == {"ring(segment=8K,window=1)", "native"}


@needs_build
def test_models_differ(stage: Stage, built: dict[str, str]) -> None:
    words = ["bcast", "--layout", "8x1", "--size", "1K", "--algorithms", "flat"]
    times = [
        predictions(stage, built, *words, "--model", model)[0]["predictions"][0]["us"]
        for model in ("hockney", "loggp")
    ]
    # 7 messages of alpha + beta m one after the other, against messages that leave a gap apart.
    assert times[0] == pytest.approx(7 * (1.5 + 1024 * 8.3e-5))
    assert times[1] < times[0]


@needs_build
def test_machine_file(stage: Stage, built: dict[str, str]) -> None:
    shown = stage.unisono("predict", "--show-machine", environment=built)
    machine = json.loads(shown.stdout)
    jsonschema.validate(machine, json.loads(SCHEMA.read_text()))
    machine["name"] = "mine"
    machine["network"]["hockney"]["alpha_us"] = {"value": 100, "low": 90, "high": 110}
    jsonschema.validate(machine, json.loads(SCHEMA.read_text()))
    (stage.work / "mine.json").write_text(json.dumps(machine))
    kept = stage.work / "cache/unisono/machines/kept.json"
    kept.parent.mkdir(parents=True)
    kept.write_text(json.dumps(machine))
    environment = {**built, "XDG_CACHE_HOME": str(stage.work / "cache")}
    words = ["barrier", "--layout", "8x1", "--model", "hockney", "--algorithms", "dissemination"]
    for name in ("mine.json", "kept"):
        [answer] = predictions(stage, environment, *words, "--machine", name)
        assert answer["predictions"][0]["us"] == pytest.approx(300)


@needs_build
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["bcast", "--machine", "nowhere"], "typical, ethernet, myrinet"),
        (["bcast", "--machine", "bad.json"], "network.plogp.g_us: is missing"),
        (["frob"], "there are barrier"),
        (["bcast", "--algorithms", "frob"], "no algorithm 'frob'"),
        (["bcast", "--algorithms", "chain(frob=1)"], "segment"),
        (["bcast", "--layout", "x"], "--layout x"),
        (["bcast", "--size", "-1"], "no size"),
        (["bcast", "--plot", "a.txt"], ".svg or .png"),
        ([], "which operation"),
    ],
)
def test_refuses(stage: Stage, built: dict[str, str], words: list[str], says: str) -> None:
    machine = json.loads(stage.unisono("predict", "--show-machine", environment=built).stdout)
    del machine["network"]["plogp"]["g_us"]
    (stage.work / "bad.json").write_text(json.dumps(machine))
    answer = stage.unisono("predict", *words, environment=built)
    assert answer.returncode == 2
    assert says in answer.stderr


@needs_build
def test_table_and_plot(stage: Stage, built: dict[str, str]) -> None:
    answer = stage.unisono(
        "predict", "scan", "--ranks", "4", "--size", "8,1K", "--plot", "p.svg", environment=built
    )
    assert answer.returncode == 0, answer.stderr
    assert "scan of 1 KiB on 4 ranks, 1 node" in answer.stdout
    assert "taken to be" in answer.stdout
    assert "</svg>" in Path(stage.work / "p.svg").read_text()


@needs_build
def test_hundred_thousand_ranks(stage: Stage, built: dict[str, str]) -> None:
    words = ["allreduce", "--layout", "100000x1", "--size", "1M", "--algorithms", "ring"]
    [answer] = predictions(stage, built, *words)
    [ring] = answer["predictions"]
    assert answer["ranks"] == 100_000 and ring["is_for_all_nodes"]
    assert ring["us"] > 2 * 99_999 * 1.5
