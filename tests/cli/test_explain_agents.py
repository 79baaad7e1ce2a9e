# SPDX-License-Identifier: BSD-3-Clause
"""What `unisono explain` says of agents."""

from __future__ import annotations

import json

import pytest
from conftest import Stage, needs_build
from test_explain import Explain

pytestmark = needs_build


@pytest.fixture
def explain(stage: Stage, built: dict[str, str]) -> Explain:
    return Explain(stage, built)


@pytest.mark.parametrize(
    ("words", "why_not"),
    [
        (("allreduce", "1024", "--non-blocking"), ""),
        (("bcast", "32768", "--non-blocking", "--reproducible"), ""),
        (("barrier", "--non-blocking"), ""),
        (("allgather", "8", "--non-blocking"), "they serve allreduce, reduce, bcast and barrier alone"),
        (("bcast", "32769", "--non-blocking"), "it has more than 32 KiB"),
        (
            ("reduce", "8", "--non-blocking", "--reproducible"),
            "it is reproducible, and agents join in an order of their own",
        ),
        (
            ("reduce", "8", "--non-blocking", "--ordered"),
            "its operator or its type is none that they compute with",
        ),
        (("allreduce", "8", "--non-blocking", "--layout", "8"), "its communicator is inside one node"),
    ],
)
def test_agents(explain: Explain, words: tuple[str, ...], why_not: str) -> None:
    words = words if "--layout" in words else (*words, "--layout", "4x4")
    with_agents = explain.json(*words, UNISONO_AGENTS="1")["agents"]
    answer = {"serve": False, "may_be_chosen": False, "why_not": why_not}
    assert with_agents == {**answer, "there": True, "serve": not why_not}
    assert explain.json(*words)["agents"] == {**answer, "there": False}
    said = " ".join(explain.run(*words, UNISONO_AGENTS="1").split())
    assert (f"Agents do not serve it: {why_not}." if why_not else "Agents serve it in its place") in said
    assert ("The job has no agents (option agents)" in explain.run(*words)) == (not why_not)


def test_agents_and_verify(explain: Explain) -> None:
    words = ["allreduce", "8", "--non-blocking", "--layout", "4x4"]
    found = explain.json(*words, UNISONO_AGENTS="1", UNISONO_VERIFY="all")["agents"]
    assert found["why_not"] == "it is checked (option verify)"


def test_agents_and_blocking_calls(explain: Explain) -> None:
    """They are one more candidate, which rules do not choose; forced, they serve what they can."""
    words = ["allreduce", "1024", "--layout", "4x4"]
    found = explain.json(*words, UNISONO_AGENTS="1")
    answer = {"there": True, "serve": False, "may_be_chosen": True, "why_not": ""}
    assert found["agents"] == answer and found["choice"]["algorithm"] != "agents"
    (candidate,) = [entry for entry in found["candidates"] if entry["algorithm"] == "agents"]
    assert candidate["illegal"] == "" and "predicted_us" not in candidate
    said = " ".join(explain.run(*words, UNISONO_AGENTS="1").split())
    assert "Agents serve it where learning has measured them to be faster (option learn)" in said
    assert all(entry["algorithm"] != "agents" for entry in explain.json(*words)["candidates"])
    assert "Agents" not in explain.run(*words)


@pytest.mark.parametrize(
    ("words", "agents", "why"),
    [
        (("allreduce", "1024"), "1", ""),
        (("allreduce", "1024"), "0", "needs agents beside the job (option 'agents'), there are none"),
        (("allreduce", "65536"), "1", "does not serve the call: it has more than 32 KiB"),
        (
            ("allreduce", "8", "--layout", "8"),
            "1",
            "does not serve the call: its communicator is inside one node",
        ),
        (
            ("allreduce", "8", "--ordered"),
            "1",
            "does not serve the call: its operator or its type is none that they compute with",
        ),
        (
            ("allreduce", "8", "--non-blocking"),
            "1",
            "is chosen for blocking calls alone: agents take the others by themselves",
        ),
    ],
)
def test_forced_agents(explain: Explain, words: tuple[str, ...], agents: str, why: str) -> None:
    words = words if "--layout" in words else (*words, "--layout", "4x4")
    found = explain.json(*words, UNISONO_AGENTS=agents, UNISONO_ALGORITHM="allreduce:agents")
    refused = [one["why_not"] for one in found["considered"] if one["source"] == "forced"]
    assert refused == [why]
    assert (found["choice"]["algorithm"] == "agents") == (not why)
    assert (f"allreduce:agents was forced but {why}" in found["choice"]["reason"]) == bool(why)


def test_operations_without_agents(explain: Explain) -> None:
    found = explain.json("allgather", "8", "--layout", "4x4", UNISONO_ALGORITHM="allgather:agents")
    assert any("there is no algorithm 'agents' for allgather" in warning for warning in found["warnings"])


def test_agents_of_a_run(explain: Explain) -> None:
    """Of calls that they did not serve a reader wants to know why."""
    file = explain.stage.work / explain.report()
    report = json.loads(file.read_text())
    report["agents"] = {"started_again": 1, "calls": []}
    row = {**report["classes"][0], "operation": "bcast", "bytes_low": 9, "bytes_high": 16}
    report["classes"] = [{**row, "form": form} for form in ("persistent", "non-blocking", "blocking")]
    file.write_text(json.dumps(report))
    said = " ".join(explain.run("report.json", "bcast", "16").split())
    for text in (
        "Agents do not serve it: it is persistent.",
        "Agents did not serve it: its operator or its type is none that they compute with",
    ):
        assert text in said
    row["form"], row["algorithm"] = "non-blocking", "agents"
    report["classes"] = [row]
    file.write_text(json.dumps(report))
    said = " ".join(explain.run("report.json", "bcast", "16").split())
    assert "Agents would serve it today as well (option agents)" in said
    assert "it would be another one" not in said
    row["form"] = "blocking"
    file.write_text(json.dumps(report))
    said = " ".join(explain.run("report.json", "bcast", "16").split())
    assert "Agents serve it where learning has measured them to be faster" in said
    report["options"]["algorithm"] = "bcast:agents"
    file.write_text(json.dumps(report))
    said = explain.run("report.json", "bcast", "16")
    assert "Agents" not in said and "it would be another one" not in said


@pytest.mark.parametrize("name", ["iallreduce", "MPI_Iallreduce", "allreduce_init", "allreduce"])
def test_forms_of_operations(explain: Explain, name: str) -> None:
    """Reports print these names, so they may be asked about."""
    file = explain.stage.work / explain.report()
    report = json.loads(file.read_text())
    row = {**report["classes"][0], "operation": "allreduce", "bytes_low": 9, "bytes_high": 16}
    forms = ("persistent", "non-blocking", "blocking")
    report["classes"] = [{**row, "form": form} for form in forms]
    file.write_text(json.dumps(report))
    form = {"allreduce": None, "allreduce_init": "persistent"}.get(name, "non-blocking")
    found = explain.json("report.json", name, "16")
    assert [one["recorded"]["classes"][0]["form"] for one in found] == ([form] if form else list(forms))
    asked = explain.json(name, "16", "--layout", "4x4")
    assert asked["question"]["form"] == ("non-blocking" if form else "blocking")
    assert asked["agents"]["why_not"] == ("it is persistent" if form == "persistent" else "")
    report["classes"] = []
    file.write_text(json.dumps(report))
    called = "iallreduce" if name.startswith("MPI_") else name
    assert f"has no calls of {called} of 16 B" in explain.run("report.json", name, "16", status=1)


def test_forms_are_refused_where_they_mean_nothing(explain: Explain) -> None:
    answer = explain.stage.unisono("list", "iallreduce", environment=explain.environment)
    said = answer.stdout + answer.stderr
    assert answer.returncode == 2 and "'allreduce' stands for all its forms" in said
