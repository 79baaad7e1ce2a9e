# SPDX-License-Identifier: BSD-3-Clause
"""`unisono machine`: measure on a job of the test's own, show and list; and the spellings of before."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import jsonschema
import pytest
from click.testing import CliRunner, Result
from conftest import BUILD, ROOT, needs_build
from test_bench import scripted_mpi
from unisono.commands.group import cli
from unisono.common import places, tool
from unisono.common.errors import UsageError
from unisono.machine import catalogue

pytestmark = needs_build
SCHEMA = json.loads((ROOT / "python/unisono/schema/machine.schema.json").read_text())
LINK = {"hockney": {"alpha_us": 40, "beta_us_per_byte": 2.6e-2}}
LEAST = {"schema": "unisono-machine", "version": 1, "name": "mine", "node": LINK, "network": LINK}

JOB = """
import json, sys
sys.path[:0] = [{tests!r}, {python!r}]
from test_machine_measuring import answer
from unisono.machine.costs import Question
print(json.dumps({{"mpi": "Test MPI 1.0", "ranks": 2, "nodes": 1, "ranks_per_node": [2, 2], "is_consecutive": True, "cores": 2,
    "is_active": True}}), flush=True)
for line in sys.stdin:
    verb, what, size, *rest = line.rstrip("\\n").split("\\t")
    if verb == "cost":
        group, buffers, wait = rest[1].split(",")
        series = answer(Question(what, group, int(size), int(buffers), wait))
        print(json.dumps({{"cost": what, "series": {{name: list(s) for name, s in series.items()}}}}), flush=True)
    if verb == "compare":
        names = [item.split(":", 1)[1] for item in rest[1].split(";")]
        print(json.dumps({{"operation": what, "bytes": int(size), "ranks": 2, "batch": 1, "is_same": True,
            "native_s": [2e-6] * 5, "unisono_s": [1e-6] * 5, "unisono": "shared",
            "candidates": [{{"name": n, "tried_s": 0, "samples_s": [1e-6] * 5}} for n in names]}}), flush=True)
"""


@pytest.fixture
def launcher(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """mpicc makes the job above; the tool is the compiled one."""
    script = tmp_path / "job.py"
    script.write_text(JOB.format(tests=str(Path(__file__).parent), python=str(ROOT / "python")))
    mpicc = (
        '#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done\n'
        f'printf \'#!/bin/sh\\nexec {sys.executable} {script} "$@"\\n\' > "$2"; chmod +x "$2"\n'
    )
    folder = scripted_mpi(tmp_path, monkeypatch, mpicc)
    tool = tmp_path / "home/bin/unisono-tool"
    tool.unlink()
    tool.symlink_to(BUILD / "bin/unisono-tool")
    monkeypatch.chdir(tmp_path)
    return ["--budget", "5s", "--", str(folder / "mpirun"), "-n", "2"]


def run(*words: str) -> Result:
    done = CliRunner().invoke(cli, list(words), env={"COLUMNS": "250"})
    assert done.exit_code == 0, done.output
    return done


def test_measuring_leaves_a_machine(launcher: list[str]) -> None:
    said = run("machine", "measure", "--name", "mine", "--plot", "curves.svg", *launcher).output
    assert "Not measured: messages between nodes (the job had one node)" in said
    assert "those of machine 'typical'" in said
    assert "Hockney: alpha" in said and "sender_put" in said
    machine = json.loads((places.cache() / "machines/mine.json").read_text())
    jsonschema.validate(machine, SCHEMA)
    assert machine["measured"]["mpi"] == "Test MPI 1.0" and machine["measured"]["host"]
    assert machine["measured"]["command"].startswith("unisono machine measure --name mine ")
    assert "</svg>" in Path("curves.svg").read_text()
    asked = run("predict", "bcast", "--ranks", "2", "--machine", "mine", "--json")
    assert json.loads(asked.stdout)[0]["machine"] == "mine"

    shown = run("machine", "show", "mine")
    assert "Hockney: alpha" in shown.stdout and "sender_put" in shown.stdout
    assert "Measured: " in shown.stdout and "Test MPI 1.0, 1x2, " in shown.stdout
    assert json.loads(run("machine", "show", "mine", "--json").stdout) == machine
    listed = json.loads(run("machine", "list", "--json").stdout)
    assert [entry["name"] for entry in listed] == [*catalogue.BUILT_IN, "mine"]
    assert listed[-1]["mpi"] == "Test MPI 1.0" and listed[-1]["layout"] == "1x2" and listed[-1]["date"]
    assert re.search(
        r"mine +20.* UTC +Test MPI 1.0 +1x2 +/.*/machines/mine.json", run("machine", "list").stdout
    )


def test_the_file_goes_where_it_is_asked_for(launcher: list[str]) -> None:
    done = run("machine", "measure", "-o", "here.json", "--base", "ethernet", "--json", *launcher)
    written = json.loads(Path("here.json").read_text())
    assert json.loads(done.stdout) == written
    assert written["measured"]["base"] == "ethernet"
    assert written["network"]["hockney"]["alpha_us"] == 50


def test_the_old_spellings_go_on_working(launcher: list[str]) -> None:
    done = run("tune", "--only", "measure", "-o", "here.json", "--machine", "ethernet", "--json", *launcher)
    assert json.loads(done.stdout) == json.loads(Path("here.json").read_text())
    assert "this is `unisono machine measure` now" in done.stderr
    shown = run("predict", "--machine", "here.json", "--show-machine")
    assert json.loads(shown.stdout)["network"]["hockney"]["alpha_us"] == 50
    assert "this is `unisono machine show here.json --json` now" in shown.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--operation", "bcast"), "--operation is of a tuning, not of --only measure"),
        (("--size", "8"), "--size is of a tuning"),
        (("--comm", "node"), "--comm is of a tuning"),
        (("--prove",), "--prove is of a tuning"),
        (("--exhaustive",), "--exhaustive is of a tuning"),
        (("--restart",), "--restart is of a tuning"),
        (("--report", "a.html"), "--report is of a tuning, not of --only measure: see --plot"),
    ],
)
def test_what_the_old_spelling_has_no_use_for_is_refused(
    launcher: list[str], words: tuple[str, ...], said: str
) -> None:
    done = CliRunner().invoke(cli, ["tune", "--only", "measure", *words, *launcher])
    assert done.exit_code == 2 and said in done.output, done.output


def test_options_of_measuring_are_none_of_a_tuning(launcher: list[str]) -> None:
    done = CliRunner().invoke(cli, ["tune", "--name", "mine", *launcher], env={"COLUMNS": "200"})
    assert done.exit_code == 2 and "--name is an option of `unisono machine measure`" in done.output


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--name", "../x"), "'../x' is no name for a machine"),
        (("--name", ""), "'' is no name for a machine"),
        (("--name", "none"), "'none' has a meaning of its own"),
        (("--name", "typical"), "'typical' has a meaning of its own"),
        (("-o", "same.svg", "--plot", "./same.svg"), "--output and --plot name the same file"),
    ],
)
def test_what_makes_no_sense_is_refused(launcher: list[str], words: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(cli, ["machine", "measure", *words, *launcher])
    assert done.exit_code == 2 and said in done.output, done.output
    assert not Path("same.svg").exists() and not (places.cache() / "machines").exists()


def test_a_machine_that_cannot_be_written_is_not_measured(launcher: list[str]) -> None:
    for words in (["-o", "/proc/no/machine.json"], ["--plot", "/proc/no/curves.svg"]):
        done = CliRunner().invoke(cli, ["machine", "measure", *words, *launcher])
        assert done.exit_code == 1 and "cannot write /proc/no/" in done.output


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("UNISONO_HOME", str(BUILD))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("UNISONO_CACHE", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_machines_built_in_are_those_of_the_compiled_code(home: Path) -> None:
    with pytest.raises(UsageError) as refused:
        tool.ask("machine", "--machine", "no such machine")
    (names,) = re.findall(r"built in \((.*?)[;)]", refused.value.message)
    assert set(catalogue.BUILT_IN) == set(names.split(", "))


@pytest.mark.parametrize("name", catalogue.BUILT_IN)
def test_machines_built_in_are_shown(home: Path, name: str) -> None:
    machine = json.loads(run("machine", "show", name, "--json").stdout)
    jsonschema.validate(machine, SCHEMA)
    shown = run("machine", "show", name).stdout
    assert machine["note"] in " ".join(shown.split())
    assert "messages between nodes" in shown and "Measured" not in shown


def test_a_file_of_four_numbers_is_shown_whole(home: Path) -> None:
    Path("mine.json").write_text(json.dumps(LEAST))
    assert "does not have cores_per_node" in run("machine", "show", "mine.json").stdout
    machine = json.loads(run("machine", "show", "mine.json", "--json").stdout)
    jsonschema.validate(machine, SCHEMA)
    assert machine["network"]["hockney"] == LINK["hockney"] and "shared_memory" in machine["filled"]


def test_what_is_no_machine_is_said(home: Path) -> None:
    done = CliRunner().invoke(cli, ["machine", "show", "nosuch"])
    assert done.exit_code == 2 and "no such machine built in" in done.output
    for part in ({"findings": {"buffers": [3]}}, {"measured": 5}, {"findings": {"waits_us": {"spin": "x"}}}):
        Path("odd.json").write_text(json.dumps(LEAST | part))
        done = CliRunner().invoke(cli, ["machine", "show", "odd.json"])
        assert done.exit_code in (1, 2) and isinstance(done.exception, SystemExit), done.output


def test_files_of_no_use_are_listed_with_the_reason(home: Path) -> None:
    catalogue.write(LEAST | {"name": catalogue.own_name()})
    (catalogue.folder() / "letter.json").write_text("Dear Sir")
    catalogue.write(LEAST | {"name": "shared"})
    (catalogue.folder() / "shared.json").chmod(0o666)
    listed = {entry["name"]: entry for entry in json.loads(run("machine", "list", "--json").stdout)}
    assert listed[catalogue.own_name()]["is_this_host"] and listed[catalogue.own_name()]["problem"] is None
    assert listed["letter"]["problem"] == "is no machine's file"
    assert "may be written by others" in listed["shared"]["problem"]
    assert f"{catalogue.own_name()} (this host)" in run("machine", "list").stdout
