# SPDX-License-Identifier: BSD-3-Clause
"""What jobs have kept: shown, forgotten, and not used where it is not the user's own."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from conftest import Stage


def rule(operation: str, **more: object) -> dict[str, object]:
    return {"operation": operation, "algorithm": "native", **more}


@pytest.fixture
def cache(stage: Stage) -> Path:
    made = stage.root / "cache"
    tables = made / "tables/m/open-mpi-5"
    tables.mkdir(parents=True)
    (made / "machines").mkdir()
    (made / "bench/0123").mkdir(parents=True)
    rules = [
        rule("bcast"),
        rule("allreduce", region="\x1b[2Jname"),
        rule("allreduce", used="2026-11-27", jobs=2),
    ]
    table = {"schema": "unisono-table", "version": 1, "rules": rules}
    (tables / "1x2.json").write_text(json.dumps(table))
    (tables / "1x4.json").write_text('{"a":' * 70_000)
    (made / "machines/here.json").write_text("{}")
    (made / "bench/0123/collectives").write_bytes(b"x" * 2048)
    records = [{"program": "a.out", "operation": "bcast"}, {"program": "b.out", "operation": "allreduce"}]
    (made / "crashes.jsonl").write_text("".join(json.dumps(row) + "\n" for row in records))
    return made


@pytest.fixture
def ask(stage: Stage, cache: Path):
    def ask(*words: str, status: int = 0) -> str:
        answer = stage.unisono("cache", *words, environment={"UNISONO_CACHE": str(cache)})
        assert answer.returncode == status, answer.stderr
        assert "Traceback" not in answer.stderr and "\x1b" not in answer.stdout + answer.stderr
        return answer.stdout + answer.stderr

    return ask


def test_what_is_kept_is_shown(ask, cache: Path) -> None:
    text = ask("show")
    for word in (
        str(cache),
        "learned by jobs",
        "allreduce, bcast",
        "crashes",
        "damaged table",
        "2 KiB",
        "days old",
    ):
        assert word in text, text
    shown = json.loads(ask("show", "--json"))
    assert shown["directory"] == str(cache)
    found = {one["what"]: one for one in shown["kept"]}
    assert set(found) == {"learned", "crashes", "damaged", "machine", "benchmark"}
    assert found["learned"]["count"] == 3 and found["crashes"]["count"] == 2
    assert found["benchmark"]["bytes"] == 2048 and found["learned"]["days"] == 0


def test_a_narrow_terminal_shows_which_file_is_which(stage: Stage, cache: Path) -> None:
    narrow = {"UNISONO_CACHE": str(cache), "COLUMNS": "60"}
    text = stage.unisono("cache", "show", environment=narrow).stdout
    assert "tables/m/open-mpi-5/1x2.json" in text and "machines/here.json" in text


def test_an_operation_is_forgotten(ask, cache: Path) -> None:
    assert "3 rules and crashes of allreduce are forgotten" in ask("clear", "--operation", "allreduce")
    left = json.loads((cache / "tables/m/open-mpi-5/1x2.json").read_text())
    assert left["schema"] == "unisono-table" and [r["operation"] for r in left["rules"]] == ["bcast"]
    assert (cache / "crashes.jsonl").read_text().count("\n") == 1
    ask("clear", "--operation", "bcast")
    assert not (cache / "tables/m/open-mpi-5/1x2.json").exists(), "a table without rules"


def test_a_program_is_forgotten(ask, cache: Path) -> None:
    assert "1 crashes of a.out are forgotten" in ask("clear", "--program", "a.out")
    assert "a.out" not in (cache / "crashes.jsonl").read_text()
    assert "leave one of them out" in ask("clear", "--program", "a", "--operation", "bcast", status=2)


def test_all_is_forgotten_without_asking_where_there_is_no_terminal(ask, cache: Path) -> None:
    assert "5 files are forgotten" in ask("clear")
    assert json.loads(ask("show", "--json"))["kept"] == []
    assert "Nothing is kept" in ask("show")
    assert "0 files are forgotten" in ask("clear")


def test_a_cache_that_others_write_is_left_alone(ask, cache: Path) -> None:
    cache.chmod(0o777)
    for words in (["show"], ["clear"]):
        assert "is not used: it may be written by others" in ask(*words, status=1)
    cache.chmod(0o755)
    if os.geteuid() == 0:
        os.chown(cache, 4711, 4711)
        assert "belongs to another user (number 4711)" in ask("clear", status=1)
    assert (cache / "crashes.jsonl").exists()


def test_links_are_not_followed(ask, cache: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("theirs")
    (cache / "tables/m/open-mpi-5/.lock").symlink_to(victim)
    assert "cannot write" in ask("clear", status=1)
    assert victim.read_text() == "theirs"
