# SPDX-License-Identifier: BSD-3-Clause
"""Traces of messages (option record_messages): every kind of message, what is made of them, and what can go wrong."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from harness import BUILD, Runner, compile_program, installed
from mpis import ALL, BY_NAME, Mpi

# What rank 1 sends to rank 0 on a communicator, and rank 0 to rank 1.
_TO_0, _TO_1 = 15, 2


def _asked(question: str, file: Path, *words: str) -> list[dict[str, Any]]:
    tool = BUILD / "bin/unisono-tool"
    said = subprocess.run(
        [tool, question, "--file", file, *words], capture_output=True, text=True, check=False
    )
    assert said.returncode == 0, said.stderr
    return [json.loads(line) for line in said.stdout.splitlines()]


def _counted(file: Path) -> dict[int, Counter[str]]:
    found: dict[int, Counter[str]] = {}
    rank = -1
    for line in file.read_text().splitlines():
        words = line.split()
        if words[0] == "rank":
            rank = int(words[1])
            found[rank] = Counter()
        elif rank >= 0:
            found[rank][words[0]] += 1
    return found


def _settings(file: Path, **more: str) -> dict[str, str]:
    return {"UNISONO_RECORD_MESSAGES": str(file), **more}


@pytest.mark.in_turns(2, 1)
@pytest.mark.parametrize("messages", ["off", "node"])
def test_every_kind_is_recorded(mpi: Mpi, runner: Runner, tmp_path: Path, messages: str):
    file = tmp_path / "all.trace"
    command = [compile_program(mpi, "recording.c")]
    result = runner.unisono(mpi, 3, command, _settings(file, UNISONO_MESSAGES=messages))
    assert result.check().output == "OK\n", str(result)
    counted = _counted(file)
    receives = 2 * _TO_0 + 1
    assert counted[1]["send"] == receives
    assert counted[0]["send"] == counted[1]["post"] == counted[1]["done"] == 2 * _TO_1
    assert counted[0]["post"] == receives + 2 and counted[0]["done"] == receives
    assert counted[0]["cancel"] == counted[0]["probe"] == 2
    text = file.read_text()
    assert "count failed-probes 2" in text
    assert text.splitlines()[1] == "with-end" and text.endswith("\nend\n") and text.count("\nend\n") == 1
    (answer,) = _asked("match-report", file)
    assert answer["messages"] == messages and answer["mpi"]
    # What Unisono carries is recorded in the order of its own queues, and matches there as it did in the run.
    assert answer["is_exact"] == (messages == "node") == bool(counted[0]["arrive"])
    for one in answer["of_ranks"]:
        assert one["receives"]["unmatched"] == one["receives"]["otherwise"] == 0, one
        assert one["run_ns"] > 0
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.in_turns(2)
def test_what_mpi_promises_holds_and_all_is_matched(mpi: Mpi, runner: Runner, tmp_path: Path):
    for program in ("messages.c", "message_requests.c"):
        file = tmp_path / "promised.trace"
        result = runner.unisono(
            mpi, 3, [compile_program(mpi, program)], _settings(file, UNISONO_MESSAGES="node"), timeout=90
        )
        assert result.check().output == "OK\n", str(result)
        assert _asked("match-replay", file, "--engine", "list")[0]["events"] > 100


@pytest.mark.in_turns(2, 1)
def test_long_queues_are_seen(mpi: Mpi, runner: Runner, tmp_path: Path):
    file = tmp_path / "deep.trace"
    command = [compile_program(mpi, "recording.c"), "deep", "500"]
    assert runner.unisono(mpi, 2, command, _settings(file)).check().output == "OK\n"
    head, engine = _asked("match-replay", file, "--engine", "list", "--rank", "0")
    assert head["receives"] == {"as_recorded": 500, "otherwise": 0, "unmatched": 0}
    assert head["depths"]["high"]["unexpected"]["max"] == 500
    assert engine["high"]["unexpected"]["traversals"] >= 500 * 501 // 2


def test_queues_of_unisono_tell_their_lengths_exactly(mpi: Mpi, runner: Runner, tmp_path: Path):
    file = tmp_path / "exact.trace"
    command = [compile_program(mpi, "recording.c"), "deep", "500"]
    assert runner.unisono(mpi, 2, command, _settings(file, UNISONO_MESSAGES="node")).check().output == "OK\n"
    head, _ = _asked("match-replay", file, "--engine", "list", "--rank", "0")
    assert head["is_exact"] and "high" not in head["depths"]
    assert head["receives"] == {"as_recorded": 500, "otherwise": 0, "unmatched": 0}
    assert head["depths"]["low"]["unexpected"]["max"] in (499, 500)
    assert _counted(file)[0]["arrive"] == 500


def test_open_mpi_says_itself_how_long_its_queues_are(
    request: pytest.FixtureRequest, runner: Runner, tmp_path: Path
):
    mpi = installed(BY_NAME["openmpi5"], request.config)
    file = tmp_path / "samples.trace"
    command = [compile_program(mpi, "recording.c"), "deep", "5000"]
    assert runner.unisono(mpi, 2, command, _settings(file, OMPI_MCA_pml="ob1")).check().output == "OK\n"
    (answer,) = _asked("match-report", file)
    samples = answer["of_ranks"][0]["mpi_samples"]
    assert samples["searches"] > 0 and 1000 < samples["max"] <= 5000
    assert samples["low_mean"] <= samples["high_mean"] and 0 <= samples["inside"] <= samples["searches"]
    receives = samples["receives"]
    assert receives["searches"] == samples["searches"] and receives["low_mean"] <= receives["high_mean"]


@pytest.mark.in_turns(3, 1)
def test_a_full_memory_goes_on_counting(mpi: Mpi, runner: Runner, tmp_path: Path):
    file = tmp_path / "full.trace"
    command = [compile_program(mpi, "recording.c"), "deep", "9000"]
    settings = _settings(file, UNISONO_RECORD_BYTES="64K")  # 8192 words, one an event
    assert runner.unisono(mpi, 2, command, settings).check().output == "OK\n"
    counted = _counted(file)
    # Where time passes between events it takes a word as well.
    assert 4000 < counted[1]["send"] < 8192 and counted[1]["full"] == 1
    assert "count sends 9000" in file.read_text() and "count receives 9000" in file.read_text()
    (answer,) = _asked("match-report", file)
    assert answer["full_ranks"] >= 1 and answer["counts"]["sends"] == 9000


@pytest.mark.in_turns(2)
def test_a_killed_rank_leaves_nothing(mpi: Mpi, runner: Runner, tmp_path: Path):
    file = tmp_path / "killed.trace"
    result = runner.unisono(mpi, 2, [compile_program(mpi, "recording.c"), "kill"], _settings(file))
    assert result.status != 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.in_turns(3, 1)
def test_a_file_that_cannot_be_written(mpi: Mpi, runner: Runner, tmp_path: Path):
    command = [compile_program(mpi, "recording.c")]
    result = runner.unisono(mpi, 2, command, _settings(tmp_path / "no/such.trace"))
    assert result.check().output == "OK\n", str(result)
    assert "messages are not recorded: " in result.errors and "such.trace cannot be written" in result.errors


@pytest.mark.parametrize(
    ("name", "binding"), [(mpi.name, binding) for mpi in ALL for binding in mpi.fortran_bindings]
)
def test_fortran(request: pytest.FixtureRequest, runner: Runner, tmp_path: Path, name: str, binding: str):
    mpi = installed(BY_NAME[name], request.config)
    file = tmp_path / "fortran.trace"
    command = [compile_program(mpi, f"messages_{binding}.f90")]
    assert runner.unisono(mpi, 3, command, _settings(file)).check().output == "OK\n"
    counted = _counted(file)
    assert (
        sum(one["send"] for one in counted.values()) > 0 and sum(one["done"] for one in counted.values()) > 0
    )
