# SPDX-License-Identifier: BSD-3-Clause
"""Files that are damaged, hostile, or no files: a message, whatever command reads them; and places that cannot be written."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import FIXTURES, Stage, needs_build
from unisono.common import files, json_text, sound
from unisono.common.errors import UnisonoError
from unisono.common.shown import shown, shown_json

REPORT = FIXTURES / "report.json"


def changed(stage: Stage, change: Any) -> str:
    """The recorded report after `change`."""
    content = json.loads(REPORT.read_text())
    change(content)
    (stage.work / "r.json").write_text(json.dumps(content))
    return "r.json"


class TestJson:
    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("[" * 70_000 + "]" * 70_000, "nested deeper"),
            ("[" * 65 + "]" * 65, "nested deeper"),
            ('{"a": {"b": 1, "b": 2}}', "the field 'b' twice"),
            ("[Infinity]", "which is no number"),
            ("[NaN]", "which is no number"),
            ("[1e999]", "too large"),
            (f"[{'9' * 5000}]", "too large"),
            ("{", "line 1 of it cannot be understood"),
        ],
    )
    def test_refused(self, text: str, says: str) -> None:
        with pytest.raises(json_text.TextError, match=says):
            json_text.loads(text)

    def test_taken(self) -> None:
        assert json_text.loads('{"a": [1, -2.5, {"a": null}]}') == {"a": [1, -2.5, {"a": None}]}
        assert json_text.loads("[" * 64 + "]" * 64)


class TestFiles:
    def test_only_regular_files_of_bounded_size(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        for file in (tmp_path / "pipe", Path("/dev/zero")):
            with pytest.raises(UnisonoError, match="no regular file"):
                files.read_json(file, "is nothing")
            with pytest.raises(UnisonoError, match="no regular file"):
                files.write_whole(file, "x")
        with pytest.raises(UnisonoError, match="Is a directory"):
            files.read_text(tmp_path)
        (tmp_path / "large").write_text("x" * 2000)
        with pytest.raises(OSError, match="more than 0 MiB"):
            files.read_bytes(tmp_path / "large", most=1999)

    def test_links_are_replaced_and_not_followed(self, tmp_path: Path) -> None:
        (tmp_path / "victim").write_text("theirs")
        (tmp_path / "file").symlink_to(tmp_path / "victim")
        files.write_whole(tmp_path / "file", "ours", own=True)
        assert (tmp_path / "victim").read_text() == "theirs" and not (tmp_path / "file").is_symlink()
        assert (tmp_path / "file").stat().st_mode & 0o777 == 0o600
        assert len(list(tmp_path.iterdir())) == 2


class TestShown:
    def test_control_characters(self) -> None:
        assert shown("a\x1b[2J\x9b\u202e\udcff\x07\tb\nc é") == "a\\x1b[2J\\x9b\\u202e\\xff\\x07\tb\nc é"
        assert json.loads(shown_json(json.dumps("\x9b\x1bé", ensure_ascii=False))) == "\x9b\x1bé"


def test_the_schema_is_checked() -> None:
    report = json.loads(REPORT.read_text())
    assert sound.problem(report, "report") is None
    report["classes"][0]["calls"] = True
    assert sound.problem(report, "report") == "a field holds what does not belong there (classes[0].calls)"
    del report["wall_s"]
    assert "it has no field 'wall_s'" in str(sound.problem(report, "report"))


@pytest.mark.parametrize(
    "change",
    [
        lambda r: r.update(wall_s=None),
        lambda r: r.update(schema=[]),
        lambda r: r.update(nodes=[]),
        lambda r: r["classes"][0].update(time_s="fast"),
        lambda r: r["classes"][0].update(parameters=[1]),
        lambda r: r["classes"][0].update(calls=-1),
        lambda r: r["learning"][0].update(timeline=[]) if r["learning"] else r.update(hints=3),
        lambda r: r.update(collective_time_s={"max": [], "mean": 0, "error": 0}),
    ],
)
def test_a_damaged_report_is_a_message(stage: Stage, change: Any) -> None:
    file = changed(stage, change)
    for words in (["report", file], ["explain", file], ["report", file, "--html", "p.html"]):
        answer = stage.unisono(*words)
        assert "Traceback" not in answer.stderr, answer.stderr
        assert answer.returncode == 2 and "unisono: " in answer.stderr, (words, answer)


def test_names_do_not_steer_the_terminal(stage: Stage) -> None:
    name = "\x1b]0;title\x07\x9b2J\u202ename"

    def rename(report: dict[str, Any]) -> None:
        report.update(mpi=name, hints=[name], warnings=[name], options={"algorithm": name})
        report["classes"][0].update(shape=name, reason=name, size_class=name)
        for row in report["communicators"] + report["nodes"]:
            row["name"] = name

    file = changed(stage, rename)
    for words in (["report", file], ["report", "--json", file]):
        answer = stage.unisono(*words)
        assert answer.returncode == 0, answer.stderr
        assert not set(answer.stdout) & {"\x1b", "\x07", "\x9b", "\u202e"}, answer.stdout
    for missing in ("no\x1b[2Jsuch", "\x9bnone"):
        answer = stage.unisono("report", missing)
        assert answer.returncode == 2 and "\x1b" not in answer.stderr and "\x9b" not in answer.stderr


def test_long_reasons_are_shown_whole(stage: Stage) -> None:
    words = [f"w{i}" for i in range(300)]

    def lengthen(report: dict[str, Any]) -> None:
        for row in [*report["classes"], *report["native"]]:
            row["reason"] = " ".join(words)

    file = changed(stage, lengthen)
    for command in (["report", file], ["explain", file]):
        answer = stage.unisono(*command)
        assert answer.returncode == 0, answer.stderr
        shown_words = answer.stdout.split()
        assert all(word in shown_words for word in words), answer.stdout


@needs_build
def test_files_of_the_compiled_code(stage: Stage, built: dict[str, str]) -> None:
    """Tables, machines and topologies go to it by their names."""
    os.mkfifo(stage.work / "pipe")
    (stage.work / "deep").write_text('{"a":' * 70_000)
    (stage.work / "double").write_text('{"schema": "unisono-table", "version": 1, "rules": [], "rules": []}')
    (stage.work / "name").write_text(
        json.dumps({"schema": "\x1b[2J\x9b", "version": 1, "rules": [{"\x1b": 1}]})
    )
    wanted = {
        "pipe": "is no regular file",
        "/dev/zero": "is no regular file",
        ".": "is a directory",
        "deep": "is nested deeper",
        "double": "has the field 'rules' twice",
        "name": "is no table",
    }
    answer = stage.unisono("table", "check", *wanted, environment=built)
    lines = answer.stdout.splitlines()
    assert answer.returncode == 1 and len(lines) == len(wanted), answer
    for line, (file, says) in zip(lines, wanted.items(), strict=True):
        assert line.startswith(file) and says in line, line
    assert not set(answer.stdout) & {"\x1b", "\x9b"}
    rule = {"operation": "bcast", "algorithm": "native", "region": "\x1b[2J\x9b\u202e"}
    (stage.work / "region").write_text(json.dumps({"schema": "unisono-table", "version": 1, "rules": [rule]}))
    merged = stage.unisono("table", "merge", "region", environment=built).stdout
    ask_tool = [f"{built['UNISONO_HOME']}/bin/unisono-tool", "table", "--file", "region"]
    told = subprocess.run(ask_tool, cwd=stage.work, capture_output=True, check=True)
    for text in (merged, told.stdout.decode()):
        assert "u001b[2J\\u009b\\u202e" in text and not set(text) & {"\x1b", "\x9b", "\u202e"}, text
    ask = ["predict", "bcast", "--size", "8", "--layout", "4", "--machine"]
    for words in ([*ask, "pipe"], [*ask, "deep"], ["topology", "show", "pipe"], ["report", "pipe"]):
        answer = stage.unisono(*words, environment=built)
        assert answer.returncode in (1, 2) and "Traceback" not in answer.stderr, (words, answer)
        assert "is no regular file" in answer.stderr or "is nested deeper" in answer.stderr, (words, answer)


@needs_build
def test_places_that_cannot_be_written(stage: Stage, built: dict[str, str]) -> None:
    """A limit for files, as a full or read-only file system: a message, and nothing is left."""

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    table = stage.work / "t.json"
    table.write_text('{"schema": "unisono-table", "version": 1, "rules": []}')
    folder = stage.work / "out"
    folder.mkdir()
    answer = subprocess.run(
        stage.command("table", "merge", str(table), "-o", str(folder / "made.json")),
        env=stage.environment(built),
        cwd=stage.work,
        preexec_fn=limited,
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert answer.returncode == 1 and "Traceback" not in answer.stderr, answer.stderr
    assert "File too large" in answer.stderr, answer.stderr
    assert list(folder.iterdir()) == []


@needs_build
def test_a_read_only_file_system(stage: Stage, built: dict[str, str]) -> None:
    """Each command that writes says so and ends; what only reads goes on."""
    namespace = ["unshare", "--user", "--map-root-user", "--mount"]
    if subprocess.run([*namespace, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("may not make a mount namespace")
    kept = stage.work / "kept"
    (kept / "bench/0").mkdir(parents=True)
    (kept / "tables/m/p").mkdir(parents=True)
    rule = {"operation": "bcast", "algorithm": "native"}
    table = json.dumps({"schema": "unisono-table", "version": 1, "rules": [rule]})
    for file in ("tables/m/p/t.json", "t.json"):
        (kept / file).write_text(table)
    (kept / "crashes.jsonl").write_text(json.dumps({"operation": "bcast", "program": "p"}) + "\n")
    refused = [
        ["table", "merge", "kept/t.json", "-o", "kept/made.json"],
        ["show", "bcast", "--algorithm", "flat", "--ranks", "4", "-o", "kept/picture.svg"],
        ["report", str(REPORT), "--html", "kept/page.html"],
        ["run", "--report", "kept/page.html", "mpirun", "true"],
        ["bench", "--csv", "kept/cells.csv", "mpirun"],
        ["bench", "--plot", "kept/new/plot.svg", "mpirun"],
        ["tune", "--report", "kept/page.html", "mpirun"],
        ["tune", "-o", "kept/new.json", "mpirun"],
        ["machine", "measure", "mpirun"],
        ["machine", "measure", "-o", "kept/machine.json", "mpirun"],
        ["machine", "measure", "-o", "machine.json", "--plot", "kept/plot.svg", "mpirun"],
        ["cache", "clear"],
        ["cache", "clear", "--operation", "bcast"],
        ["crashes", "--forget"],
    ]
    reading = [["cache", "show"], ["table", "show", "kept/t.json"], ["crashes"]]
    answer = subprocess.run(
        [*namespace, sys.executable, str(Path(__file__).parent / "read_only.py")],
        input="".join(json.dumps(words) + "\n" for words in [*refused, *reading]),
        env=stage.environment(built | {"UNISONO_CACHE": str(kept)}),
        cwd=stage.work,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    answers = json.loads(answer.stdout)
    assert len(answers) == len(refused) + len(reading)
    for words, one in zip(refused, answers, strict=False):
        assert one["status"] == 1 and "Read-only file system" in one["said"], (words, one)
        assert one["said"].startswith("unisono: ") and one["said"].count("\n") == 1, (words, one)
    for words, one in zip(reading, answers[len(refused) :], strict=True):
        assert one["status"] == 0, (words, one)
