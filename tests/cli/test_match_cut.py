# SPDX-License-Identifier: BSD-3-Clause
"""`unisono match` of traces that were cut behind a whole line, and of those that say nothing of their end."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Stage, needs_build

pytestmark = needs_build

_LINES = [
    *(
        "unisono-message-trace 1",
        "with-end",
        "ranks 2",
        "mpi MPICH 5.0.1",
        "rank 0",
        "run 2000000",
        "exact 0",
    ),
    *("post 90 0 1 7 0 64", "arrive 100 1 7 0 64", "rank 1", "run 2000000", "send 95 0 7 0 64", "end"),
]
_READERS = {"replay": (), "report": (), "profile": ("made.profile",)}


def _written(stage: Stage, lines: list[str]) -> Path:
    file = stage.work / "a.trace"
    file.write_text("".join(f"{line}\n" for line in lines))
    return file


@pytest.mark.parametrize("kept", range(1, len(_LINES)))
def test_refuses_what_was_cut_behind_a_line(stage: Stage, built: dict[str, str], kept: int) -> None:
    file = _written(stage, _LINES[:kept])
    answer = stage.unisono("match", "replay", str(file), environment=built)
    assert answer.returncode == 2 and not answer.stdout
    # The first line alone says nothing of an end.
    said = (
        "no line says how many ranks" if kept == 1 else "it was cut short: its last line, 'end', is missing"
    )
    assert f"a.trace is no trace of messages: {said}" in answer.stderr, answer.stderr


@pytest.mark.parametrize("command", _READERS)
def test_all_readers_go_by_the_end(stage: Stage, built: dict[str, str], command: str) -> None:
    for lines, said in (
        (_LINES, ""),
        ([line for line in _LINES if line not in ("with-end", "end")], ""),
        (_LINES[:-1], "it was cut short"),
        ([*_LINES, "rank 1"], "line 14 stands behind the trace's end"),
    ):
        file = _written(stage, lines)
        answer = stage.unisono("match", command, str(file), *_READERS[command], environment=built)
        assert answer.returncode == (2 if said else 0) and said in answer.stderr, answer.stderr
        made = stage.work / "made.profile"
        assert made.exists() == (command == "profile" and not said)
        made.unlink(missing_ok=True)


def test_patterns_have_an_end(stage: Stage, built: dict[str, str]) -> None:
    words = ("pattern", "fds", "a.trace", "--ranks", "4", "--steps", "1")
    assert stage.unisono("match", *words, environment=built).returncode == 0
    file = stage.work / "a.trace"
    lines = file.read_text().splitlines()
    assert lines[1] == "with-end" and lines[-1] == "end"
    _written(stage, lines[: len(lines) // 2])
    answer = stage.unisono("match", "report", str(file), environment=built)
    assert answer.returncode == 2 and "it was cut short" in answer.stderr
