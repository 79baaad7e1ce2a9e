# SPDX-License-Identifier: BSD-3-Clause
"""Learning while a program runs, on every MPI: results are right, and what the report says of it fits together."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from harness import HEADER, ROOT, Runner, compile_program
from mpis import Mpi

SCHEMA = json.loads((ROOT / "python/unisono/schema/report.schema.json").read_text())
ROUNDS = 60
# Of one kind each in a round of the program: outside of regions, in the first and in the second one.
CALLS = {("allreduce", "8 B"): 6 * ROUNDS, ("allreduce", "32 KiB"): 4 * ROUNDS, ("bcast", "32 KiB"): ROUNDS}


def learned(report: Path) -> list[dict[str, Any]]:
    content = json.loads(report.read_text())
    jsonschema.validate(content, SCHEMA)
    rows: list[dict[str, Any]] = content["learning"]
    return rows


def calls_by_timeline(row: dict[str, Any]) -> dict[str, int]:
    """How often each algorithm ran, as the time line has it."""
    begins = [event["call"] for event in row["timeline"]]
    ends = [*begins[1:], row["calls"]]
    counts: Counter[str] = Counter()
    for event, begin, end in zip(row["timeline"], begins, ends, strict=True):
        assert begin < end or event is row["timeline"][-1]  # the last one may be for a call that did not come
        counts[event["algorithm"]] += end - begin
    return {algorithm: calls for algorithm, calls in counts.items() if calls}


def as_on_a_quiet_day(table: Path) -> None:
    """The machine of a test may be busy: then what was learned is not to be believed."""
    content = json.loads(table.read_text())
    for rule in content["rules"]:
        rule["time_us"] = rule["least_us"] = 1
        rule["evidence"].update(trust=3, uncertainty=0.1)
        for other in rule["others"]:
            other["time_us"] = other["least_us"] = 10
    table.write_text(json.dumps(content))


@pytest.mark.in_turns(3, 2)
@pytest.mark.parametrize("mode", ["star", "auto"])
def test_programs_learn(mpi: Mpi, runner: Runner, mode: str):
    report = runner.scratch / "report.json"
    environment = {
        "UNISONO_LEARN": mode,
        "UNISONO_LEARN_ITERATIONS": "2",
        "UNISONO_LEARN_BUDGET": "100",  # from the first call on
        "UNISONO_REPORT": str(report),
        "UNISONO_CACHE": str(runner.scratch / "cache"),
        "UNISONO_NODES": "2,1" if mode == "auto" else "",
    }
    result = runner.unisono(
        mpi, 3, [compile_program(mpi, "learning.c", flags=[HEADER])], environment, timeout=60
    ).check()
    assert "RIGHT" in result.output, str(result)
    rows = learned(report)
    for row in rows:
        assert row["timeline"][0]["call"] == 0
        assert calls_by_timeline(row) == {c["algorithm"]: c["calls"] for c in row["candidates"]}, row
    for (operation, size), calls in CALLS.items():
        of_kind = [row for row in rows if (row["operation"], row["size_class"]) == (operation, size)]
        assert sum(row["calls"] for row in of_kind) == calls
        assert any(row["agreements"] for row in of_kind)
    assert {row["region"] for row in rows} == {"", "first", "second"}


@pytest.mark.in_turns(3, 1)
def test_programs_learn_where_nothing_is_set(mpi: Mpi, runner: Runner):
    """What one job has learned is where the next one begins, where no option says so: however short that is."""
    report, cache = runner.scratch / "report.json", runner.scratch / "cache"
    program = [compile_program(mpi, "learning.c", flags=[HEADER])]
    environment = {"UNISONO_CACHE": str(cache), "UNISONO_LEARN": None}
    thorough = {"UNISONO_LEARN": "star", "UNISONO_LEARN_ITERATIONS": "2"}
    for more in (thorough, {"UNISONO_REPORT": str(report)}):
        result = runner.unisono(mpi, 2, program, {**environment, **more}, timeout=60).check()
        assert "RIGHT" in result.output, str(result)
        (kept,) = cache.glob("tables/*/*/*.json")
        as_on_a_quiet_day(kept)
    begins = [row["timeline"][0]["why"] for row in learned(report)]
    assert "learned by an earlier job" in begins, begins


@pytest.mark.in_turns(3, 1)
@pytest.mark.each_library
def test_communicators_alike_begin_with_what_one_has_learned(mpi: Mpi, runner: Runner):
    """Rows of a grid learn; its columns, whose ranks come from different rows, and duplicates begin with that.

    So does the second row, which has no rank in common with the first, where that one was quicker.
    """
    report = runner.scratch / "report.json"
    environment = {
        "UNISONO_LEARN": "auto",
        "UNISONO_LEARN_BUDGET": "100",
        "UNISONO_SET_UP_AFTER": "0",
        "UNISONO_REPORT": str(report),
        "UNISONO_CACHE": "",
    }
    result = runner.unisono(mpi, 4, [compile_program(mpi, "grid.c")], environment, timeout=60).check()
    assert "RIGHT" in result.output, str(result)
    rows = [row for row in learned(report) if row["operation"] == "allreduce" and row["calls"] == 400]
    begins = Counter(row["timeline"][0]["why"] for row in rows)
    fresh = begins["what is used without learning"]
    assert fresh in (1, 2) and begins["learned on another communicator of this job"] == 8 - fresh, json.dumps(
        [(row["communicator"], row["timeline"][:3], row["candidates"]) for row in rows], indent=1
    )


def kept_rule(size: int, algorithm: str, other: str, origin: str = "learned") -> dict[str, object]:
    """What a bad day has written, with all the trust that there is."""
    return {
        "operation": "allreduce",
        "bytes": [size // 2 + 1, size],
        "nodes": [1, 1],
        "ranks_per_node": [2, 2],
        "algorithm": algorithm,
        "time_us": 20,
        "others": [{"algorithm": other, "time_us": 90}],
        "origin": origin,
        "evidence": {"trust": 8, "uncertainty": 0.05, "expected": other},
    }


@pytest.mark.dear
@pytest.mark.in_turns(4)
def test_a_bad_day_is_forgotten_after_ten_small_jobs(mpi: Mpi, runner: Runner):
    """A test at the start has chosen for 8 bytes; neighbours agree on 32 KiB. Nobody measures either, with learning or not."""
    report, cache = runner.scratch / "report.json", runner.scratch / "cache"
    program = [compile_program(mpi, "learning.c", flags=[HEADER])]
    environment = {
        "UNISONO_CACHE": str(cache),
        "UNISONO_REPORT": str(report),
        "UNISONO_LEARN_BUDGET": "0.001",  # pays for nothing
    }

    def decided(learn: str) -> dict[str, tuple[str, str]]:
        runner.unisono(mpi, 2, program, {**environment, "UNISONO_LEARN": learn}, timeout=60).check()
        rows = json.loads(report.read_text())["classes"]
        found = {}
        for row in rows:
            if (row["operation"], row["form"]) == ("allreduce", "blocking"):
                inside = ",".join(f"{key}={value}" for key, value in row["parameters"].items())
                text = row["algorithm"] + (f"({inside})" if inside else "")
                found[row["size_class"]] = (text, row["source"])
        return {size: found[size] for size in ("8 B", "32 KiB")}

    decided("star")  # makes the file
    (kept,) = cache.glob("tables/*/*/*.json")
    content = json.loads(kept.read_text())
    kept.write_text(json.dumps({**content, "rules": []}))
    never = decided("off")
    small, large = never["8 B"][0], never["32 KiB"][0]
    assert {source for _, source in never.values()} == {"rule"}, never
    content["rules"] = [
        kept_rule(8, "recursive_doubling", small, "tested"),
        kept_rule(16 << 10, "native", large),
        kept_rule(64 << 10, "native", large),
    ]
    kept.write_text(json.dumps(content))
    first = decided("off")
    assert first["8 B"][0].startswith("recursive_doubling"), first
    assert first["32 KiB"] == ("native", "learned"), first
    for day in range(2, 10):
        decided("off" if day % 2 else "auto")
    assert decided("off") == never, kept.read_text()
