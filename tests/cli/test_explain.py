# SPDX-License-Identifier: BSD-3-Clause
"""`unisono explain`: of a question, a run's report, and a table; answered by the compiled code."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from conftest import FIXTURES, Stage, needs_build
from unisono.common.operations import OF_NEIGHBORS
from unisono.reporting import explanation

pytestmark = needs_build

RULES: list[dict[str, Any]] = [
    {
        "operation": "allreduce",
        "bytes": [65536, 65536],
        "nodes": [4, 4],
        "ranks_per_node": [4, 4],
        "algorithm": "two_level_ring(segment=65536)",
        "time_us": 12.3,
        "interval_us": [12.0, 12.6],
        "samples": 200,
        "others": [{"algorithm": "native", "time_us": 24.6}, {"algorithm": "fused", "time_us": 40}],
        "origin": "measured",
    },
    {"operation": "bcast", "algorithm": "native", "note": "as the site wants it"},
]


class Explain:
    def __init__(self, stage: Stage, environment: dict[str, str]) -> None:
        self.stage = stage
        self.environment = {
            **environment,
            "UNISONO_CONFIG": "/dev/null",
            "UNISONO_SITE_TABLE": "",
            "UNISONO_CACHE": str(stage.work / "cache"),
        }
        self.table(*RULES)

    def table(self, *rules: dict[str, Any]) -> None:
        table = {"schema": "unisono-table", "version": 1, "rules": rules}
        (self.stage.work / "t.json").write_text(json.dumps(table))

    def run(self, *words: str, status: int = 0, **variables: str) -> str:
        answer = self.stage.unisono("explain", *words, environment={**self.environment, **variables})
        assert answer.returncode == status, answer.stderr + answer.stdout
        return answer.stdout + answer.stderr

    def json(self, *words: str, **variables: str) -> Any:
        return json.loads(self.run(*words, "--json", **variables))

    def report(self, *learned: dict[str, Any], **options: str) -> str:
        """The recorded report, as one of 16 ranks on 4 nodes with these options."""
        report = json.loads((FIXTURES / "report.json").read_text())
        for row in report["classes"]:
            row.update(layout="4x4", oversubscribed=False)
        report["learning"] = list(learned)
        report["options"] = options
        (self.stage.work / "report.json").write_text(json.dumps(report))
        return "report.json"


@pytest.fixture
def explain(stage: Stage, built: dict[str, str]) -> Explain:
    return Explain(stage, built)


def test_a_question(explain: Explain) -> None:
    words = ["allreduce", "64KiB", "--layout", "4x4", "--table", "t.json"]
    found = explain.json(*words)
    assert found["question"]["shape"] == "16 ranks on 4 nodes (4 ranks each)"
    assert (found["question"]["bytes_low"], found["question"]["bytes_high"]) == (32769, 65536)
    assert found["choice"]["source"] == "application table"
    assert found["choice"]["reason"] == "t.json rule 1: measured 12.3 us, native 24.6 us"
    assert found["choice"]["algorithm"].startswith("two_level_ring(segment=65536,")
    assert [entry["source"] for entry in found["considered"]][:4] == ["application table"] * 3 + ["rule"]
    candidates = {entry["algorithm"]: entry for entry in found["candidates"]}
    assert candidates["two_level_ring(segment=65536)"]["time_us"] == 12.3
    assert candidates["native"]["time_us"] == candidates["fused"]["native_us"] == 24.6
    assert candidates["fused"]["illegal"] == "needs all ranks on one node, there are 4 nodes"
    assert "time_us" not in candidates["ring"] and not candidates["ring"]["illegal"]
    text = explain.run(*words)
    for words_shown in (
        "allreduce of 64 KiB (32769 to 65536 bytes), 16 ranks on 4 nodes (4 ranks each)",
        "application table: t.json rule 1: measured 12.3 us, native 24.6 us",
        "12.3 us ±2%",
        "2.00",
        "it needs all ranks on one node, there are 4 nodes",
    ):
        assert words_shown in text


@pytest.mark.parametrize("operation", OF_NEIGHBORS)
@pytest.mark.parametrize(("layout", "chosen"), [("4", "fused"), ("4x4", "bundles")])
def test_collectives_of_neighbors(explain: Explain, operation: str, layout: str, chosen: str) -> None:
    words = [operation, "8", "--layout", layout]
    found = explain.json(*words, "--graph", "complete")
    assert found["question"]["graph"] == "complete"
    assert found["choice"]["algorithm"].startswith(f"{chosen}(")
    times = {entry["algorithm"]: entry.get("predicted_us") for entry in found["candidates"]}
    assert times["linear"] > 0 and times[chosen] > 0
    # The usual graph has fewer edges, and messages for all of them take less time.
    usual = explain.json(*words)
    assert usual["question"]["graph"] == "ring"
    (ring,) = (entry for entry in usual["candidates"] if entry["algorithm"] == "linear")
    assert ring["predicted_us"] < times["linear"]
    assert f"{operation} of 8 B (5 to 8 bytes)" in explain.run(*words)


def test_graphs_of_questions_alone(explain: Explain) -> None:
    said = explain.run("bcast", "--graph", "ring", status=2)
    assert "--graph goes with collectives of neighbours; bcast is none" in said
    said = explain.run("neighbor_alltoall", "--layout", "8", "--graph", "cart:3x3", status=2)
    assert "a grid of 3x3 does not have 8 ranks" in said
    report = explain.report()
    assert "--graph asks about a layout" in explain.run(report, "allreduce", "--graph", "ring", status=2)


def test_calls_of_neighbors_in_a_report(explain: Explain) -> None:
    name = explain.report()
    read = json.loads((explain.stage.work / name).read_text())
    row = next(row for row in read["classes"] if row["operation"] == "allreduce")
    read["classes"].append(
        {**row, "operation": "neighbor_alltoallv", "algorithm": "bundles", "parameters": {}}
    )
    (explain.stage.work / name).write_text(json.dumps(read))
    (found,) = explain.json(name, "neighbor_alltoallv")
    assert all("predicted_us" not in entry for entry in found["candidates"])


def test_near_rules_say_so(explain: Explain) -> None:
    found = explain.json("allreduce", "128K", "--layout", "4x6", "--table", "t.json")
    assert "tuned at 4x4 and 64 KiB, used at 4x6 and 128 KiB" in found["choice"]["reason"]
    assert found["candidates"][0]["near"] is True


def test_what_changes_the_answer(explain: Explain) -> None:
    assert explain.json("allreduce", "8", "--layout", "4")["choice"]["algorithm"].startswith("fused")
    assert explain.json("allreduce")["question"]["shape"] == "8 ranks on 1 node"
    found = explain.json("allreduce", "8", "--layout", "4", "--non-blocking", "--ordered")
    assert (found["question"]["form"], found["question"]["operator"]) == ("non-blocking", "ordered")
    assert found["choice"]["algorithm"].startswith("fused")
    found = explain.json("gatherv", "--layout", "4", "--non-blocking")
    assert not found["choice"]["algorithm"].startswith("fused")
    assert any("waits inside" in entry["illegal"] for entry in found["candidates"])
    forced = explain.json("allreduce", "--layout", "4", "--algorithm", "allreduce:ring")
    assert forced["choice"]["source"] == "forced"
    assert forced == explain.json("allreduce", "--layout", "4", "--algorithm", "ring")
    assert "no algorithm 'nosuch'" in explain.run("allreduce", "--algorithm", "allreduce:nosuch", status=2)
    assert explain.json("allreduce", "8", "--layout", "64x32")["question"]["shape"].startswith("2048 ranks")
    # All sizes are one where ranks have no length in common.
    for operation in ("barrier", "alltoallv"):
        of_any, of_none = explain.json(operation, "64K"), explain.json(operation, "0")
        assert of_any["question"] == of_none["question"]
    found = explain.json("allreduce", "1M", "--layout", "4", "--reproducible")
    assert found["choice"]["reason"].startswith("reproducible: ")


def test_times_are_predicted_for_what_is_legal(explain: Explain) -> None:
    question = ("allreduce", "64K", "--layout", "4x4")
    typical, ethernet = (explain.json(*question, *words) for words in ((), ("--machine", "ethernet")))
    assert (typical["machine"], ethernet["machine"]) == ("typical", "ethernet")
    for answer in (typical, ethernet):
        for candidate in answer["candidates"]:
            assert (candidate.get("predicted_us", 0) > 0) == (not candidate["illegal"]), candidate
    slower = [
        there["predicted_us"] > here["predicted_us"]
        for here, there in zip(typical["candidates"], ethernet["candidates"], strict=True)
        if not here["illegal"]
    ]
    assert all(slower)
    assert "predicted for the machine 'ethernet'" in explain.run(*question, "--machine", "ethernet")
    assert "no such machine" in explain.run(*question, "--machine", "nowhere", status=2)


def test_the_options_of_this_environment_count(explain: Explain) -> None:
    """What a run would do: the same variables, the same file."""
    words = ["bcast", "64K", "--layout", "4x4"]
    table = str(explain.stage.work / "t.json")
    assert explain.json(*words)["choice"]["source"] == "rule"
    assert explain.json(*words, UNISONO_TABLE=table)["choice"]["source"] == "application table"
    assert explain.json(*words, UNISONO_SITE_TABLE=table)["choice"]["source"] == "site table"


def test_a_report(explain: Explain) -> None:
    file = explain.report(table=str(explain.stage.work / "t.json"), site_table="")
    assert "unisono explain report.json OPERATION [SIZE]" in explain.run(file)
    row = json.loads((explain.stage.work / file).read_text())["classes"][0]
    found = explain.json(file, row["operation"], str(row["bytes_high"]))
    assert [entry["recorded"]["classes"] for entry in found] == [[row]]
    assert found[0]["question"]["layout"] == "4x4"
    text = explain.run(file, row["operation"], str(row["bytes_high"]))
    assert row["reason"] in text
    narrow = explain.run(file, row["operation"], str(row["bytes_high"]), COLUMNS="80").splitlines()
    assert narrow.index("") > 1 and all(len(line) <= 80 for line in narrow[: narrow.index("")])
    (bcast,) = explain.json(explain.report(table="t.json"), row["operation"])
    explain.table({"operation": row["operation"], "algorithm": "native"})
    (changed,) = explain.json(file, row["operation"])
    assert bcast["choice"] != changed["choice"]
    assert "With the tables and rules of today" in explain.run(file, row["operation"])


def learned(region: str = "", **changes: Any) -> dict[str, Any]:
    """What was learned of the report's calls of bcast: three trials, after which a chain is in use."""
    candidates = [
        {"algorithm": "native", "parameters": {}, "calls": 10, "measured_calls": 10, "time_s": 2e-3},
        {
            "algorithm": "chain",
            "parameters": {"segment": 65536},
            "calls": 300,
            "measured_calls": 8,
            "time_s": 5e-4,
        },
        {"algorithm": "flat", "parameters": {}, "calls": 2, "measured_calls": 2, "time_s": None},
    ]
    timeline = [
        {"call": 0, "algorithm": "native", "trial": True, "why": "the reference, measured first"},
        {"call": 10, "algorithm": "chain", "trial": True, "why": "on trial"},
        {"call": 18, "algorithm": "flat", "trial": True, "why": "on trial"},
        {"call": 20, "algorithm": "chain", "trial": False, "why": "4.00 times as fast as before"},
    ]
    return {
        "communicator": 3,
        "shape": "16 ranks on 4 nodes (4 ranks each)",
        "layout": "4x4",
        "oversubscribed": False,
        "reproducible": False,
        "commutative": True,
        "operation": "bcast",
        "size_class": "1 MiB",
        "compared": "longest",
        "bytes_low": 1048576,
        "bytes_high": 1048576,
        "region": region,
        "calls": 312,
        "agreements": 4,
        "chosen": "chain",
        "time_s": 5e-4,
        "trial_loss_s": 0.015,
        "measuring_overhead_s": 2e-5,
        "monitoring_overhead_s": 1e-5,
        "candidates": candidates,
        "untried": ["binomial"],
        "timeline": timeline,
        **changes,
    }


def shown_line(text: str, beginning: str) -> str:
    return next(line for line in text.splitlines() if line.startswith(beginning))


def test_what_a_run_has_learned(explain: Explain) -> None:
    """Measured times, trials and what they cost; what was measured is not among what was not."""
    text = explain.run(explain.report(learned()), "bcast", "1M")
    assert text.count("Not legal here") == 1, "one answer for one kind of calls"
    measured = text[text.index("Measured in the run: communicator 3") : text.index("Asked in turn")]
    chain = shown_line(measured, "chain (segment 64 KiB)")
    assert "500 us" in chain and "4.00" in chain and "in use" in chain
    assert shown_line(measured, "native").split()[:4] == ["native", "2", "ms", "1.00"]
    assert "?" in shown_line(measured, "flat"), "it was left before its time was known"
    assert "3 trials, 1 change of what is in use, the last at call 20." in text
    assert "Trials cost 15 ms beyond the best candidate" in text
    assert "4.00 times as fast as before" in text
    unmeasured = text[text.index("Legal, nothing measured") :]
    assert "binomial" in unmeasured
    assert not [line for line in unmeasured.splitlines() if line.startswith(("chain ", "native ", "flat "))]
    assert "it would be another one" not in text, "the run's choice is its own"


def test_regions_of_a_run(explain: Explain) -> None:
    file = explain.report(learned(), learned("solve"), learned("solve", communicator=4))
    found = explain.json(file, "bcast", "1M")
    assert [entry["question"]["region"] for entry in found] == ["", "solve"]
    (solve,) = explain.json(file, "bcast", "1M", "--region", "solve")
    assert [row["communicator"] for row in solve["recorded"]["learning"]] == [3, 4]
    assert "Measured in the run: communicator 4, region solve" in explain.run(
        file, "bcast", "--region", "solve"
    )
    assert "regions there are: solve" in explain.run(file, "bcast", "--region", "build", status=1)
    assert "wants an operation" in explain.run(file, "--region", "solve", status=2)


def test_long_time_lines_are_cut(explain: Explain) -> None:
    events = [
        {"call": 10 * n, "algorithm": ("chain", "native")[n % 2], "trial": False, "why": f"reason {n}"}
        for n in range(60)
    ]
    text = explain.run(explain.report(learned(timeline=events)), "bcast")
    assert "60 changes of what is in use" in text
    assert "36 more, which --json shows" in text
    assert "reason 0" in text and "reason 59" in text and "reason 30" not in text


def test_too_few_calls_to_learn(explain: Explain) -> None:
    text = explain.run(explain.report(learned(agreements=0)), "bcast")
    assert "312 calls were too few" in text and "What ran when" not in text


@pytest.mark.parametrize("words", [[], ["--json"], ["bcast"], ["bcast", "8", "--region", "solve"]])
def test_a_damaged_report(explain: Explain, words: list[str]) -> None:
    (explain.stage.work / "r.json").write_text('{"schema": "unisono-report", "version": 1}')
    assert "the report is damaged: it has no field" in explain.run("r.json", *words, status=2)


def test_a_table(explain: Explain) -> None:
    text = explain.run("t.json")
    assert "rule 1: allreduce, 64 KiB, 4x4: measured" in text
    assert "rule 2: bcast, all, everywhere: written" in text
    assert "as the site wants it" in text
    assert [rule["number"] for rule in explain.json("t.json", "bcast", "17")] == [2]
    assert explain.json("t.json", "allreduce", "8") == []
    explain.table(RULES[1], {**RULES[1], "region": "solve"}, {**RULES[1], "region": "other"})
    assert [rule["number"] for rule in explain.json("t.json", "bcast", "--region", "solve")] == [1, 2]


@pytest.mark.parametrize(
    ("words", "status", "problem"),
    [
        (["frob"], 2, "frob"),
        (["allreduce", "frob"], 2, "'frob' is no size; write 4096, 64K or 1MiB"),
        (["allreduce", "8", "9"], 2, "'9' means nothing here"),
        (["allreduce", "8", "--layout", "4y4"], 2, "write 4x8"),
        (["nowhere.json"], 2, "cannot read nowhere.json"),
        (["letter.json"], 2, "letter.json is neither a report nor a table: it is no JSON: line 1 of it"),
        (["allreduce", "--table", "missing.json"], 2, "missing.json cannot be read"),
        (["allreduce", "--layout", "1000000x1000"], 2, "is too large: a layout has at most 1048576 ranks"),
        (["t.json", "--layout", "4x4"], 2, "--layout asks about a layout"),
        (["t.json", "frob"], 2, "frob"),
        (["x.json"], 2, "x.json is neither a report nor a table"),
        (["report.json", "scan"], 1, "report.json has no calls of scan"),
    ],
)
def test_refuses(explain: Explain, words: list[str], status: int, problem: str) -> None:
    explain.report()
    (explain.stage.work / "x.json").write_text("[]")
    (explain.stage.work / "letter.json").write_text("Dear Sir")
    assert problem in explain.run(*words, status=status)


def test_it_says_what_learning_would_do(explain: Explain) -> None:
    text = " ".join(explain.run("allreduce", "8", "--layout", "4").split())
    assert (
        "Now fused would serve from the first call on. From call 32,768 or so on, learning runs the MPI's own"
        in text
    )
    assert "learning runs" not in explain.run("allreduce", "8", UNISONO_LEARN="off")
    assert "learning runs" not in explain.run("allreduce", "8", "--algorithm", "ring")
    text = explain.run("allreduce", "8", UNISONO_LEARN="star")
    assert "all that is legal runs first, 10 calls each" in " ".join(text.split())


def test_it_reads_what_was_learned_under_the_last_mpi(explain: Explain) -> None:
    """Without --mpi as well: a job would read it."""
    cache = explain.stage.work / "cache"
    for age, mpi in enumerate(("Open MPI 5.0.11", "MPICH 4.0.2")):
        folder = cache / "tables/machine" / mpi.replace(" ", "-").lower()
        folder.mkdir(parents=True)
        table = {"schema": "unisono-table", "version": 1, "provenance": {"mpi": mpi}, "rules": []}
        (folder / "1x4.json").write_text(json.dumps(table))
        os.utime(folder / "1x4.json", (1e9 - age, 1e9 - age))
    for folder in [cache, *cache.rglob("*")]:
        folder.chmod(0o700 if folder.is_dir() else 0o600)
    text = explain.run("allreduce", "8")
    assert "commutative, Open MPI 5.0.11" in text
    assert f"With what jobs have learned under Open MPI 5.0.11 ({cache})." in text and "MPICH 4.0.2" in text
    text = explain.run("allreduce", "--mpi", "MPICH 4.0.2")
    assert "commutative, MPICH 4.0.2" in text and "With what jobs have learned" not in text


def test_it_says_why_predictions_disagree() -> None:
    candidates = [
        {"algorithm": "fused", "predicted_us": 4.0, "illegal": ""},
        {"algorithm": "ring(segment=1024)", "predicted_us": 2.0, "illegal": ""},
        {"algorithm": "shared", "predicted_us": 1.0, "illegal": "needs one node"},
    ]
    answer = {
        "choice": {"algorithm": "fused", "source": "rule"},
        "machine": "typical",
        "candidates": candidates,
    }
    text = explanation.disagreement_text(answer)
    assert "The predictions below say 2 us for ring and 4 us for fused. They do not decide" in text
    candidates[0]["predicted_us"] = 2.1
    assert explanation.disagreement_text(answer) == ""


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("mpirun ./a", "mpirun ./a"),
        ("mpirun -n 4 ./a --layout 3", "mpirun -n 4 ./a --layout 3"),
        ("--json allreduce srun -N 2 ./a", "srun -N 2 ./a"),
        ("mpirun", "mpirun -n 4 ./program"),
        ("./prog", "mpirun -n 4 ./program"),
    ],
)
def test_a_program_in_the_place_of_a_question(stage: Stage, words: str, meant: str) -> None:
    (stage.work / "prog").write_text("#!/bin/sh\n")
    (stage.work / "prog").chmod(0o755)
    answer = stage.unisono("explain", *words.split())
    assert answer.returncode == 2
    assert f"\n  unisono run --report r.json {meant}\n" in answer.stderr
