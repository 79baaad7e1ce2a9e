# SPDX-License-Identifier: BSD-3-Clause
"""From made-up costs of messages and shared memory back to the parameters that they were made of."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest
from conftest import ROOT
from unisono.commands.tune_run import machine_of
from unisono.common import places
from unisono.machine import catalogue, document, findings, fit, values
from unisono.machine.costs import CALLS, FUSED_CALL, MESSAGE_CALLS, Costs, Question, jump, measure, plan
from unisono.machine.host import processor_name
from unisono.measuring.measurer import Place

SCHEMA = json.loads((ROOT / "python/unisono/schema/machine.schema.json").read_text())
ONE_NODE = Place("Test MPI 1.0", 2, 1, (2, 2), True, 2)
TWO_NODES = Place("Test MPI 1.0", 8, 2, (4, 4), True, 2)
ALPHA, BETA = 2.0, 1e-3  # microseconds, a byte


def time_us(question: Question, name: str) -> float:
    """A machine by formulas."""
    message = ALPHA + BETA * question.bytes
    is_far = question.group == "numa"
    times = {
        "half": message,
        "os": 0.5,
        "or": 0.25,
        "gap": 1.0 + BETA * question.bytes * (4 if question.group == "nets" else 1),
        "alone": message,
        "beside": message + 3,
        "copy": message / 2,
        "switch": 1.5,
    }
    shared = {
        "signal": 0.01,
        "await": 0.02,
        "pair_sync": 0.1,
        "group_sync": {"spin": 0.3, "pause": 0.2, "yield": 2.0, "futex": 3.0, "sleep": 4.0}.get(
            question.wait, 0
        ),
        "allreduce": 0.1 + (0.07 if is_far else 0.04) * {8: 2, 280: 10}.get(question.bytes, 100),
        "get": 0.05 + (1.5e-4 if is_far else 1e-4) * question.bytes,
        FUSED_CALL: 0.1 + 0.07 + 2 * 0.04,
        "pipeline": question.bytes * (1e-4 if question.bytes * question.buffers <= 256 << 10 else 2e-4),
    }
    if question.what == "serial":  # half a round trip until the root has told its children
        return ALPHA + (3 + question.buffers * (0.5 + 0.01 * question.bytes))
    return times[name] if name in times else shared.get(question.what, 0.05 + 1e-4 * question.bytes)


SERIES = {
    "ping_pong": ("half",),
    "fresh": ("half",),
    "overheads": ("os", "or"),
    "gap": ("gap",),
    "overlap": ("alone", "beside", "copy"),
    "switch": ("switch",),
}


def answer(question: Question) -> dict[str, np.ndarray]:
    """Samples around the formula's time; no two ranks lie in different caches or sockets."""
    if question.group in ("cache", "socket"):
        return {}
    spread = np.linspace(0.97, 1.03, 21)
    return {name: time_us(question, name) * 1e-6 * spread for name in SERIES.get(question.what, ("time",))}


class FormulaJob:
    def __init__(self) -> None:
        self.asked: list[Question] = []

    def cost(
        self, what: str, size: int, group: str, buffers: int, wait: str, seconds: float
    ) -> dict[str, np.ndarray]:
        question = Question(what, group, size, buffers, wait)
        self.asked.append(question)
        return answer(question)


def costs_of(place: Place, cores: int = 4) -> Costs:
    job = FormulaJob()
    return measure(job, plan(place, cores), 1000, lambda _: None)


@pytest.fixture(autouse=True)
def no_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unisono.machine.costs._PATIENCE_S", 0.0)


@pytest.fixture
def base() -> dict[str, Any]:
    link = {"hockney": {"alpha_us": 7, "beta_us_per_byte": 7}}
    return {
        "schema": "unisono-machine",
        "version": 1,
        "name": "other",
        "cores_per_node": 48,
        "switch_us": 9,
        "node": link,
        "network": link,
        "network_card": {"message_us": 7, "us_per_byte": 7},
        "shared_memory": {"channel_bytes": 1 << 22, "put_us": {"bytes": [0], "us": [0.1]}},
        "overlap_penalty_us": {"bytes": [0], "us": [0]},
    }


def close(of: Any, expected: float) -> bool:
    """The interval holds the value, and the value is near what it was made of."""
    is_inside = of["low"] <= of["value"] <= of["high"]
    return bool(is_inside and of["value"] == pytest.approx(expected, rel=0.02, abs=1e-6))


def test_parameters_of_messages() -> None:
    link = fit.link(costs_of(TWO_NODES), "net")
    assert link is not None
    assert close(link["hockney"]["alpha_us"], ALPHA) and close(link["hockney"]["beta_us_per_byte"], BETA)
    loggp = link["loggp"]
    assert close(loggp["o_us"], (0.5 + 0.25) / 2) and close(loggp["L_us"], ALPHA - 0.75)
    assert close(loggp["g_us"], 1.0) and close(loggp["G_us_per_byte"], BETA)
    assert close(link["plogp"]["L_us"], ALPHA - 1.0)
    assert values.at(link["plogp"]["whole_us"], 3000) == pytest.approx(ALPHA + 3000 * BETA, rel=1e-3)
    assert findings.switch_point(link) == pytest.approx(ALPHA / BETA, rel=0.02)
    # 1 us + m ns costs at most twice m ns from 1000 bytes on, and at most 1.1 times from 10 000 on.
    assert findings.segment_range(link) == (1024, 16384)


def test_parameters_of_shared_memory() -> None:
    shared = fit.shared_memory(costs_of(ONE_NODE), ONE_NODE, 1 << 22)
    assert close(shared["signal_us"], 0.01) and close(shared["flag_us"], 0.07)
    assert close(shared["line_us"], 0.04) and close(shared["fused_us"], 0.1)
    assert values.at(shared["put_us"], 4096) == pytest.approx(0.05 + 0.4096, rel=1e-3)
    assert close(shared["memory_us_per_byte"], 1e-4 / 2)


def test_distances() -> None:
    place = Place("Test MPI 1.0", 8, 1, (8, 8), True, 8)
    shared = fit.shared_memory(costs_of(place, 8), place, 1 << 22)
    [numa] = shared["distances"]
    assert numa["across"] == "numa"
    assert close(numa["line_us"], 0.07) and close(numa["us_per_byte"], 5e-5)
    assert "distances" not in fit.shared_memory(costs_of(ONE_NODE), ONE_NODE, 1 << 22)


def test_serial_reductions() -> None:
    """What a child adds follows from them; the time until children are told is taken off."""
    found = fit.serial_reductions(costs_of(TWO_NODES))
    assert [(one["level"], one["bytes"]) for one in found] == [
        ("node", 8), ("node", 64), ("network", 8), ("network", 64),
    ]  # fmt: skip
    for one in found:
        assert one["children"] == [1, 2, 4, 8, 16]
        expected = [3 + children * (0.5 + 0.01 * one["bytes"]) for children in one["children"]]
        assert one["us"] == pytest.approx(expected, rel=0.02)
        assert all(
            low <= us <= high for low, us, high in zip(one["low"], one["us"], one["high"], strict=True)
        )


def test_a_call_and_its_steps_are_told_apart() -> None:
    """0.3 us a call and 0.05 us a step, on top of what the model says."""
    predicted = {call: (1.0 + i, 2.0 + 3 * i) for i, call in enumerate(CALLS)}
    costs = Costs()
    for (name, size), (us, steps) in predicted.items():
        samples = (us + 0.3 + 0.05 * steps) * 1e-6 * np.linspace(0.999, 1.001, 11)
        costs.add(Question(f"call {name}:shared", "pair", size), {"time": samples})
    found = fit.calls(costs, predicted)
    assert close(found["call_us"], 0.3) and close(found["step_us"], 0.05)
    assert fit.calls(Costs(), predicted) == {}


def test_how_a_core_changes_from_one_that_waits_for_messages(base: dict[str, Any]) -> None:
    """Of the values that are tried, the one by which the calls come out; one call that goes in step with the turns does not mislead."""
    place = Place("Test MPI 1.0", 8, 1, (8, 8), True, 2)
    calls = MESSAGE_CALLS
    asked = {(q.what, q.bytes) for q in plan(place, 2) if q.group == "node"}
    assert {(f"call {name}:{by}", size) for name, by, size in calls} <= asked
    assert not any(q.what == "call barrier:dissemination" for q in plan(place, 8))
    predicted = {
        tried: {call: 3 + tried * (2 + i) for i, call in enumerate(calls)} for tried in (1.0, 2.0, 4.0)
    }
    costs = Costs()
    for call in calls:
        us = predicted[2.0][call] * (3 if call == calls[0] else 1)
        samples = us * 1e-6 * np.linspace(0.999, 1.001, 11)
        costs.add(Question(f"call {call[0]}:{call[1]}", "node", call[2]), {"time": samples})
    measured = fit.message_calls(costs, place)
    assert fit.message_switch(measured, predicted) == {"value": 2.0, "low": 2.0, "high": 2.0}
    assert fit.message_switch(fit.message_calls(Costs(), place), predicted) is None
    # Where it is not measured it stands to a switch as on the base machine, which knows of none here.
    made = document.assemble(costs_of(ONE_NODE), ONE_NODE, 2, base, 1 << 22, {})
    assert made["message_switch_us"] == 1.5
    made = document.assemble(costs_of(ONE_NODE), ONE_NODE, 2, base | {"message_switch_us": 18}, 1 << 22, {})
    assert made["message_switch_us"] == 3.0


def test_nodes_that_share_cores_are_asked_together(base: dict[str, Any]) -> None:
    """Four nodes of two ranks on two cores: no node's ranks share cores with each other alone."""
    place = Place("Test MPI 1.0", 8, 4, (2, 2), True, 2, nodes_on_cores=4)
    apart = replace(place, nodes_on_cores=1)
    asked, asked_apart = ({(q.what, q.group) for q in plan(one, 2)} for one in (place, apart))
    name, by, _ = MESSAGE_CALLS[0]
    assert (f"call {name}:{by}", "all") in asked
    assert not any(group == "all" or what.startswith(f"call {name}:{by}") for what, group in asked_apart)
    made = document.assemble(costs_of(place), place, 2, base, 1 << 22, {})
    assert (made["cores_per_node"], made["nodes_on_cores"]) == (2, 4)
    jsonschema.validate(made, SCHEMA)
    uneven = replace(place, ranks_per_node=(1, 3), ranks_of_nodes=(1, 3, 3, 1))
    assert any(q.group == "all" for q in plan(uneven, 2))
    assert (place.predicted_layout, uneven.predicted_layout) == ("4x2", "1,3,3,1")
    assert replace(uneven, is_consecutive=False).predicted_layout == "1,3,3,1/cyclic"
    assert not uneven.is_like(replace(uneven, ranks_of_nodes=(3, 1, 1, 3)))


def test_several_pairs_share_a_card(base: dict[str, Any]) -> None:
    card = fit.network_card(costs_of(TWO_NODES), TWO_NODES)
    assert card is not None and close(card["us_per_byte"], BETA) and close(card["message_us"], 0.25)
    alone = Place("Test MPI 1.0", 2, 2, (1, 1), True, 2)
    made = document.assemble(costs_of(alone), alone, 2, base, 1 << 22, {})
    assert made["network_card"]["message_us"] == 0, "one rank has the card for itself"
    assert "node" in made["measured"]["not_measured"] and made["node"] == base["node"]


def test_what_is_not_measured_is_said(base: dict[str, Any]) -> None:
    made = document.assemble(costs_of(ONE_NODE), ONE_NODE, 2, base, 1 << 22, {"base": "other"})
    assert made["network"] == base["network"] and made["cores_per_node"] == 2
    assert set(made["measured"]["not_measured"]) == {"network", "network_card", "overlap_penalty_us"}
    assert "network_segment_bytes" not in made["findings"]
    assert (
        made["findings"]["buffers"][0]["piece_bytes"] * made["findings"]["buffers"][0]["buffers"] <= 256 << 10
    )
    assert set(made["findings"]["operations"]) == {
        "sender_put",
        "receiver_get",
        "pair_sync",
        "group_get",
        "group_seg_get",
        "group_seg_put",
        "group_sync",
    }


def test_between_nodes_overlap_is_measured(base: dict[str, Any]) -> None:
    made = document.assemble(costs_of(TWO_NODES), TWO_NODES, 4, base, 1 << 22, {})
    assert made["measured"]["not_measured"] == []
    assert made["overlap_penalty_us"]["us"] == pytest.approx([3.0] * 4, rel=0.02)
    pairs = made["findings"]["overlap"]
    assert pairs and all(o["overlap"][0] <= o["overlap"][1] <= o["segment"] for o in pairs)


def test_questions_go_with_the_layout() -> None:
    waits = {q.wait for q in plan(Place("", 8, 1, (8, 8), True), 2) if q.what == "group_sync"}
    assert waits == {"yield", "futex", "sleep"}, "who keeps a shared core waits for ticks"
    assert {q.group for q in plan(Place("", 2, 2, (1, 1), True), 2)} == {"net"}
    totals = {q.bytes * q.buffers for q in plan(ONE_NODE, 2) if q.what == "pipeline"}
    assert (min(totals), max(totals)) == (8 << 10, 8 << 20)
    assert plan(Place("", 1, 1, (1, 1), True), 2) == []


def test_a_change_of_protocol_is_looked_for() -> None:
    """From 3000 bytes on a message takes 5 us more."""
    costs = Costs()
    steps = []

    def add(size: int) -> None:
        us = 0.2 + size * 1e-4 + (5 if size >= 3000 else 0)
        costs.add(Question("ping_pong", "net", size), {"half": np.full(9, us * 1e-6)})

    for size in (0, 1024, 2048, 4096, 8192):
        add(size)
    while (between := jump(costs, "net")) is not None and len(steps) < 10:
        steps.append(between)
        add(between)
    assert steps[:2] == [3072, 2560]
    assert all(2048 < step < 4096 for step in steps) and len(steps) < 10


def test_more_is_asked_where_samples_scatter() -> None:
    class Noisy(FormulaJob):
        def cost(self, what: str, *of: Any) -> dict[str, np.ndarray]:
            super().cost(what, *of)
            random = np.random.default_rng(len(self.asked))
            return {"time": random.uniform(1, 2 if what == "signal" else 1.001, 10)}

    job = Noisy()
    measure(job, [Question("await", "pair"), Question("signal", "pair")], 1000, lambda _: None)
    counts = [sum(q.what == what for q in job.asked) for what in ("await", "signal")]
    assert counts[0] == 1 and counts[1] > 1


def test_what_was_measured_on_two_machines_is_not_put_together() -> None:
    """The machine becomes another one at the fifth question, and another one again and again."""

    class Moving(FormulaJob):
        def __init__(self, moves_at: set[int]) -> None:
            super().__init__()
            self.factor, self.moves_at, self.real = 1.0, moves_at, 0

        def cost(self, what: str, size: int, group: str, *of: Any) -> dict[str, np.ndarray]:
            found = super().cost(what, size, group, *of)
            if what == "put":
                self.real += 1
                self.factor *= 2 if self.real in self.moves_at else 1
            return {name: samples * self.factor for name, samples in found.items()}

    questions = [Question("put", "pair", size) for size in (8, 64, 512, 4096, 8192, 16384)]
    once = measure(Moving({5}), questions, 1000, lambda _: None)
    assert once.is_steady
    times = [float(np.median(once.series[q, "time"])) for q in questions]
    assert times == pytest.approx([2e-6 * time_us(q, "time") for q in questions]), "all of the second one"
    often = measure(Moving(set(range(0, 200, 5))), questions, 1000, lambda _: None)
    assert not often.is_steady and len(often.series) == len(questions)


def test_when_the_time_is_over_nothing_is_asked_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine changes, and the time is over with the first change: what is known by then stays, the rest is asked once."""
    clock = [0.0]

    class Changing(FormulaJob):
        def __init__(self) -> None:
            super().__init__()
            self.puts: list[int] = []

        def cost(self, what: str, size: int, group: str, *of: Any) -> dict[str, np.ndarray]:
            clock[0] += 1.0
            found = super().cost(what, size, group, *of)
            if what != "put":
                return {name: samples * (1 if len(self.puts) < 3 else 3) for name, samples in found.items()}
            self.puts.append(size)
            return found

    monkeypatch.setattr("unisono.machine.costs.time.monotonic", lambda: clock[0])
    monkeypatch.setattr("unisono.machine.costs.time.sleep", lambda _: None)
    sizes = [8, 64, 512, 4096, 8192, 16384]
    questions = [Question("put", "pair", size) for size in sizes]
    job = Changing()
    costs = measure(job, questions, 10, lambda _: None)
    assert not costs.is_steady
    assert {question.bytes for question, _ in costs.series} == set(sizes)
    after = job.puts.index(512)
    assert set(job.puts[after:]) & {8, 64} == set(), "those were known"


def test_a_machine_that_changed_is_not_taken_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kept = tmp_path / "mine.json"
    monkeypatch.setattr("unisono.machine.catalogue.measured_for", lambda _: kept)
    for facts, wanted in (({}, kept), ({"is_steady": True}, kept), ({"is_steady": False}, None)):
        kept.write_text(json.dumps({"measured": facts}))
        assert machine_of(ONE_NODE) == wanted
        assert ("changed while it was measured" in capsys.readouterr().err) == (wanted is None)


def test_a_machine_is_taken_where_it_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert catalogue.measured_for(ONE_NODE) is None
    measured = {"processor": processor_name(), "mpi": ONE_NODE.mpi, "not_measured": ["network"]}
    kept = catalogue.write({"name": catalogue.own_name(), "measured": measured})
    assert kept.parent == places.cache() / "machines"
    assert catalogue.measured_for(ONE_NODE) == kept
    assert catalogue.measured_for(TWO_NODES) is None, "it knows no messages between nodes"
    other = Place("Other MPI", 2, 1, (2, 2), True)
    assert catalogue.measured_for(other) is None
