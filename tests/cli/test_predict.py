# SPDX-License-Identifier: BSD-3-Clause
"""`unisono predict` on the compiled tool."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner
from conftest import ROOT, Stage, needs_build
from unisono.commands.group import cli
from unisono.commands.predict import best_of_each
from unisono.machine import model_fit

SCHEMA = ROOT / "python/unisono/schema/machine.schema.json"


def predictions(stage: Stage, built: dict[str, str], *words: str) -> list[dict[str, Any]]:
    answer = stage.unisono("predict", *words, "--json", environment=built)
    assert answer.returncode == 0, answer.stderr
    sizes: list[dict[str, Any]] = json.loads(answer.stdout)
    return sizes


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
def test_eight_times_the_ranks_take_three_rounds_more(stage: Stage, built: dict[str, str]) -> None:
    """16 rounds for 13, though all ranks are run first, and one node for all then."""
    few, many = (
        predictions(stage, built, "allreduce", "--layout", layout, "--size", "8", "--algorithms", "recursive_doubling")[0]
        for layout in ("8192x1", "65536x1")
    )  # fmt: skip
    first, second = few["predictions"][0], many["predictions"][0]
    assert (first["is_for_all_nodes"], second["is_for_all_nodes"]) == (False, True)
    assert second["us"] / first["us"] == pytest.approx(16 / 13, rel=0.015)


@needs_build
def test_what_there_is_no_time_for_is_left_out(stage: Stage, built: dict[str, str]) -> None:
    """What takes few steps comes first, and the rest is said to be left out."""
    words = ["allreduce", "--layout", "512x1", "--size", "1M", "--time", "0.001"]
    [answer] = predictions(stage, built, *words)
    times = {one["text"]: one["us"] for one in answer["predictions"]}
    assert times["recursive_doubling"] > 0
    late = [one["text"] for one in answer["predictions"] if one["problem"].endswith("there was no time")]
    assert late and all(times[text] is None for text in late)
    shown = stage.unisono("predict", *words, environment=built).stdout
    assert "for which there was no time (--time)" in shown


def test_interrupted_between_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known by then is printed."""
    asked: list[list[str]] = []

    def ask(question: list[str], byte_count: int) -> dict[str, Any]:
        if asked:
            raise KeyboardInterrupt
        asked.append(question)
        us = {"algorithm": "ring", "text": "ring", "us": 1.0, "problem": "", "is_for_all_nodes": False}
        return {
            "operation": "bcast",
            "bytes": byte_count,
            "ranks": 2,
            "nodes": 1,
            "machine": "m",
            "model": "logp",
            "predictions": [us],
        }

    monkeypatch.setattr("unisono.commands.predict.predictions_of_size", ask)
    done = CliRunner().invoke(cli, ["predict", "bcast", "--size", "8,64,512", "--time", "9"])
    assert done.exit_code == 130
    assert "bcast of 8 B" in done.output and "1 us" in done.output
    assert "interrupted after 1 of 3 sizes" in done.output
    assert int(asked[0][asked[0].index("--time-ms") + 1]) <= 3000, "a third of the time"


@pytest.mark.parametrize(
    ("words", "is_limited"), [([], True), (["--time", "0"], False), (["--algorithms", "ring"], False)]
)
def test_limit_of_time(monkeypatch: pytest.MonkeyPatch, words: list[str], is_limited: bool) -> None:
    def ask(question: list[str], byte_count: int) -> dict[str, Any]:
        assert ("--time-ms" in question) == is_limited
        raise KeyboardInterrupt

    monkeypatch.setattr("unisono.commands.predict.predictions_of_size", ask)
    assert CliRunner().invoke(cli, ["predict", "bcast", *words]).exit_code == 130


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
def test_neighbors(stage: Stage, built: dict[str, str]) -> None:
    """Where many edges lead from one node to another, one message for all of them is sooner there than one for each."""
    words = ["neighbor_allgather", "--layout", "8x8", "--graph", "moore:2,2", "--size", "8"]
    [answer] = predictions(stage, built, *words)
    times = {one["text"]: one["us"] for one in answer["predictions"]}
    native = next(one for one in answer["predictions"] if one["algorithm"] == "native")
    assert native["stands_for"] == "linear"
    assert 2 * times["bundles"] < native["us"]
    assert times["bundles"] < times["bundles(bundle_up_to=0)"]


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


def a_machine(stage: Stage, built: dict[str, str]) -> dict[str, Any]:
    """With straight lines for what the equations of section 4.5 are made of: L = 5, g(m) = 2 + m / 100, os = 1."""
    machine: dict[str, Any] = json.loads(
        stage.unisono("machine", "show", "typical", "--json", environment=built).stdout
    )

    def line(bytes_of_end: int, first: float, last: float) -> dict[str, list[float]]:
        return {"bytes": [0, bytes_of_end], "us": [first, last]}

    machine |= {"name": "straight", "call_us": 0, "overlap_penalty_us": line(1000, 0, 0.1)}
    machine["network"]["plogp"] = {
        "L_us": 5,
        "os_us": line(1000, 1, 1),
        "or_us": line(1000, 1, 1),
        "g_us": line(100000, 2, 1002),
    }
    return machine


@needs_build
def test_closed_forms_of_trees(stage: Stage, built: dict[str, str], tmp_path: Path) -> None:
    """The degree follows from the serial reductions that a machine's file has: 6 us for the first child, 0.5 for each further one."""
    machine: dict[str, Any] = json.loads(
        stage.unisono("machine", "show", "typical", "--json", environment=built).stdout
    )
    times = {"children": [1, 2, 4], "us": [6.0, 6.5, 7.5]}
    machine["serial_reductions"] = [
        {"level": "node", "bytes": 8, "children": [1, 2], "us": [1.0, 2.0]},
        {"level": "network", "bytes": 8} | times,
    ]
    jsonschema.validate(machine, json.loads(SCHEMA.read_text()))
    file = tmp_path / "machine.json"
    file.write_text(json.dumps(machine))
    words = ["predict", "reduce", "--layout", "64x1", "--size", "8", "--machine", str(file), "--model"]
    [found] = json.loads(stage.unisono(*words, "fnomial", "--json", environment=built).stdout)
    fit = found["fit"]
    assert (
        fit["is_measured"]
        and fit["slope_us"] == pytest.approx(0.5)
        and fit["intercept_us"] == pytest.approx(5.5)
    )
    assert found["serial_us"] == pytest.approx(5.5 + 63 * 0.5)
    ratio, degree = found["L_us"] / (found["r_us"] + found["c_us"]) - 1, found["full_degree"]
    assert degree * (math.log(degree) - 1) == pytest.approx(ratio, abs=1e-6)
    refined = {one["degree"]: one["refined_us"] for one in found["degrees"]}
    assert refined[found["degree"]] == min(refined.values())
    # Half the time for a child: a higher degree.
    machine["serial_reductions"][1]["us"] = [5.75, 6.0, 6.5]
    file.write_text(json.dumps(machine))
    [quicker] = json.loads(stage.unisono(*words, "fnomial", "--json", environment=built).stdout)
    assert quicker["full_degree"] > degree
    text = stage.unisono(*words, "fnomial", environment=built).stdout
    assert "best refined" in text and "that were measured on the machine" in text
    serial = stage.unisono(*words, "serial", environment=built).stdout
    assert "T_serial" in serial and "6.5 us" in serial


@needs_build
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["bcast", "--model", "serial"], "equations are those of a reduction to one rank"),
        (["reduce", "--model", "fnomial", "--algorithms", "binomial"], "goes without --algorithms"),
    ],
)
def test_closed_forms_are_of_reductions(
    stage: Stage, built: dict[str, str], words: list[str], said: str
) -> None:
    answer = stage.unisono("predict", "--layout", "4x1", *words, environment=built)
    assert answer.returncode == 2 and said in answer.stderr


@needs_build
def test_mixed_mode(stage: Stage, built: dict[str, str]) -> None:
    """Equations 4.1 to 4.6, computed here once more: 3 nodes, 4 segments of 4000 bytes, 1000 of each beside the messages."""
    file = stage.work / "straight.json"
    file.write_text(json.dumps(a_machine(stage, built)))
    words = ["bcast", "--layout", "3x4", "--size", "16000", "--model", "mixed", "--machine", str(file)]
    setting = "two_level_chain(segment=4000,overlap=1000)"
    [answer] = predictions(stage, built, *words, "--algorithms", setting)
    [one] = answer["predictions"]
    smcc = {}
    for size in (1000, 12000):
        alone = [
            "bcast",
            "--layout",
            "4",
            "--size",
            str(size),
            "--algorithms",
            "shared",
            "--machine",
            str(file),
        ]
        smcc[size] = predictions(stage, built, *alone)[0]["predictions"][0]["us"]
    latency, gap, send, penalty, k, p = 5, 2 + 4000 / 100, 1, 0.1, 4, 3
    chain = (p - 1) * (latency + gap) + (k - 1) * gap
    shared = smcc[1000] + smcc[12000]
    assert penalty < smcc[1000], "at most what the copy takes"
    assert one["equations"] == pytest.approx(
        {
            "4.1": latency + gap + shared,
            "4.2": latency + gap + penalty + shared,
            "4.3": chain + (send + smcc[1000] - gap) * (k - 1) + shared,
            "4.4": chain + shared,
            "4.5": chain + penalty * k + penalty * (k - 1) + penalty * (p - 2) + shared,
            "4.6": chain + smcc[1000] * (k + (k - 1) + (p - 2)) + shared,
        }
    )
    assert one["mode"] == "penalty" and one["us"] == one["equations"]["4.5"]
    assert one["virtual_us"] > 0 and answer["model"] == "mixed"
    shown = stage.unisono("predict", *words, environment=built).stdout
    assert "4.6: the upper bound" in shown and "smcc(m_s)" in shown


@needs_build
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["reduce", "--layout", "3x4"], "those of a broadcast along a chain"),
        (["bcast", "--layout", "4"], "those of several nodes"),
        (["bcast", "--layout", "3x4", "--algorithms", "flat,chain"], "two_level_chain alone"),
    ],
)
def test_mixed_mode_is_of_one_algorithm(
    stage: Stage, built: dict[str, str], words: list[str], why: str
) -> None:
    refused = stage.unisono("predict", *words, "--model", "mixed", environment=built)
    assert refused.returncode == 2 and why in refused.stderr


@needs_build
def test_layers_add_up(stage: Stage, built: dict[str, str]) -> None:
    """Each layer by itself, as other questions have it; what the whole takes in virtual time is their sum."""
    words = ["allreduce", "--layout", "4x4", "--size", "64K", "--model", "layers"]
    [answer] = predictions(stage, built, *words)
    assert answer["model"] == "layers" and len(answer["predictions"]) > 3
    one = next(
        one for one in answer["predictions"] if one["text"] == "two_level_recursive_doubling(overlap=0)"
    )
    parts = [(part["operation"], part["algorithm"], part["between_nodes"]) for part in one["layers"]]
    assert parts == [
        ("reduce", "shared", False),
        ("allreduce", "recursive_doubling", True),
        ("bcast", "shared", False),
    ]
    assert one["us"] == pytest.approx(sum(part["us"] for part in one["layers"]))
    alone = ["allreduce", "--layout", "4x1", "--size", "64K", "--algorithms", "recursive_doubling"]
    between = predictions(stage, built, *alone)[0]["predictions"][0]["us"]
    assert one["layers"][1]["us"] == pytest.approx(between)
    assert one["us"] == pytest.approx(one["virtual_us"], rel=0.1)
    shown = stage.unisono("predict", *words, environment=built).stdout
    assert "allreduce between nodes" in shown and "at most 4096 bytes" not in shown


@needs_build
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["alltoall", "--layout", "4x4"], "has no two-level algorithm whose layers"),
        (["bcast", "--layout", "4x1"], "of several nodes of several ranks"),
        (["bcast", "--layout", "4x4", "--algorithms", "chain"], "of two-level algorithms alone"),
        (["bcast", "--layout", "4x4", "--algorithms", "two_level_chain"], "two_level_chain(overlap=0)"),
    ],
)
def test_what_has_no_layers(stage: Stage, built: dict[str, str], words: list[str], why: str) -> None:
    refused = stage.unisono("predict", *words, "--model", "layers", environment=built)
    assert refused.returncode == 2 and why in refused.stderr


@needs_build
def test_machine_file(stage: Stage, built: dict[str, str]) -> None:
    shown = stage.unisono("machine", "show", "typical", "--json", environment=built)
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
        (["bcast", "--graph", "ring"], "--graph goes with collectives of neighbours; bcast is none"),
        (["neighbor_alltoall", "--graph", "cart:3x3"], "a grid of 3x3 does not have 8 ranks"),
        (["neighbor_alltoall", "--graph", "frob"], "write moore:2,4"),
        ([], "which operation"),
    ],
)
def test_refuses(stage: Stage, built: dict[str, str], words: list[str], says: str) -> None:
    machine = json.loads(stage.unisono("machine", "show", "typical", "--json", environment=built).stdout)
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


def cell(operation: str, byte_count: int, native_s: float, **candidates: float) -> dict[str, Any]:
    tried = [{"name": name, "tried_s": s, "seconds": None} for name, s in candidates.items()]
    return {
        "operation": operation,
        "bytes": byte_count,
        "ranks": 4,
        "native_s": native_s,
        "candidates": tried,
    }


def test_errors_of_predictions() -> None:
    """By hand: predicted 2, 1 and 4 us where 1, 2 and 4 were measured; the model picks what takes twice the best."""

    def ask(operation: str, byte_count: int, names: list[str]) -> dict[str, Any]:
        assert (operation, byte_count, names) == ("bcast", 8, ["native", "chain", "flat"])
        times = {"native": 2, "chain": 1, "flat": 4}
        return {"predictions": [{"algorithm": name, "asked": name, "us": us} for name, us in times.items()]}

    found = model_fit.fits([cell("bcast", 8, 1e-6, chain=2e-6, flat=4e-6)], ask)
    assert sorted(fit.error for fit in found) == pytest.approx([-0.5, 0, 1])
    errors = model_fit.errors(found)
    assert (errors.count, errors.median, errors.middle) == (3, pytest.approx(0), pytest.approx(0.5))
    assert errors.close == pytest.approx(1 / 3) and errors.within_factor_2 == 1
    assert model_fit.regret(found) == pytest.approx(2)


@needs_build
def test_measured_cells(stage: Stage, built: dict[str, str]) -> None:
    measured = [
        cell("bcast", 1024, 3e-6, chain=4e-6, **{"chain(segment=8192)": 5e-6}),
        cell("barrier", 0, 2e-6),
    ]
    (stage.work / "cells.json").write_text(json.dumps(measured))
    words = ["predict", "--layout", "4", "--measured", "cells.json"]
    answer = stage.unisono(*words, "--json", environment=built)
    assert answer.returncode == 0, answer.stderr
    outcome = json.loads(answer.stdout)
    assert {fit["algorithm"] for fit in outcome["fits"]} == {"native", "chain", "chain(segment=8192)"}
    assert outcome["errors"]["all"]["count"] == 4
    assert "within 20 %" in stage.unisono(*words, environment=built).stdout
    wrong = stage.unisono("predict", "--layout", "2x4", "--measured", "cells.json", environment=built)
    assert wrong.returncode == 2 and "measured with 4 ranks, the layout has 8" in wrong.stderr
    (stage.work / "cells.json").write_text("{}")
    assert stage.unisono(*words, environment=built).returncode == 2


@needs_build
def test_hundred_thousand_ranks(stage: Stage, built: dict[str, str]) -> None:
    words = ["allreduce", "--layout", "100000x1", "--size", "1M", "--algorithms", "ring"]
    [answer] = predictions(stage, built, *words)
    [ring] = answer["predictions"]
    assert answer["ranks"] == 100_000 and ring["is_for_all_nodes"]
    assert ring["us"] > 2 * 99_999 * 1.5
