# SPDX-License-Identifier: BSD-3-Clause
"""The time of `unisono tune --budget`, on a machine whose clock goes by what is done: start-up, predictions, waits for jobs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from test_tune import ALGORITHMS, PLACE, Machine
from unisono.commands.tune_all import Tuning
from unisono.commands.tune_run import Asked
from unisono.common.budget import Budget
from unisono.measuring import bench
from unisono.measuring.measurer import JobError

KIB, MIB = 1 << 10, 1 << 20
SIZES = (8, 64, 512, 4 * KIB, 32 * KIB, 256 * KIB, 2 * MIB)


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


class SlowMachine(Machine):
    """A job that takes `start_s` to start, uses the time that it is given, and overruns it by a few calls."""

    start_s, call_s, dies_at = 4.0, 0.0, ""
    clock: Clock

    def __init__(self, *_: object, **__: object) -> None:
        super().__init__(lambda candidate, _size: 50 + len(candidate.algorithm))
        self.clock.now_s += self.start_s

    def __enter__(self) -> SlowMachine:
        return self

    def __exit__(self, *_: object) -> None:
        self.clock.now_s += 0.5  # until the launcher has ended

    def _calls_s(self, size: int) -> float:
        return self.call_s * size / MIB

    def look(
        self, operation: str, size: int, names: Sequence[str], seconds: float, is_alike: bool = False
    ) -> list[tuple[str, float]]:
        self.clock.now_s += min(seconds, 0.01) + self._calls_s(size)
        return super().look(operation, size, names, seconds, is_alike)

    def decide(self, operation: str, size: int, names: Sequence[str], seconds: float) -> bench.Cell:
        self.clock.now_s += seconds + 3 * self._calls_s(size)
        if operation == self.dies_at:
            self.clock.now_s += 2
            raise JobError("the measuring job has ended", names)
        return super().decide(operation, size, names, seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("time.monotonic", made)
    monkeypatch.setattr("unisono.commands.tune_run.Measurer", SlowMachine)
    monkeypatch.setattr("unisono.common.tool.algorithms", lambda: ALGORITHMS)
    monkeypatch.setattr(SlowMachine, "clock", made, raising=False)
    return made


def tuned(
    path: Path, clock: Clock, budget_s: float, kinds: Sequence[str] = ("world",)
) -> tuple[Tuning, float]:
    """A tuning, and how long it took."""
    plan = [(operation, size) for operation in ("bcast", "gatherv") for size in SIZES]
    asked = Asked(path / "table.json", "none", {}, lambda *_: [])
    whole = Tuning(asked, kinds, plan, exhaustive=False)
    start = clock()
    whole.go(Budget(budget_s))
    return whole, clock() - start


@pytest.mark.parametrize("budget_s", [10, 60, 300])
@pytest.mark.parametrize("call_s", [0.0, 0.05, 0.5])
def test_a_budget_is_kept(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, budget_s: float, call_s: float
):
    monkeypatch.setattr(SlowMachine, "call_s", call_s)
    whole, took_s = tuned(tmp_path, clock, budget_s)
    # The first cell of its size says how much longer than allowed such a cell takes.
    assert took_s <= budget_s + 0.5 + 12 * 2 * call_s
    assert took_s >= 0.5 * budget_s
    done = {(o.operation, o.bytes) for o in whole.outcomes}
    missing = whole.done[0].not_reached
    assert len(done) + len(missing) == 2 * len(SIZES) and not done & set(missing)
    assert call_s == 0.5 or not missing, "what has time is measured"


def test_predictions_are_in_the_budget(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch):
    def predicted(
        *words: object,
    ) -> dict[int, list[float | None]]:
        clock.now_s += 5
        sizes, candidates = words[3], words[4]
        assert isinstance(sizes, list) and isinstance(candidates, list)
        return {size: [1.0 for _ in candidates] for size in sizes}

    monkeypatch.setattr("unisono.commands.tune_run.machine_of", lambda _: tmp_path / "machine.json")
    monkeypatch.setattr("unisono.machine.predictions.predicted_by_size", predicted)
    asked = Asked(tmp_path / "table.json", None, {}, lambda *_: [])
    whole = Tuning(asked, ["world"], [("bcast", size) for size in SIZES], exhaustive=False)
    start = clock()
    whole.go(Budget(30))
    assert clock() - start <= 31
    assert len(whole.outcomes) == len(SIZES)


def test_what_dies_takes_of_the_budget(tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch):
    """Each failure starts the job anew; when the time is up no further one is started."""
    monkeypatch.setattr(SlowMachine, "dies_at", "bcast")
    monkeypatch.setattr("unisono.commands.tune_run._MOST_FAILURES", 1000)
    asked = Asked(tmp_path / "table.json", "none", {}, lambda *_: [])
    plan = [("gatherv", 8), ("bcast", 8)]
    whole = Tuning(asked, ["world"], plan, exhaustive=False)
    start = clock()
    whole.go(Budget(40))
    assert clock() - start <= 1.25 * 40
    assert whole.done[0].not_reached == [("bcast", 8)]


def test_what_was_not_reached_waits_for_the_next_run(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(SlowMachine, "call_s", 3.0)
    whole, _ = tuned(tmp_path, clock, 30)
    missing = whole.done[0].not_reached
    assert missing
    whole.drop_kept()
    whole.say()
    assert "no time for" in capsys.readouterr().out
    monkeypatch.setattr(SlowMachine, "call_s", 0.0)
    again, took_s = tuned(tmp_path, clock, 30)
    assert "goes on after" in capsys.readouterr().err
    assert took_s <= 31 and not again.done[0].not_reached
    again.drop_kept()
    assert not list(tmp_path.glob(".*progress"))


def test_a_kind_that_there_was_no_time_for_is_said(
    tmp_path: Path, clock: Clock, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(SlowMachine, "start_s", 20.0)
    monkeypatch.setattr(SlowMachine, "place", PLACE)
    whole, took_s = tuned(tmp_path, clock, 10, ("world", "node"))
    assert [part.comm for part in whole.done] == ["world"] and took_s < 25
    assert "--comm node is left out: there was no time for it" in capsys.readouterr().err
