# SPDX-License-Identifier: BSD-3-Clause
"""list, show, check, options, info, and what they do when the tool misbehaves."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from conftest import BUILD, FIXTURES, Stage, needs_build
from unisono import __version__
from unisono.commands.group import COMMANDS, cli
from unisono.commands.listing import parameter_about
from unisono.machine import host

ALGORITHMS = json.loads((FIXTURES / "list.json").read_text())


class TestTop:
    def test_version(self, stage: Stage) -> None:
        assert stage.unisono("--version").stdout == f"unisono {__version__}\n"

    @needs_build
    def test_version_is_the_builds(self) -> None:
        tool = subprocess.run([BUILD / "bin/unisono-tool", "version"], capture_output=True, check=True)
        assert json.loads(tool.stdout) == {"unisono": __version__}

    def test_help_lists_the_commands(self, stage: Stage) -> None:
        text = stage.unisono("--help").stdout
        for name, (_, line) in COMMANDS.items():
            assert f"{name} " in text and line in text

    @pytest.mark.parametrize("name", COMMANDS)
    def test_every_command_has_help(self, stage: Stage, name: str) -> None:
        answer = stage.unisono(name, "--help")
        assert answer.returncode == 0
        assert answer.stdout.startswith(f"Usage: unisono {name} ")

    @pytest.mark.parametrize("name", COMMANDS)
    def test_every_option_has_help(self, name: str, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("UNISONO_HOME", str(stage.home))
        monkeypatch.setenv("FAKE_FIXTURES", str(FIXTURES))
        context = cli.make_context("unisono", [name, "--help"], resilient_parsing=True)
        command = cli.get_command(context, name)
        assert command is not None
        for param in command.get_params(context):
            if param.param_type_name == "option":
                assert getattr(param, "help", None), f"{name} {param.opts}"

    def test_numbers_are_finite(self, stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("UNISONO_HOME", str(stage.home))
        monkeypatch.setenv("FAKE_FIXTURES", str(FIXTURES))
        context = cli.make_context("unisono", ["--help"], resilient_parsing=True)
        commands = [found for name in COMMANDS if (found := cli.get_command(context, name))]
        commands += [one for group in commands for one in getattr(group, "commands", {}).values()]
        numbers = [
            param
            for command in commands
            for param in command.get_params(context)
            if isinstance(param.type, click.types.FloatParamType)
        ]
        assert len(numbers) >= 9
        for param in numbers:
            for text in ("nan", "inf", "-inf", "1e400"):
                with pytest.raises(click.BadParameter):
                    param.type.convert(text, param, context)

    def test_unknown_command(self, stage: Stage) -> None:
        answer = stage.unisono("frob")
        assert answer.returncode == 2
        assert "frob" in answer.stderr

    def test_run_starts_without_the_tables(self, stage: Stage) -> None:
        """rich takes longer to import than everything else that `run` needs."""
        code = "import sys, unisono.commands.run; sys.exit('rich' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


class TestList:
    def test_table(self, stage: Stage) -> None:
        text = stage.unisono("list", environment={"COLUMNS": "80"}).stdout
        for algorithm in ALGORITHMS:
            row = next(line for line in text.splitlines() if f" {algorithm['name']} " in line)
            assert row.split() == [algorithm["operation"], algorithm["name"], *algorithm["group"].split()]
        assert "several nodes" not in text and "--long" in text

    @pytest.mark.parametrize("words", [["--long"], ["--operation", "allreduce"]])
    def test_all_about_them(self, stage: Stage, words: list[str]) -> None:
        """Sentences have the line for themselves, however many columns there are."""
        text = stage.unisono("list", *words, environment={"COLUMNS": "80"}).stdout
        chosen = [a for a in ALGORITHMS if len(words) == 1 or a["operation"] == words[1]]
        for algorithm in chosen:
            assert f"{algorithm['operation']}:{algorithm['name']}  {algorithm['group']}; " in text
            assert algorithm["sentence"] in " ".join(text.split())
            assert " ".join(["needs:", *", ".join(algorithm["legality"]).split()]) in " ".join(text.split())
        assert ("in the sources: binomial tree (A5)" in text) == (len(words) == 1)
        assert ("bcast:" in text) == (len(words) == 1)

    @pytest.mark.parametrize(
        "words", [["--operation", "bcast"], ["bcast"], ["bcast", "--operation", "bcast"]]
    )
    def test_operation(self, stage: Stage, words: list[str]) -> None:
        answer = stage.unisono("list", *words, "--json")
        assert {algorithm["operation"] for algorithm in json.loads(answer.stdout)} == {"bcast"}

    def test_two_operations(self, stage: Stage) -> None:
        answer = stage.unisono("list", "bcast", "--operation", "allreduce")
        assert answer.returncode == 2 and "bcast and allreduce" in answer.stderr

    def test_parameters(self, stage: Stage) -> None:
        """What each stands at, between what it may lie, and what it does."""
        text = " ".join(stage.unisono("list", "--long", environment={"COLUMNS": "80"}).stdout.split())
        parameters = [p for algorithm in ALGORITHMS for p in algorithm["parameters"]]
        assert parameters
        for parameter in parameters:
            assert f"{parameter['name']}={parameter_about(parameter)}" in text

    def test_json(self, stage: Stage) -> None:
        assert json.loads(stage.unisono("list", "--json").stdout) == ALGORITHMS

    def test_unknown_operation(self, stage: Stage) -> None:
        answer = stage.unisono("list", "--operation", "frob")
        assert answer.returncode == 2
        assert "there are bcast, allreduce" in answer.stderr


class TestShow:
    def test_text(self, stage: Stage) -> None:
        answer = stage.unisono("show", "bcast", "--algorithm", "binomial")
        assert answer.stdout == "0 --> 1\n"
        question = "show --operation bcast --algorithm binomial --ranks 8 --format text"
        assert stage.asked()[-1] == question.split()

    def test_everything_is_handed_on(self, stage: Stage) -> None:
        stage.unisono(
            *["show", "allreduce", "--algorithm", "two_level_ring", "--layout", "3,5,8", "--root", "2"],
            *["--segment", "8K", "--count", "7", "--json"],
            *["--parameter", "overlap=2K", "--parameter", "window=4"],
        )
        question = "show --operation allreduce --algorithm two_level_ring --ranks 16 --layout 3,5,8 --root 2"
        assert stage.asked()[-1] == [
            *question.split(),
            "--segment",
            "8192",
            "--count",
            "7",
            "--parameter",
            "overlap=2048",
            "--parameter",
            "window=4",
            "--format",
            "json",
        ]

    @pytest.mark.parametrize(
        ("name", "content"), [("f.svg", "<svg/>\n"), ("f.txt", "0 --> 1\n"), ("f.json", '{"steps": []}\n')]
    )
    def test_output(self, stage: Stage, name: str, content: str) -> None:
        answer = stage.unisono("show", "bcast", "--algorithm", "binomial", "-o", name)
        assert answer.returncode == 0
        assert answer.stdout == ""
        assert (stage.work / name).read_text() == content
        assert [file.name for file in stage.work.iterdir()] == [name]
        mask = os.umask(0)
        os.umask(mask)
        assert (stage.work / name).stat().st_mode & 0o777 == 0o666 & ~mask

    @pytest.mark.parametrize(
        ("text", "count"), [("4096", 4096), ("8k", 8192), ("64KiB", 65536), ("1M", 2**20)]
    )
    def test_segment(self, stage: Stage, text: str, count: int) -> None:
        stage.unisono("show", "bcast", "--algorithm", "binomial", "--segment", text)
        asked = stage.asked()[-1]
        assert asked[asked.index("--segment") + 1] == str(count)

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            ("bcast", "say which algorithm: --algorithm binomial | fused"),
            ("frob", "there are bcast, allreduce"),
            ("bcast --algorithm binomial -o f.png", "must end in .svg, .txt, .json"),
            ("bcast --algorithm binomial --layout 4y2", "write 4x8"),
            ("bcast --algorithm binomial --parameter degree", "write NAME=VALUE"),
            ("bcast --algorithm binomial --parameter degree=many", "'many' is no number"),
            ("bcast --algorithm binomial --layout 0x2", "write 4x8"),
            ("bcast --algorithm binomial --layout 4x2 --ranks 7", "holds 8 ranks, --ranks says 7"),
            ("bcast --algorithm binomial --segment 8Q", "is no number of bytes"),
            ("bcast --algorithm binomial --ranks 0", "--ranks"),
        ],
    )
    def test_usage(self, stage: Stage, words: str, says: str) -> None:
        answer = stage.unisono("show", *words.split())
        assert answer.returncode == 2
        assert says in answer.stderr

    def test_cannot_write(self, stage: Stage) -> None:
        answer = stage.unisono("show", "bcast", "--algorithm", "binomial", "-o", "/nowhere/f.svg")
        assert answer.returncode == 1
        assert "cannot write /nowhere/f.svg" in answer.stderr


class TestCheck:
    FAILURE = {  # noqa: RUF012 - nobody changes it
        "operation": "bcast",
        "algorithm": "binomial",
        "case": "6 ranks [2,4], root 3",
        "problem": "rank 5 waits for ever",
    }

    def test_good(self, stage: Stage) -> None:
        answer = stage.unisono("check", "--operation", "bcast", "--algorithm", "binomial", "--ranks", "1-4")
        assert answer.returncode == 0
        assert answer.stdout == "200 of 200 cases proved, 4 algorithms, 1.5 s\n"
        assert answer.stderr == ""
        question = "check --progress --operation bcast --algorithm binomial --ranks 1-4"
        assert stage.asked()[-1] == question.split()

    def test_failures(self, stage: Stage) -> None:
        environment = {"FAKE_FAILURES": json.dumps([self.FAILURE] * 25)}
        answer = stage.unisono("check", environment=environment)
        assert answer.returncode == 1
        assert "175 of 200 cases proved" in answer.stdout
        assert answer.stdout.count("6 ranks [2,4], root 3") == 20
        assert "... and 5 more" in answer.stdout

    def test_json(self, stage: Stage) -> None:
        answer = stage.unisono("check", "--json", environment={"FAKE_FAILURES": json.dumps([self.FAILURE])})
        assert answer.returncode == 1
        assert json.loads(answer.stdout)["failures"] == [self.FAILURE]

    def test_progress_on_a_terminal(self, stage: Stage) -> None:
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            stage.command("check"),
            env=stage.environment({"TERM": "xterm", "COLUMNS": "100"}),
            stdout=subprocess.PIPE,
            stderr=theirs,
        )
        os.close(theirs)
        seen = b""
        end = time.monotonic() + 30
        while time.monotonic() < end:
            try:
                piece = os.read(ours, 4096)
            except OSError:
                break
            seen += piece
        os.close(ours)
        assert process.stdout is not None
        assert b"200 of 200" in process.stdout.read()
        process.stdout.close()
        assert process.wait(10) == 0
        assert b"proving" in seen and b"/200" in seen


class TestOptions:
    def test_table(self, stage: Stage) -> None:
        text = stage.unisono("options").stdout
        assert "--pool-bytes" in text
        assert "[process_vm_readv]" in text

    @needs_build
    @pytest.mark.parametrize("columns", [{}, {"COLUMNS": "80"}])
    def test_the_usual_ones_come_first(
        self, stage: Stage, built: dict[str, str], columns: dict[str, str]
    ) -> None:
        """They are those of `unisono run --help`; each option stands there once, in its group."""
        lines = stage.unisono("options", environment={**built, **columns}).stdout.splitlines()
        assert max(map(len, lines)) <= int(columns.get("COLUMNS", 150))
        listed = [line.split()[0] for line in lines if line.startswith("--")]
        text = stage.unisono("run", "--help", environment=built).stdout
        usual = [line.split("--")[1].split()[0] for line in text.splitlines() if line.startswith("  -")]
        assert listed[:12] == [f"--{name}" for name in usual if name != "help"]
        options = json.loads(stage.unisono("options", "--json", environment=built).stdout)
        assert sorted(listed[9:]) == sorted(
            {option["cli"] for option in options} - set(listed[:9]) | set(listed[9:12])
        )
        assert all(option["group"].replace("_", " ").capitalize() in lines for option in options)

    def test_json(self, stage: Stage) -> None:
        answer = stage.unisono("options", "--json")
        assert json.loads(answer.stdout) == json.loads((FIXTURES / "options.json").read_text())


class TestInfo:
    def test_json(self, stage: Stage) -> None:
        found = json.loads(stage.unisono("info", "--json").stdout)
        assert found["unisono"] == __version__
        assert found["compiled"] == "0.1.0"
        assert found["home"] == str(stage.home)
        assert [part["found"] for part in found["parts"]] == [True] * 4
        mine = [mpi for mpi in found["mpis"] if mpi["launcher"].startswith(str(stage.root))]
        assert [(mpi["flavour"], mpi["mpi"]) for mpi in mine] == [
            ("openmpi5", "Open MPI 5.0.11"),
            ("srun", "Slurm"),
        ]
        assert {check["name"] for check in found["checks"]} == {
            "anonymous segments",
            "shared memory",
            "single copy",
            "turns on shared cores",
            "domains of nodes",
        }

    def test_table(self, stage: Stage) -> None:
        (stage.home / "lib/libunisono.so").unlink()
        text = stage.unisono("info").stdout
        assert "Open MPI 5.0.11" in text
        assert any("libunisono.so" in line and "missing" in line for line in text.splitlines())

    def test_sentences_have_lines_that_can_be_read(self, stage: Stage) -> None:
        text = stage.unisono("info").stdout
        meanings = text[text.index("Inside this machine") :].splitlines()
        assert max(map(len, meanings)) <= 140

    def test_without_parts(self, stage: Stage) -> None:
        answer = stage.unisono("info", environment={"UNISONO_HOME": "/nowhere"})
        assert answer.returncode == 0
        assert "were not found in /nowhere" in answer.stdout

    def test_cores(self) -> None:
        assert 1 <= host.usable_cores() <= len(os.sched_getaffinity(0))


class TestMishaps:
    @pytest.mark.parametrize("command", [["list"], ["options"], ["check"], ["show", "bcast"]])
    @pytest.mark.parametrize(
        ("mishap", "status", "says"),
        [
            ("refuses", 2, "unisono: no such thing; say another\n"),
            ("dies", 1, "unisono-tool was killed by signal 11"),
            ("babbles", 1, "printed what is no JSON"),
        ],
    )
    def test_tool(self, stage: Stage, command: list[str], mishap: str, status: int, says: str) -> None:
        answer = stage.unisono(*command, environment={"FAKE_MISHAP": mishap})
        assert answer.returncode == status
        assert says in answer.stderr
        assert "Traceback" not in answer.stderr

    @pytest.mark.parametrize("command", [["list"], ["options"], ["check"], ["show", "bcast"]])
    def test_no_tool(self, stage: Stage, command: list[str]) -> None:
        answer = stage.unisono(*command, environment={"UNISONO_HOME": "/nowhere"})
        assert answer.returncode == 1
        assert "/nowhere (UNISONO_HOME)" in answer.stderr


@pytest.mark.parametrize(
    ("enabled", "own", "controllers", "wanted"),
    [
        ("1", "1:cpu:/\n0::/\n", "", True),
        ("1", "4:cpu,cpuacct:/job7\n", "", False),
        ("0", "1:cpu:/\n", "", False),
        ("1", "0::/user.slice\n", "memory pids", True),
        ("1", "0::/user.slice\n", "cpu memory", False),
        ("1", "0::/\n", "cpu memory", True),
        (None, "0::/\n", "", False),
    ],
    ids=["old-root", "old-group", "off", "no-cpu-controller", "group", "root", "not-built-in"],
)
def test_sessions_that_are_scheduled_as_groups(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    enabled: str | None,
    own: str,
    controllers: str,
    wanted: bool,
) -> None:
    if enabled is not None:
        (tmp_path / "enabled").write_text(f"{enabled}\n")
    (tmp_path / "own").write_text(own)
    (tmp_path / "cgroup.subtree_control").write_text(f"{controllers}\n")
    monkeypatch.setattr(host, "_SESSION_GROUPS", tmp_path / "enabled")
    monkeypatch.setattr(host, "_OWN_GROUPS", tmp_path / "own")
    monkeypatch.setattr(host, "_CONTROL_GROUPS", tmp_path)
    assert host.are_sessions_grouped() == wanted


def test_a_folder_of_path_that_may_not_be_read(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`unisono info` passes by what another user has in PATH; root may read all, so it is told here that it may not."""

    def refused(path: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "is_dir", refused)
    monkeypatch.setenv("PATH", f"{tmp_path}/not there:{tmp_path}")
    assert host.launchers([]) == []


def test_no_mpi_is_a_paragraph(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host, "launchers", lambda extra: [])
    assert "No MPI found in PATH.\n\n" in CliRunner().invoke(cli, ["info"]).output
