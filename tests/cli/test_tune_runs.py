# SPDX-License-Identifier: BSD-3-Clause
"""`unisono tune` from end to end, with a job of the test's own: what it writes, keeps, and goes on with."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from test_bench import scripted_mpi
from test_tune import entry
from unisono.commands.group import cli

# Answers as the benchmark program does. Dies at a candidate named in $DIES_AT, and after $ANSWERS answers; gives
# none at size $HANGS_AT. $PLACES: what its first line says else, by the communicator.
JOB = """
import json, os, sys
comm = sys.argv[sys.argv.index("--comm") + 1]
print(json.dumps({"mpi": "Test MPI 1.0", "ranks": 4, "nodes": 1, "ranks_per_node": [4, 4], "is_consecutive": True,
    "is_active": "INACTIVE" not in os.environ} | json.loads(os.environ.get("PLACES", "{}")).get(comm, {})), flush=True)
print("what some launcher says", flush=True)
answers = int(os.environ.get("ANSWERS", "1000000"))
TIMES = {"flat": 3e-6, "ring": 2e-6, "chain": 1e-6}
own = os.environ.get("OWN", "flat")
for line in sys.stdin:
    verb, operation, size, seconds, listed = line.rstrip("\\n").split("\\t")
    names = [item.split(":", 1)[1] for item in listed.split(";") if item]
    if verb == "able":
        print(json.dumps({"able": [name for name in names if name in TIMES]}), flush=True)
        continue
    names = [name for name in names if name != "never"]
    with open(os.environ["ASKED"], "a") as file:
        file.writelines(f"{verb} {operation} {size} {name}\\n" for name in names)
    if answers == 0 or os.environ.get("DIES_AT") in names:
        sys.exit(9)
    if size == os.environ.get("HANGS_AT"):
        open(os.environ["ASKED"] + ".hangs", "w").close()
        sys.stdin.read()
    answers -= 1
    times = {name: TIMES[name.split("(")[0]] for name in names}
    if verb.startswith("look"):
        print(json.dumps({"operation": operation, "looked": [{"name": n, "tried_s": t} for n, t in times.items()]}), flush=True)
    else:
        print(json.dumps({"operation": operation, "bytes": int(size), "ranks": 4, "batch": 1, "is_same": True, "native_s": [2.5e-6] * 5,
            "unisono_s": [TIMES[own]] * 5, "unisono": own,
            "candidates": [{"name": n, "tried_s": t, "samples_s": [0.9 * t, 1.1 * t, t, t, t]} for n, t in times.items()]}), flush=True)
"""
LISTED = json.dumps(
    [
        entry(operation, name, name)
        for operation in ("bcast", "gather", "scatter")
        for name in ("flat", "ring", "chain", "never")
    ]
)


@pytest.fixture
def launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """mpicc makes the job above."""
    script = tmp_path / "job.py"
    script.write_text(JOB)
    mpicc = (
        '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\n'
        f'printf \'#!/bin/sh\\nexec {sys.executable} {script} "$@"\\n\' > "$2"; chmod +x "$2"\n'
    )
    folder = scripted_mpi(tmp_path, monkeypatch, mpicc, LISTED)
    monkeypatch.setenv("ASKED", str(tmp_path / "asked"))
    monkeypatch.chdir(tmp_path)
    return ["--budget", "60s", "--", str(folder / "mpirun"), "-n", "4"]


def asked(verb: str) -> list[str]:
    lines = Path("asked").read_text().splitlines()
    return [line.split(" ", 1)[1] for line in lines if line.startswith(verb)]


def test_a_table_is_written(launcher: list[str]):
    done = CliRunner().invoke(cli, ["tune", "--operation", "bcast", "--size", "8,64K", *launcher])
    assert done.exit_code == 0, done.output
    table = json.loads(Path("unisono-table.json").read_text())
    assert (table["schema"], table["version"]) == ("unisono-table", 1)
    assert table["provenance"]["mpi"] == "Test MPI 1.0"
    assert [rule["algorithm"] for rule in table["rules"]] == ["chain", "chain"]
    rule = table["rules"][0]
    assert rule["time_us"] == 1.0
    assert 0.9 <= rule["interval_us"][0] <= 1.0 <= rule["interval_us"][1] <= 1.1
    intervals = {other["algorithm"]: other["interval_us"] for other in rule["others"]}
    assert intervals["native"] == [2.5, 2.5] and intervals["flat"] == [3.0, 3.0], "own choice and native too"
    assert "6 settings looked at of 6 that may run here and differ" in done.output
    assert re.search(
        r"\d+% of the time of an exhaustive search, which would take about \d+ s \(an estimate", done.output
    )
    assert not list(Path().glob(".*progress")), "nothing is left behind"


@pytest.mark.parametrize("options", [[], ["--search-all"]], ids=["judged", "all"])
def test_what_is_not_worth_a_search(launcher: list[str], monkeypatch: pytest.MonkeyPatch, options: list[str]):
    """Nothing is faster than the own choice in gather: so says the last line of scatter, which has rules all the same."""
    monkeypatch.setenv("OWN", "chain")
    done = CliRunner().invoke(
        cli, ["tune", "--operation", "gather,scatter", "--size", "8,64", *options, *launcher]
    )
    assert done.exit_code == 0, done.output
    reason = "scatter of 8 B, 64 B: in gather nothing was faster than chain, which is the own choice here too"
    assert (reason in done.output) is not bool(options)
    assert bool([look for look in asked("look") if look.startswith("scatter")]) is bool(options)
    rules = json.loads(Path("unisono-table.json").read_text())["rules"]
    assert [(rule["operation"], rule["algorithm"]) for rule in rules] == [
        (operation, "chain") for operation in ("gather", "gather", "scatter", "scatter")
    ]


def test_a_table_says_what_made_it(launcher: list[str]):
    words = ["--exhaustive", "--operation", "bcast", "--size", "8,64", "-o", "my table.json", *launcher]
    done = CliRunner().invoke(cli, ["tune", *words])
    assert done.exit_code == 0, done.output
    said = json.loads(Path("my table.json").read_text())["provenance"]["command"]
    assert shlex.split(said)[2:] == [
        *[
            "--output",
            "my table.json",
            "--budget",
            "60s",
            "--operation",
            "bcast",
            "--size",
            "8,64",
            "--exhaustive",
        ],
        *launcher[2:],
    ]


@pytest.mark.parametrize("command", ["tune", "measure", "merge"])
def test_what_is_no_table_is_not_overwritten(launcher: list[str], command: str):
    letter = Path("letter.json")
    words = {
        "tune": ["tune", "--operation", "bcast", "--size", "8", "-o", str(letter), *launcher],
        "measure": ["machine", "measure", "-o", str(letter), *launcher],
        "merge": ["table", "merge", "nowhere.json", "-o", str(letter)],
    }
    for text in ('{"schema": "unisono-report"}', "Dear Sir", "[]"):
        letter.write_text(text)
        done = CliRunner().invoke(cli, words[command])
        assert done.exit_code == 2 and "letter.json is there and no unisono-" in done.output
        assert letter.read_text() == text
    assert not Path("asked").exists(), "it is said before anything is measured"


def test_an_older_table_is_replaced(launcher: list[str]):
    for text in ("", '{"schema": "unisono-table"}'):
        Path("unisono-table.json").write_text(text)
        done = CliRunner().invoke(cli, ["tune", "--operation", "bcast", "--size", "8", *launcher])
        assert done.exit_code == 0, done.output
        assert json.loads(Path("unisono-table.json").read_text())["rules"]


def test_exhaustive(launcher: list[str]):
    done = CliRunner().invoke(
        cli, ["tune", "--exhaustive", "--operation", "bcast", "--size", "64K", *launcher]
    )
    assert done.exit_code == 0, done.output
    assert len(asked("look_alike")) == 3, "none of the three has a parameter, and 'never' may not run"
    assert "3 settings looked at: all 3 that may run here and differ" in done.output
    assert "best inside nodes: from 64 KiB messages" in done.output


def test_what_kills_the_job_is_left_out(launcher: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DIES_AT", "chain")
    done = CliRunner().invoke(cli, ["tune", "--operation", "bcast", "--size", "8", *launcher])
    assert done.exit_code == 0, done.output
    table = json.loads(Path("unisono-table.json").read_text())
    assert all(rule["algorithm"] != "chain" for rule in table["rules"])
    assert "the measuring job has ended" in done.output


def test_an_interrupted_run_goes_on(launcher: list[str], monkeypatch: pytest.MonkeyPatch):
    command = ["tune", "--operation", "bcast", "--size", "8,64,512", *launcher]
    monkeypatch.setenv("ANSWERS", "0")
    assert CliRunner().invoke(cli, command).exit_code != 0
    assert not Path("unisono-table.json").exists()
    monkeypatch.setenv("ANSWERS", "5")
    monkeypatch.setattr("unisono.commands.tune_run._MOST_FAILURES", 1)
    assert CliRunner().invoke(cli, command).exit_code != 0
    compared = len(set(asked("decide")))
    assert compared > 0
    monkeypatch.delenv("ANSWERS")
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 0, done.output
    assert "goes on after 1 cell that" in done.output
    assert len(json.loads(Path("unisono-table.json").read_text())["rules"]) == 3


def test_a_job_without_unisono(launcher: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("INACTIVE", "1")
    done = CliRunner().invoke(cli, ["tune", "--operation", "bcast", "--size", "8", *launcher])
    assert done.exit_code == 1
    assert "does not run under Unisono" in done.output


def leave(monkeypatch: pytest.MonkeyPatch, *words: str) -> Result:
    """A run that ends after its first cell."""
    monkeypatch.setenv("ANSWERS", "5")
    monkeypatch.setattr("unisono.commands.tune_run._MOST_FAILURES", 1)
    left = CliRunner().invoke(cli, ["tune", *words])
    monkeypatch.delenv("ANSWERS")
    assert left.exit_code == 1, left.output
    return left


def progress() -> list[dict]:
    """What is kept of searches: their questions and cells."""
    return json.loads(Path(".unisono-table.json.progress").read_text())["searches"]


def kept_sizes() -> list[list[int]]:
    return [[outcome["bytes"] for outcome in search["outcomes"]] for search in progress()]


@pytest.mark.parametrize("changed", ["--exhaustive", "--machine", "launcher", "settings"])
def test_cells_that_asked_something_else_are_left_alone(
    launcher: list[str], monkeypatch: pytest.MonkeyPatch, changed: str
):
    """A search that calls itself exhaustive has no cells of one that was not, and takes away nothing from it."""
    words = ["--operation", "bcast", "--size", "8,64", *launcher]
    leave(monkeypatch, *words)
    assert kept_sizes() == [[8]]
    other = {"--exhaustive": ["--exhaustive"], "--machine": ["--machine", "none"]}.get(changed, [])
    if changed == "settings":
        monkeypatch.setenv("UNISONO_CORES", "1")
    if changed == "--machine":
        monkeypatch.setattr(
            "unisono.machine.catalogue.measured_for", lambda _: Path("/nowhere/measured.json")
        )
        monkeypatch.setattr("unisono.machine.predictions.predicted_by_size", lambda *_: {8: [], 64: []})
        leave(monkeypatch, "--restart", *words)
    words[-1] = "2" if changed == "launcher" else "4"
    done = CliRunner().invoke(cli, ["tune", *other, *words])
    assert done.exit_code == 0, done.output
    assert "goes on after" not in done.output
    named = {"--machine": "the machine", "launcher": "the launcher's words", "settings": "UNISONO_"}
    assert (
        f"leaves alone 1 cell of an interrupted run that asked something else ({named.get(changed, changed)}"
        in (done.output)
    )
    assert len(json.loads(Path("unisono-table.json").read_text())["rules"]) == 2
    assert kept_sizes() == [[8]], "for whoever asks the first question again"


def test_cells_of_another_plan_stay(launcher: list[str], monkeypatch: pytest.MonkeyPatch):
    """The same question about other sizes: what was asked about now is done, the rest waits."""
    leave(monkeypatch, "--operation", "bcast", "--size", "8,64", *launcher)
    done = CliRunner().invoke(cli, ["tune", "--operation", "bcast", "--size", "512", *launcher])
    assert done.exit_code == 0, done.output
    assert "left" not in done.output
    assert kept_sizes() == [[8]]
    done = CliRunner().invoke(cli, ["tune", "--operation", "bcast", "--size", "8,64", *launcher])
    assert "goes on after 1 cell that" in done.output
    assert not list(Path().glob(".*progress"))


def test_restart_forgets(launcher: list[str], monkeypatch: pytest.MonkeyPatch):
    words = ["--operation", "bcast", "--size", "8,64", *launcher]
    leave(monkeypatch, *words)
    done = CliRunner().invoke(cli, ["tune", "--restart", *words])
    assert done.exit_code == 0 and "goes on after" not in done.output


def test_a_leftover_that_is_none(launcher: list[str]):
    """Of another version, or damaged: it is measured again."""
    for text, said in (
        ('{"version": 2, "outcomes": []}', "is of another version"),
        ('{"version": 3, "searches": [{}]}', "is damaged"),
        ('{"version": 3, "searches": [{"question": {}, "outcomes": [{"bytes": 8}]}]}', "is damaged"),
        ('{"version": 3, "searches": [{"question": [], "outcomes": []}]}', "is damaged"),
        ('{"version": 3, "searches": 7}', "is damaged"),
        ("{", "is damaged"),
        ("[]", "is damaged"),
    ):
        Path(".unisono-table.json.progress").write_text(text)
        done = CliRunner().invoke(cli, ["tune", "--operation", "bcast", "--size", "8", *launcher])
        assert done.exit_code == 0, done.output
        assert f".unisono-table.json.progress {said}: it is not used" in done.output
        done = CliRunner().invoke(cli, ["tune", "--operation", "bcast", "--size", "8", *launcher])
        assert "progress" not in done.output, "there is none now"


@pytest.mark.parametrize(
    ("hangs_at", "said", "number"),
    [
        ("64", "1 of 2 cells are kept in .unisono-table.json.progress", signal.SIGTERM),
        ("8", "no cell was finished yet", signal.SIGINT),
    ],
)
def test_interrupted_by_hand_or_by_a_batch_system(
    launcher: list[str], hangs_at: str, said: str, number: signal.Signals
):
    # Whoever started the tests in the background may have had SIGINT ignored, which children inherit.
    command = ["env", "--default-signal", sys.executable, "-m", "unisono", "tune"]
    command += ["--operation", "bcast", "--size", "8,64", *launcher]
    process = subprocess.Popen(
        command, env={**os.environ, "HANGS_AT": hangs_at}, stderr=subprocess.PIPE, text=True
    )
    end = time.monotonic() + 40
    while not Path("asked.hangs").exists():
        assert time.monotonic() < end and process.poll() is None, "the job was never asked"
        time.sleep(0.02)
    process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 128 + number
    assert f"unisono: interrupted: {said}" in errors
    assert ("the same command goes on" in errors) == (hangs_at == "64")
    assert "Aborted" not in errors and "Traceback" not in errors


# A job of two nodes of four ranks, on as many cores.
JOB_OF_8 = {
    "ranks": 8,
    "nodes": 2,
    "ranks_per_node": [4, 4],
    "job_nodes": 2,
    "job_ranks_per_node": [4, 4],
    "cores": 4,
}
PLACES = {
    "world": JOB_OF_8,
    "node": JOB_OF_8 | {"ranks": 4, "nodes": 1},
    "split:2": JOB_OF_8 | {"ranks": 4, "nodes": 1},
    "split:3": JOB_OF_8 | {"ranks": 2, "nodes": 1, "ranks_per_node": [2, 2], "is_uniform": False},
    "leaders": JOB_OF_8 | {"ranks": 2, "ranks_per_node": [1, 1]},
    "split:8": JOB_OF_8 | {"ranks": 1, "nodes": 1, "ranks_per_node": [1, 1]},
}


def test_each_layout_of_communicators_is_tuned(launcher: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLACES", json.dumps(PLACES))
    words = ["--comm", ",".join(PLACES), "--operation", "bcast", "--size", "8,64K", *launcher]
    done = CliRunner().invoke(cli, ["tune", *words])
    assert done.exit_code == 0, done.output
    rules = json.loads(Path("unisono-table.json").read_text())["rules"]
    layouts = [(rule["nodes"], rule["ranks_per_node"]) for rule in rules]
    assert layouts == [([2, 2], [4, 4])] * 2 + [([1, 1], [4, 4])] * 2 + [([2, 2], [1, 1])] * 2
    assert "oversubscribed" not in rules[2], (
        "the nodes may share one machine's cores: of the job that is not known"
    )
    said = done.output
    assert "--comm split:2 is left out: its layout, 1x4, is tuned already" in said
    assert "--comm split:3 is left out: its communicators have different layouts" in said
    assert "--comm split:8 is left out: its communicators have one rank each" in said
    assert "1x4, the ranks of each node" in said and "2x1, one rank of each node" in said
    assert "for 6 cells, 18 settings looked at of 18" in said
    assert not list(Path().glob(".*progress"))


def test_an_interrupted_kind_of_communicators_goes_on(launcher: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLACES", json.dumps(PLACES))
    words = ["--comm", "world,leaders", "--operation", "bcast", "--size", "8,64", *launcher]
    leave(monkeypatch, *words)
    assert kept_sizes() == [[8]]
    done = CliRunner().invoke(cli, ["tune", *words])
    assert done.exit_code == 0, done.output
    assert "goes on after 1 cell that" in done.output and "leaves alone" not in done.output
    assert len(json.loads(Path("unisono-table.json").read_text())["rules"]) == 4
    assert not list(Path().glob(".*progress"))


def test_nothing_to_tune(launcher: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLACES", json.dumps(PLACES))
    done = CliRunner().invoke(cli, ["tune", "--comm", "split:3", "--operation", "bcast", *launcher])
    assert done.exit_code == 2 and "nothing to tune on these communicators" in done.output
    assert not Path("unisono-table.json").exists()


def test_a_proof(launcher: list[str]):
    """The job of this test does not go by the table: it serves what it always does."""
    words = ["--prove", "--operation", "bcast,alltoallv", "--size", "8,64K", *launcher]
    done = CliRunner().invoke(cli, ["tune", *words], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    assert "the exhaustive search is of 6 settings and takes" in done.output
    proof = done.output[done.output.index("Proof: ") :]
    assert "lose 200.0 % (200.0 to 200.0) against the search's (geometric mean of 2 cells" in proof
    assert "Slower than native by more than 2 %, with the whole interval: 2." in proof
    assert proof.count("200.0 %") == 3 and proof.count("1.20 (1.20 to 1.20)") == 2 and "chain" in proof
    assert [rule["algorithm"] for rule in json.loads(Path("unisono-table.json").read_text())["rules"]][
        :2
    ] == [
        "chain",
        "chain",
    ]
    assert not list(Path().glob(".*progress"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--comm", "world,moon"), "'moon' is no layout"),
        (("--comm", ""), "is no layout"),
        (("--prove", "--exhaustive"), "leave --exhaustive out"),
        (("--prove", "--operation", "alltoallv,gatherv"), "no decision goes by size"),
        (("--prove", "--only", "measure"), "not of --only measure"),
        (("--comm", "node", "--only", "measure"), "not of --only measure"),
    ],
)
def test_what_makes_no_sense_is_refused_before_the_job(
    launcher: list[str], words: tuple[str, ...], said: str
):
    done = CliRunner().invoke(cli, ["tune", *words, *launcher], env={"COLUMNS": "200"})
    assert done.exit_code == 2, done.output
    assert said in done.output
    assert not Path("asked").exists()


def test_sizes_that_cannot_be_are_said(launcher: list[str]):
    for words, said in (
        (["--operation", "allreduce", "--size", "3"], "nothing is left to measure of allreduce 3 B"),
        (["--operation", "bcast", "--size", "8G"], "counts its bytes with an int"),
        (["--operation", "gather", "--size", "64M"], "nothing to tune on these communicators"),
    ):
        done = CliRunner().invoke(cli, ["tune", *words, *launcher])
        assert done.exit_code == 2 and said in done.output, done.output
        assert not Path("unisono-table.json").exists()
    assert "gather 64 MiB: a rank would hold more than 64 MiB of all blocks together" in done.output
    done = CliRunner().invoke(cli, ["tune", "--operation", "bcast,allreduce", "--size", "3", *launcher])
    assert done.exit_code == 0, done.output
    assert "left out: allreduce 3 B: they add up doubles" in done.output


def test_a_layout_that_is_pretended_is_not_tuned(launcher: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("UNISONO_NODES", "2x2")
    for words in (["tune"], ["machine", "measure"]):
        done = CliRunner().invoke(cli, [*words, *launcher])
        assert done.exit_code == 2 and "UNISONO_NODES=2x2 pretends a layout" in done.output


def test_communicators_can_be_asked_for_again(launcher: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLACES", json.dumps(PLACES))
    words = ["--comm", "world,node", "--operation", "bcast", "--size", "8", *launcher]
    assert CliRunner().invoke(cli, ["tune", *words]).exit_code == 0
    said = json.loads(Path("unisono-table.json").read_text())["provenance"]["command"]
    assert "--comm world,node" in said
    assert CliRunner().invoke(cli, shlex.split(said)[1:]).exit_code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("-o", "same.html", "--report", "same.html"), "--output and --report name the same file"),
        (("--report", "unisono-table.json/../x.html"), "there is no folder"),
        (("-o", "/proc/no/table.json"), "cannot write /proc/no/table.json"),
        (("-o", "/dev/null"), "no regular file"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_job(
    launcher: list[str], words: tuple[str, ...], said: str
):
    done = CliRunner().invoke(cli, ["tune", *words, *launcher])
    assert done.exit_code in (1, 2) and said in done.output, done.output
    assert not Path("asked").exists() and not list(Path().glob("same*"))


def test_one_rule_for_all_sizes_is_what_is_shown(
    launcher: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The own choice is slower than native, and the ring is so at one of the sizes."""
    answers = tmp_path / "job.py"
    answers.write_text(
        answers.read_text().replace(
            "times = {", "TIMES['ring'] = 2e-6 if size == '8' else 4e-6\n    times = {", 1
        )
    )
    listed = [entry("gatherv", name, name) for name in ("flat", "ring")]
    monkeypatch.setattr("unisono.common.tool.algorithms", lambda: listed)
    words = ["--operation", "gatherv", "--size", "8,64K", *launcher]
    done = CliRunner().invoke(cli, ["tune", *words], env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    (rule,) = json.loads(Path("unisono-table.json").read_text())["rules"]
    assert rule["algorithm"] == "native"
    rows = [line for line in done.output.splitlines() if line.startswith("gatherv  ")]
    assert [" native" in row for row in rows] == [True, True]
    assert "native (at this size: ring, 1.25 over native)" in rows[0] and "at this size" not in rows[1]
    assert "gatherv: ranks share no size, so that the table has one rule for all sizes" in done.output
