# SPDX-License-Identifier: BSD-3-Clause
"""`unisono tune`: what it looks at, what it decides, and how it goes on after trouble, on machines with made-up times."""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from test_bench import executable
from unisono.commands.group import cli
from unisono.commands.tune_all import undecided_text
from unisono.commands.tune_run import shares_cores
from unisono.commands.values import budget_in_seconds
from unisono.machine.predictions import Predictions
from unisono.measuring import bench
from unisono.measuring.candidates import Candidate, parse
from unisono.measuring.measurer import JobError, Measurer, Place, mpi_name
from unisono.tuning import results, search_space
from unisono.tuning.results import choose
from unisono.tuning.searching import Tuner

KIB = 1 << 10
PLACE = Place("Test MPI 1.0", 16, 4, (4, 4), True)


def entry(operation: str, name: str, group: str, **standards: int) -> dict:
    parameters = [
        {"name": key, "low": 0, "high": 1 << 30, "default": value} for key, value in standards.items()
    ]
    means = {"shared_memory": group in ("two levels", "shared"), "levels": 2 if group == "two levels" else 1}
    return {"operation": operation, "name": name, "group": group, "parameters": parameters, **means}


CUT = {"segment": 0, "window": 2}
ALGORITHMS = [
    entry("bcast", "flat", "tree"),
    entry("bcast", "binomial", "tree", **CUT),
    entry("bcast", "chain", "tree", **CUT),
    entry("bcast", "ring", "ring", **CUT),
    entry("bcast", "pairs", "pairs"),
    entry("bcast", "two_level_chain", "two levels", **CUT, overlap=1 << 30),
    entry("gatherv", "flat", "tree"),
    entry("gatherv", "shared", "shared"),
]


class Machine:
    """Stands for a job: times by a function of the candidate, in microseconds."""

    place = PLACE

    def __init__(
        self, time_us: Callable[[Candidate, int], float], native_us: float = 100, own: str = "flat"
    ) -> None:
        self.time_us = time_us
        self.native_us = native_us
        self.own = own
        self.looks: list[Candidate] = []
        self.are_alike: set[bool] = set()
        self.finalists: list[str] = []
        self.unable: set[str] = set()

    def choice(self, operation: str, size: int) -> str:
        return self.own

    def able(self, operation: str, size: int, names: Sequence[str]) -> list[str]:
        return [name for name in names if name not in self.unable]

    def look(
        self, operation: str, size: int, names: Sequence[str], seconds: float, is_alike: bool = False
    ) -> list[tuple[str, float]]:
        self.looks += [parse(name) for name in names]
        self.are_alike.add(is_alike)
        return [(name, 1e-6 * self.time_us(parse(name), size)) for name in names]

    def compare(self, operation: str, size: int, names: Sequence[str], seconds: float) -> bench.Cell:
        return self.decide(operation, size, names, seconds)

    def decide(self, operation: str, size: int, names: Sequence[str], seconds: float) -> bench.Cell:
        self.finalists = list(names)
        own_us = self.time_us(parse(self.own), size)
        own = self.native_us / own_us
        candidates = tuple(
            bench.Candidate(
                name, us * 1e-6, us * 1e-6, *[self.native_us / us] * 3, us * 1e-6, us * 1e-6, own_us / us
            )
            for name in names
            for us in [self.time_us(parse(name), size)]
        )
        return bench.Cell(
            operation,
            size,
            16,
            1,
            9,
            self.native_us * 1e-6,
            own_us * 1e-6,
            own,
            own,
            own,
            True,
            self.own,
            candidates,
        )


def parameter(candidate: Candidate, name: str, standard: int) -> int:
    return dict(candidate.parameters).get(name, standard)


def pipelined(candidate: Candidate, size: int) -> float:
    """A chain is best in segments of 32 KiB and with window 4; the others are slower, cut or not."""
    if candidate.algorithm != "chain":
        return {"flat": 90.0, "binomial": 70.0, "ring": 85.0, "pairs": 300.0, "two_level_chain": 95.0}[
            candidate.algorithm
        ]
    segment = parameter(candidate, "segment", 0)
    distance = abs((segment or size).bit_length() - (32 * KIB).bit_length())
    return 30 + 5 * distance - (3 if parameter(candidate, "window", 2) == 4 and segment else 0)


def test_few_looks_find_what_an_exhaustive_search_finds():
    size = 1 << 20
    machine = Machine(pipelined)
    outcome = Tuner(ALGORITHMS).tune(machine, "bcast", size, 1)
    exhaustive = Machine(pipelined)
    best = Tuner(ALGORITHMS, is_exhaustive=True).tune(exhaustive, "bcast", size, 1)
    assert outcome.winner() == best.winner() == "chain(segment=32768,window=4)"
    assert len(machine.looks) == outcome.looked < len(exhaustive.looks) / 3
    assert len(exhaustive.looks) == len(set(exhaustive.looks)) == best.looked
    assert machine.are_alike == {False}, "what is slow is cut short"
    assert exhaustive.are_alike == {True}, "nothing is"


def test_groups_are_looked_at_by_one_of_them_first():
    machine = Machine(lambda c, _: {"tree": 50, "ring": 40, "pairs": 80}.get(group_of(c), 90))
    Tuner(ALGORITHMS).tune(machine, "bcast", 8, 1)
    assert [c.algorithm for c in machine.looks[:4]] == ["flat", "ring", "pairs", "two_level_chain"]
    assert {c.algorithm for c in machine.looks[4:]} == {"binomial", "chain"}, "the rest of the best groups"


def test_a_group_whose_first_may_not_run_is_looked_at_by_its_next():
    class Picky(Machine):
        def look(
            self, operation: str, size: int, names: Sequence[str], seconds: float, is_alike: bool = False
        ) -> list[tuple[str, float]]:
            """Neither flat nor ring may run."""
            able = [name for name in names if not name.startswith(("flat", "ring"))]
            return super().look(operation, size, able, seconds, is_alike)

    machine = Picky(lambda c, _: {"tree": 40, "pairs": 80}.get(group_of(c), 90))
    Tuner(ALGORITHMS).tune(machine, "bcast", 8, 1)
    assert [c.algorithm for c in machine.looks[:3]] == ["pairs", "two_level_chain", "binomial"]
    assert machine.looks[3].algorithm == "chain", "the rest of the best group; the ring has no other"


def group_of(candidate: Candidate) -> str:
    return next(a["group"] for a in ALGORITHMS if a["name"] == candidate.algorithm)


def test_what_is_expected_to_be_slow_is_not_looked_at():
    expected = {"flat": 10.0, "binomial": 20.0, "chain": 29.0, "ring": 31.0, "pairs": None}
    machine = Machine(lambda c, _: 50)
    tuner = Tuner(ALGORITHMS, expected=lambda _, __, cs: [expected.get(c.algorithm, 99.0) for c in cs])
    tuner.tune(machine, "bcast", 8, 1)
    assert {c.algorithm for c in machine.looks} == {"flat", "binomial", "chain", "pairs"}


def test_predictions_of_an_operation_are_asked_for_at_once(monkeypatch: pytest.MonkeyPatch):
    questions = []

    def answers(*words: str) -> list[dict]:
        questions.append(words)
        sizes = [int(value) for word, value in itertools.pairwise(words) if word == "--bytes"]
        return [{"bytes": size, "predictions": [{"asked": "flat", "us": size * 1.0}]} for size in sizes]

    monkeypatch.setattr("unisono.common.tool.ask_lines", answers)
    expected = Predictions("typical", "4x4", [("bcast", 8), ("bcast", 64), ("barrier", 0)])
    candidates = [Candidate("flat"), Candidate("ring")]
    assert expected("bcast", 8, candidates) == [8.0, None]
    assert expected("bcast", 64, candidates) == [64.0, None]
    assert len(questions) == 1
    assert expected("barrier", 0, candidates) == [0.0, None]
    assert "--time-ms" not in questions[0]


def test_predictions_share_out_their_time_among_operations(monkeypatch: pytest.MonkeyPatch):
    questions = []

    def answers(*words: str) -> list[dict]:
        questions.append(words)
        return [{"bytes": 8, "predictions": []}]

    monkeypatch.setattr("unisono.common.tool.ask_lines", answers)
    expected = Predictions("typical", "64x48", [("bcast", 8), ("barrier", 0)], most_s=30)
    assert expected("bcast", 8, [Candidate("flat")]) == [None]
    assert dict(itertools.pairwise(questions[0]))["--time-ms"] == "15000"


@pytest.mark.parametrize(
    ("times", "own", "wanted"),
    [
        ({"native": [1.0], "ring": [1.5], "flat": [1.2]}, "flat", "ring"),
        ({"native": [1.0], "ring": [0.9], "flat": [0.8]}, "flat", "native"),
        ({"native": [1.0], "ring": [1.01], "flat": [0.9]}, "flat", "native"),
        ({"native": [1.0], "ring": [2.0], "flat": [1.99]}, "flat", "flat"),
        ({"native": [1.0, 1.0], "ring": [3.0, 0.9], "flat": [1.1, 1.2]}, "ring", "flat"),
    ],
    ids=["fastest", "native", "level-with-native", "level-with-own-choice", "slower-at-one-size"],
)
def test_what_wins(times: dict[str, list[float]], own: str, wanted: str):
    assert choose(times, own) == wanted


def overlapping(penalty_from: int) -> Callable[[Candidate, int], float]:
    """More overlap is better, until segments are so long that copies and messages are in each other's way."""

    def time_us(candidate: Candidate, size: int) -> float:
        segment, overlap = parameter(candidate, "segment", 0), parameter(candidate, "overlap", 0)
        if candidate.algorithm != "two_level_chain":
            return 500
        if segment == 0:
            return 300
        gained = 100 * overlap / segment if segment < penalty_from else -100 * overlap / segment
        return 200 - 10 * segment.bit_length() / 4 - gained

    return time_us


def test_larger_segments_are_left_once_they_lose():
    size = 8 << 20
    machine = Machine(overlapping(penalty_from=512 * KIB))
    outcome = Tuner(ALGORITHMS).tune(machine, "bcast", size, 1)
    assert outcome.winner() == "two_level_chain(overlap=131072,segment=131072)"
    overlapped = {dict(c.parameters)["segment"] for c in machine.looks if parameter(c, "overlap", 0) > 0}
    assert max(overlapped) == 512 * KIB, "the first one that lost, none beyond"
    every = sum(
        1 for a in ALGORITHMS if a["operation"] == "bcast" for _ in search_space.matrix(a, size, PLACE)
    )
    assert outcome.looked < every / 2


def test_what_the_machine_says_is_worth_a_test():
    """Of segments those in range and next to it, of each no more overlap than the node can copy meanwhile."""
    found = {
        "network_segment_bytes": [64 * KIB, 256 * KIB],
        "node_segment_bytes": [4 * KIB, 8 * KIB],
        "overlap": [{"segment": 128 * KIB, "overlap": [32 * KIB, 64 * KIB]}],
    }
    size = 8 << 20
    machine = Machine(overlapping(penalty_from=512 * KIB), native_us=1000)
    tuner = Tuner(ALGORITHMS, ranges=search_space.ranges_of(found, 4))
    outcome = tuner.tune(machine, "bcast", size, 1)
    looked = {parameter(c, "segment", 0) for c in machine.looks} - {0}
    assert looked == {32 * KIB, 128 * KIB, 512 * KIB}
    overlapped = {(parameter(c, "segment", 0), parameter(c, "overlap", 0)) for c in machine.looks}
    assert {o for s, o in overlapped if s == 128 * KIB} == {0, 64 * KIB, 32 * KIB}
    assert not any(o for s, o in overlapped if s in (32 * KIB, 512 * KIB))
    assert outcome.winner() == "two_level_chain(overlap=65536,segment=131072)"
    inside = search_space.ranges_of(found, 1)
    assert inside.segments(size) == [2 * KIB, 8 * KIB]
    assert search_space.ranges_of({}, 4).segments(size) == search_space.segments(size)


def outcome(operation: str, size: int, **speedups: float) -> results.Outcome:
    own = speedups.get("own", 0.5)
    candidates = tuple(
        bench.Candidate(name, 1e-4 / s, 1e-4 / s, s, s, s, gain_low=s / own)
        for name, s in speedups.items()
        if name != "own"
    )
    cell = bench.Cell(
        operation, size, 16, 1, 9, 1e-4, 1e-4 / own, own, own, own, True, "own_choice", candidates
    )
    return results.Outcome(operation, size, cell, 3, 0.1)


def test_rules_cover_all_sizes_once():
    found = results.rules([outcome("bcast", size, ring=2.0) for size in (8, 512, 64 * KIB)], PLACE)
    ranges = [rule["bytes"] for rule in found]
    assert ranges[0][0] == 1
    assert ranges[-1][1] is None
    for (_, high), (low, _) in itertools.pairwise(ranges):
        assert low == high + 1
    for rule, size in zip(found, (8, 512, 64 * KIB), strict=True):
        low, high = rule["bytes"]
        assert low <= size <= (high or size)
        assert rule["algorithm"] == "ring"
        assert rule["nodes"] == [4, 4]
        assert rule["ranks_per_node"] == [4, 4]
        assert [other["algorithm"] for other in rule["others"]] == ["native", "own_choice"]


def test_the_own_choice_is_made_anew_beyond_the_last_size():
    """It goes by the size (pieces, segments): what it was at the last one is no choice for those far beyond."""
    found = results.rules([outcome("bcast", size, own=2.0) for size in (8, 64 * KIB)], PLACE)
    assert [(rule["algorithm"], rule["bytes"][1]) for rule in found] == [
        ("own_choice", 512),
        ("own_choice", 64 * KIB),
    ]


def test_rules_keep_what_they_were_measured_under():
    """A rule must not pass for one of another placement, or of cores that are shared."""
    (rule,) = results.rules([outcome("bcast", 8, ring=2.0)], PLACE, shares_cores=True)
    assert (rule["placement"], rule["oversubscribed"], rule["measured_bytes"]) == ("consecutive", True, 8)
    assert rule["mpi"] == "Test MPI 1"
    scattered = Place("Test MPI 1.0", 16, 4, (4, 4), False)
    (rule,) = results.rules([outcome("gatherv", 8, flat=2.0)], scattered)
    assert rule["placement"] == "scattered"
    assert "oversubscribed" not in rule, "where nobody knows it holds for both"


def test_rules_of_an_uneven_layout_are_for_no_single_number_of_ranks():
    uneven = Place("Test MPI 1.0", 16, 3, (3, 8), True)
    for rule in results.rules([outcome("bcast", 8, ring=2.0), outcome("gatherv", 8, flat=2.0)], uneven):
        assert rule["ranks_per_node"] == [3, 8]
        assert rule["note"].endswith("measured on 3 nodes, 3 to 8 ranks each")


@pytest.mark.parametrize(
    ("nodes", "ranks", "cores", "together", "shares"),
    [
        (1, (4, 4), 2, 1, True),
        (1, (4, 4), 4, 1, False),
        (1, (4, 4), 0, 1, None),
        (2, (4, 4), 2, 1, True),
        (2, (4, 4), 4, 1, None),
        (2, (4, 4), 4, 2, True),
        (2, (4, 4), 8, 2, None),
        (2, (3, 4), 2, 1, None),
    ],
)
def test_cores_that_are_shared(
    monkeypatch: pytest.MonkeyPatch,
    nodes: int,
    ranks: tuple[int, int],
    cores: int,
    together: int,
    shares: bool | None,
):
    """Several nodes may share the cores of one machine, and be seen to; of uneven ones the fullest may not be the one with the fewest
    cores."""
    monkeypatch.setattr("unisono.machine.measuring.usable_cores", lambda: 8)
    assert shares_cores(Place("MPI", 8, nodes, ranks, True, cores, together)) is shares


@pytest.mark.parametrize(
    ("registered", "first", "second"),
    [
        ({}, [1, 1024], [1025, None]),
        ({"most_bytes": 256}, [1, 256], [257, None]),
        ({"most_bytes": 4096}, [1, 1024], [1025, None]),
        ({"most_total_bytes": 4096}, [1, 256], [257, None]),
        ({"most_bytes": 512, "most_total_bytes": 1 << 20}, [1, 512], [513, None]),
    ],
)
def test_rules_end_where_their_algorithms_do(registered: dict[str, int], first: list, second: list):
    """Beyond, what has won at the next size serves, and not what was second at a smaller one."""
    limits = results.limits_of([{"operation": "bcast", "name": "ring", **registered}])
    found = results.rules(
        [outcome("bcast", 8, ring=2.0), outcome("bcast", 128 * KIB, flat=2.0)], PLACE, limits
    )
    assert [rule["bytes"] for rule in found] == [first, second]


def noisy(low: float, high: float, own: str = "flat") -> results.Outcome:
    """The own choice, whose times say little."""
    mean = (low * high) ** 0.5
    cell = bench.Cell("bcast", 8, 16, 1, 9, 1e-4, 1e-4 / mean, mean, low, high, True, own)
    return results.Outcome("bcast", 8, cell, 3, 0.1)


@pytest.mark.parametrize(
    ("low", "high", "is_open"),
    [(0.01, 1.2, True), (0.9, 1.1, True), (1.1, 3.0, False), (0.99, 1.5, False), (0.2, 1.01, False)],
)
def test_what_is_not_decided_says_so(low: float, high: float, is_open: bool):
    found = noisy(low, high)
    assert found.winner() == "flat", "the own choice stays as long as nothing is surely faster"
    assert found.undecided("flat") == ((low, high) if is_open else None)
    assert found.undecided("native") is None
    assert len(results.rules([found], PLACE)) == (0 if is_open else 1), "what is not decided is no rule"


def test_ranks_that_share_no_size_get_one_rule():
    found = results.rules(
        [
            outcome("gatherv", 8, flat=0.9, shared=1.1),
            outcome("gatherv", 64 * KIB, flat=3.0, shared=1.5),
        ],
        PLACE,
    )
    assert len(found) == 1
    assert "bytes" not in found[0]
    assert found[0]["algorithm"] == "shared", "the other one is slower than native at one size"


@pytest.mark.parametrize(("text", "seconds"), [("300", 300), ("90s", 90), ("5m", 300), ("1.5h", 5400)])
def test_budget(text: str, seconds: float):
    assert budget_in_seconds(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "m", "five", "-3s", "0", "inf", "nan", "1e400", "infh", "721h", "1e300"]
)
def test_wrong_budget(text: str):
    done = CliRunner().invoke(cli, ["tune", "--budget", text, "--", "mpirun"])
    assert done.exit_code == 2 and f"'{text}' is" in done.output


@pytest.mark.parametrize(
    ("library", "wanted"),
    [
        ("MPICH Version:      5.0.2", "MPICH 5.0.2"),
        ("Open MPI v5.0.11", "Open MPI 5.0.11"),
        ("Intel(R) MPI Library 2021.18 for Linux* OS", "Intel MPI 2021.18"),
        ("Another  MPI 3", "Another MPI 3"),
    ],
)
def test_name_of_an_mpi(library: str, wanted: str):
    assert mpi_name(library) == wanted


def test_a_job_that_does_not_start(tmp_path: Path):
    with pytest.raises(JobError, match="has ended"):
        Measurer([str(executable(tmp_path / "job", "#!/bin/sh\nexit 3\n"))])


# A job that says what it was asked, one candidate slower than the other.
ANSWERING = """#!{python}
import json, sys
print(json.dumps({{"is_active": True, "mpi": "MPI", "ranks": 2, "nodes": 1, "ranks_per_node": [2, 2], "is_consecutive": True}}), flush=True)
for line in sys.stdin:
    if line == "end\\n":
        break
    with open({requests!r}, "a") as file:
        file.write(line)
    names = line.rstrip("\\n").split("\\t")[4].split(";")
    looked = [{{"name": n.split(":")[1], "tried_s": int(n.split("=")[1][:-1]) / 1e6}} for n in names]
    print(json.dumps({{"looked": looked}}), flush=True)
"""


def test_long_lists_are_asked_for_in_portions(tmp_path: Path):
    """Open MPI 5's launcher loses what is behind the first 4 KiB of a line."""
    requests = tmp_path / "requests"
    job = executable(tmp_path / "job", ANSWERING.format(python=sys.executable, requests=str(requests)))
    names = [f"ring(segment={1000 - i})" for i in range(300)]
    with Measurer([str(job)]) as measurer:
        looked = measurer.look("allreduce", 64, names, 10)
    assert [name for name, _ in looked] == names[::-1], "all, the fastest first"
    lines = requests.read_text().splitlines()
    assert 1 < len(lines) < 10
    assert max(map(len, lines)) < 4096


def test_a_share_of_the_time_that_was_too_short_is_known():
    """Where the job has stopped by itself, more time would tell nothing."""
    found = Tuner(ALGORITHMS).tune(Machine(lambda *_: 50), "bcast", 8, 1)
    assert not found.is_cut_short

    class Slow(Machine):
        def decide(self, operation: str, size: int, names: Sequence[str], seconds: float) -> bench.Cell:
            time.sleep(seconds)
            return super().decide(operation, size, names, seconds)

    assert Tuner(ALGORITHMS).tune(Slow(lambda *_: 50), "bcast", 8, 0.01).is_cut_short
    assert Tuner(ALGORITHMS).tune(Slow(lambda *_: 50), "gatherv", 8, 0.01).is_cut_short


@pytest.mark.parametrize("is_cut_short", [True, False])
def test_what_would_tell_where_nothing_is_decided(is_cut_short: bool):
    said = undecided_text([replace(noisy(0.5, 1.5), is_cut_short=is_cut_short)])
    assert "too close, or the times too noisy, to tell in 9 samples" in said
    assert ("1 cell whose time was up a larger --budget" in said) is is_cut_short
