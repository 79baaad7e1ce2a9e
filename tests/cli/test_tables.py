# SPDX-License-Identifier: BSD-3-Clause
"""Tables on narrow terminals: no number is cut, no word is broken, and what is left out is named."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pytest
from conftest import BUILD, FIXTURES, ROOT, Stage, needs_build
from rich.console import Console
from rich.markup import escape
from test_crashes import record
from unisono.commands.group import cli
from unisono.commands.tune_all import using_lines
from unisono.common import printing
from unisono.common.fitted_table import FittedTable

COLUMNS = ["operation", "time", "of native", "looked at", "algorithm", "region"]
ROWS = [
    ["reduce_scatter_block", "123 us", "1.00", "12", "two_level_ring(segment=65536,window=2)", ""],
    ["bcast", "1 us", "2.00", "3", "a[b] and a few words more", ""],
]
NUMBERS = ("time", "of native", "looked at")


def printed(width: int, *give_way: str) -> list[str]:
    out = io.StringIO()
    made = printing.table(
        "Title",
        *COLUMNS,
        right=NUMBERS,
        whole=("operation",),
        give_way=give_way,
        legend={"time": "what a call takes", "looked at": "settings"},
    )
    for row in ROWS:
        made.add_row(*map(escape, row))
    Console(file=out, width=width).print(made)
    return out.getvalue().splitlines()


def test_what_fits_is_whole() -> None:
    text = "\n".join(printed(120, "looked at"))
    assert ROWS[0][-2] in text and "looked at" in text and "Left out" not in text
    assert "a[b]" in text, "brackets are no markup"
    assert "region" not in text, "an empty column takes no room"
    assert "time: what a call takes; looked at: settings." in text


def test_sentences_take_several_lines_however_wide_the_output_is() -> None:
    made = printing.table(None, "name", "meaning", prose=("meaning",))
    made.add_row("x", "some words " * 50)
    out = io.StringIO()
    Console(file=out, width=10_000).print(made)
    assert 90 < max(map(len, out.getvalue().splitlines())) <= 110


@pytest.mark.parametrize(
    ("width", "hidden"), [(100, []), (82, ["looked at"]), (74, ["looked at", "of native"])]
)
def test_columns_give_way_before_words_are_broken(width: int, hidden: list[str]) -> None:
    lines = printed(width, "looked at", "of native")
    text = " ".join(" ".join(lines).split())
    assert max(map(len, lines)) <= width
    (row,) = [line for line in lines if line.startswith("reduce_scatter_block")]
    assert ROWS[0][-2] in row and "123 us" in row
    said = text.partition("lack of room: ")[2].partition(". A terminal of ")
    assert said[0] == ", ".join(f"'{name}'" for name in hidden)
    if hidden:
        assert re.match(r"\d+ columns shows them, and so does --json", said[2])
        assert printed(int(said[2].split()[0]), "looked at", "of native")[-1].startswith("time: ")
    assert ("settings" in text) == ("looked at" not in hidden)


def test_rows_become_lists_where_nothing_may_be_left_out() -> None:
    lines = printed(60)
    assert lines[1:6] == [
        "operation  reduce_scatter_block",
        "time       123 us",
        "of native  1.00",
        "looked at  12",
        f"algorithm  {ROWS[0][-2]}",
    ]


def test_a_file_has_whole_lines(stage: Stage) -> None:
    """Where the output is no terminal, whatever reads it can wrap lines."""
    answer = stage.unisono("report", str(FIXTURES / "report.json"))
    assert any(
        "forced [UNISONO_ALGORITHM]" in line for line in answer.stdout.splitlines() if "120,000" in line
    )
    assert "\x1b" not in answer.stdout


def test_every_table_is_made_by_the_one_printer() -> None:
    users = [
        file.name
        for file in (ROOT / "python").rglob("*.py")
        if re.search(r"rich(\.| import )table", file.read_text())
    ]
    assert users == []


def test_colours_can_be_read_on_dark_and_on_light() -> None:
    """No yellow, cyan or grey: one of the grounds swallows each."""
    known = {*printing.THEME.styles, "bold"}
    for file in [*(ROOT / "python").rglob("*.py"), *(ROOT / "examples").rglob("*.py")]:
        used = set(re.findall(r"\[/([a-z ]+)\]", file.read_text()))
        assert used <= known, file
    own = {name: printing.THEME.styles[name] for name in ("good", "bad", "warning", "hint")}
    assert {style.color.name for style in own.values() if style.color} <= {"green", "red", "magenta"}


def test_no_colour_where_none_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    def said() -> str:
        out = io.StringIO()
        Console(file=out, force_terminal=True, theme=printing.THEME).print("[warning]warning:[/warning]")
        return out.getvalue()

    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "35m" in said()
    monkeypatch.setenv("NO_COLOR", "1")
    assert "35m" not in said()


def test_a_long_command_says_how_far_it_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where no bar can be drawn, a line now and then; and none where it is quick."""
    with printing.progress() as bar:
        bar.add_task("quick", total=3)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(printing, "LINE_S", 0.01)
    said = ""
    with printing.progress() as bar:
        task = bar.add_task("bcast 8 B", total=3)
        bar.advance(task)
        while "1 of 3" not in said:
            said += capsys.readouterr().err
    assert re.search(r"^unisono: bcast 8 B, 1 of 3 \(\d+ s\)$", said, re.MULTILINE)


def test_a_tuning_says_how_its_table_is_used(
    stage: Stage, built: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**built, "HOME": str(stage.work), "UNISONO_CONFIG": "/some/unisono.conf"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(stage.work)
    once, kept, site = (" ".join(line.split()) for line in using_lines(Path("my table.json"))[1:])
    assert once == "once: unisono run --table 'my table.json' ..."
    assert kept == f"from now on: a line 'table = \"{stage.work}/my table.json\"' in /some/unisono.conf"
    assert site.startswith("for all users: copy it to /") and "etc/unisono/table.json" in site


# --- All commands, at 80 columns ---

REPORT = str(FIXTURES / "report.json")
OF_COMMANDS = [
    ["report", REPORT],
    ["explain", REPORT, "allreduce"],
    ["explain", "allreduce", "64K", "--layout", "4x4", "--table", "a-long-name-of-a-table.json"],
    ["explain", "a-long-name-of-a-table.json", "allreduce"],
    ["table", "show", "a-long-name-of-a-table.json"],
    ["table", "diff", "a-long-name-of-a-table.json", "another-long-name-of-a-table.json"],
    ["options"],
    ["list"],
    ["list", "allreduce"],
    ["predict", "allreduce", "--layout", "4x4", "--size", "64K", "--all"],
    ["predict", "bcast", "--layout", "4x4", "--size", "1M", "--model", "mixed"],
    ["machine", "list"],
    ["machine", "show", "typical"],
    ["topology", "show", "tree:2x4", "--phases"],
    ["topology", "contention", "tree:2x4", "allgather"],
    ["crashes"],
    ["cache", "show"],
    ["info"],
]


def a_table(file: Path, algorithm: str) -> None:
    """One with all that a rule may have measured."""
    timed = {"time_us": 26.7, "interval_us": [26.1, 27.3], "samples": 1200}
    others = [
        {"algorithm": "native", "time_us": 1234.5, "interval_us": [1200.0, 1270.0], "samples": 1100},
        {"algorithm": "two_level_ring(segment=65536,window=2)", "time_us": 31.4, "samples": 900},
    ]
    rule = {
        "operation": "allreduce",
        "bytes": [32769, 65536],
        "nodes": [4, 4],
        "ranks_per_node": [4, 4],
        "algorithm": algorithm,
        "origin": "measured",
        "measured_bytes": 65536,
        "others": others,
    }
    document = {"schema": "unisono-table", "version": 1, "provenance": {}, "rules": [rule | timed]}
    file.write_text(json.dumps(document))


@needs_build
@pytest.mark.parametrize("words", OF_COMMANDS, ids=" ".join)
@pytest.mark.parametrize("width", [80, 44])
def test_no_command_cuts_a_number(
    words: list[str],
    width: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in {"UNISONO_HOME": BUILD, "UNISONO_CACHE": tmp_path, "COLUMNS": width}.items():
        monkeypatch.setenv(name, str(value))
    (tmp_path / "crashes.jsonl").write_text(record("my_program", "ring(segment=65536)"))
    a_table(tmp_path / "a-long-name-of-a-table.json", "ring(segment=65536)")
    a_table(tmp_path / "another-long-name-of-a-table.json", "recursive_doubling")
    tables: list[FittedTable] = []
    monkeypatch.setattr(FittedTable, "__rich_console__", recorded(tables, FittedTable.__rich_console__))
    with pytest.raises(SystemExit):
        cli.main(words, prog_name="unisono")
    text = capsys.readouterr().out
    told = " ".join(text.split())
    for table in tables:
        hidden = table.left_out(width)
        for name in hidden:
            assert f"'{name.strip()}'" in told.partition("Left out for lack of room: ")[2]
        for i, name in enumerate(table.columns):
            for row in table.rows if name not in hidden else []:
                cell = row[i].plain
                parts = [cell] if name in table.right else cell.split()
                for part in parts:
                    assert re.search(rf"(?<!\S){re.escape(part)}(?!\S)", text), (name, cell)
    assert tables or words == ["list", "allreduce"], "there was something to look at"


def recorded(tables: list[FittedTable], render):  # type: ignore[no-untyped-def]
    """`render` that keeps what it is asked to print."""

    def call(table, console, options):  # type: ignore[no-untyped-def]
        tables.append(table)
        return render(table, console, options)

    return call
