# SPDX-License-Identifier: BSD-3-Clause
"""`unisono run` from end to end, with a launcher and a shim that are stand-ins."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import BUILD, FIXTURES, Stage, needs_build

REPORT_PROGRAM = f"import os, shutil; shutil.copy('{FIXTURES / 'report.json'}', os.environ['UNISONO_REPORT'])"
BOTH_WAYS = pytest.mark.parametrize("options", [[], ["--report", "-"]], ids=["replaced", "supervised"])


def settings(words: list[str]) -> dict[str, str]:
    """What --set says in the words of the first shim."""
    given = words[: words.index("--")]
    return dict(given[index + 1].split("=", 1) for index, word in enumerate(given) if word == "--set")


class TestSettings:
    def test_nothing_given(self, stage: Stage) -> None:
        stage.unisono("run", "mpirun", "-n", "2", "./a")
        home = stage.home
        shim = [f"{home}/bin/unisono-exec", "--library", f"{home}/lib/libunisono.so"]
        assert stage.launched() == ["-n", "2", *shim, "--adapters", "openmpi", "--", "./a"]

    def test_options(self, stage: Stage) -> None:
        (stage.work / "out").mkdir()
        (stage.work / "my.conf").touch()
        options = "--algorithm allreduce:ring(segment=64K),bcast:native --algorithm gather:linear --log info"
        options += " --no-single-copy --pool-bytes 2G --report out/r.json --config my.conf --enable"
        stage.unisono("run", *options.split(), "--", "mpirun", "./a")
        assert settings(stage.launched()) == {
            "UNISONO_ALGORITHM": "allreduce:ring(segment=64K),bcast:native,gather:linear",
            "UNISONO_LOG": "info",
            "UNISONO_SINGLE_COPY": "0",
            "UNISONO_ENABLE": "1",
            "UNISONO_POOL_BYTES": "2G",
            "UNISONO_REPORT": str(stage.work / "out/r.json"),
            "UNISONO_CONFIG": str(stage.work / "my.conf"),
        }

    def test_home_is_spelt_out_where_shells_do_not(self, stage: Stage) -> None:
        (stage.work / "my.conf").touch()
        words = ["--report=~/r.json", "--config=~/my.conf", "--table=~/a.json:b.json", "--machine=~x"]
        home = {"HOME": str(stage.work)}
        stage.unisono("run", *words, "--", "mpirun", "./a", environment=home)
        assert settings(stage.launched()) == {
            "UNISONO_REPORT": str(stage.work / "r.json"),
            "UNISONO_CONFIG": str(stage.work / "my.conf"),
            "UNISONO_TABLE": f"{stage.work}/a.json:{stage.work}/b.json",
            "UNISONO_MACHINE": "~x",
        }

    def test_environment_goes_along_and_options_win(self, stage: Stage) -> None:
        environment = {"UNISONO_LOG": "quiet", "UNISONO_CORES": "7", "UNISONO_LIBRARY": "/x", "OTHER": "1"}
        stage.unisono("run", "--log", "info", "mpirun", "./a", environment=environment)
        assert settings(stage.launched()) == {"UNISONO_LOG": "info", "UNISONO_CORES": "7"}

    def test_every_section(self, stage: Stage) -> None:
        stage.unisono("run", "--cores", "3", "mpirun", "./a", ":", "./b")
        assert stage.launched().count("UNISONO_CORES=3") == 2

    def test_the_programs_own_options_are_left_alone(self, stage: Stage) -> None:
        stage.unisono("run", "mpirun", "./a", "--log", "info", "--help", "--")
        assert stage.launched()[-4:] == ["--log", "info", "--help", "--"]

    @pytest.mark.parametrize(
        "words", [["--log", "loud"], ["--frob"], ["--config", "nowhere"], ["--report", "nowhere/r.json"]]
    )
    def test_bad_option(self, stage: Stage, words: list[str]) -> None:
        answer = stage.unisono("run", *words, "mpirun", "./a")
        assert answer.returncode == 2
        assert words[0] in answer.stderr
        assert not stage.log.exists()


@needs_build
class TestJudgedBeforeTheStart:
    """What a job would only warn of ends the command before there is one, in the words that were typed."""

    @pytest.fixture
    def real_tool(self, stage: Stage) -> Stage:
        tool = stage.home / "bin/unisono-tool"
        tool.unlink()
        tool.symlink_to(BUILD / "bin/unisono-tool")
        return stage

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            ("--table missing.json", "missing.json cannot be read"),
            ("--table letter.json", "letter.json is no JSON: line 2 cannot be understood"),
            ("--site-table missing.json", "cannot be read"),
            ("--machine nowhere", "there is no such file, and no such machine"),
            ("--algorithm allreduce:nosuch", "there is no algorithm 'nosuch' for allreduce"),
            ("--algorithm nosuch:ring", "there are barrier, bcast"),
            ("--algorithm allreduce:ring(window=99999)", "'window' of ring takes 1 to"),
            ("--algorithm allreduce:ring(frob=9)", "ring has no parameter 'frob' (it has segment, window)"),
            ("--pool-bytes 12Q", "it takes a size from 1M to 1T"),
            ("--verify sometimes", "it takes off, sample, sample:N or all"),
            ("--nodes banana", "it is no layout: write 4x8"),
            ("--nodes 1000000x1000", "it is too large"),
            ("--topology tree:", "tree:"),
            (
                "--topology missing.conf",
                "No such file or directory; a topology without a file is written tree:4x8",
            ),
        ],
    )
    def test_refused(self, real_tool: Stage, words: str, says: str) -> None:
        (real_tool.work / "letter.json").write_text("{\n Dear Sir")
        answer = real_tool.unisono("run", *words.split(), "mpirun", "./a")
        assert answer.returncode == 2, answer.stderr
        assert answer.stderr.startswith(f"unisono: {words}: "), "as it was typed"
        assert says in answer.stderr and "exception" not in answer.stderr
        assert not real_tool.log.exists()

    def test_accepted(self, real_tool: Stage) -> None:
        (real_tool.work / "t.json").write_text('{"schema": "unisono-table", "version": 1, "rules": []}')
        words = "--table t.json --site-table none --machine typical --nodes 2x2/cyclic --pool-bytes 2G --cache off"
        words += " --topology tree:2x2 --verify sample:3 --algorithm all:ring(window=2),bcast:native --learn-budget 2%"
        answer = real_tool.unisono("run", *words.split(), "mpirun", "./a")
        assert answer.returncode == 0, answer.stderr
        given = settings(real_tool.launched())
        assert given["UNISONO_CACHE"] == "off" and given["UNISONO_SITE_TABLE"] == "none", (
            "words, and no folders"
        )

    def test_a_machine_that_was_measured_here(self, real_tool: Stage) -> None:
        kept = real_tool.work / "cache/unisono/machines/mine.json"
        kept.parent.mkdir(parents=True)
        typical = subprocess.run(
            [BUILD / "bin/unisono-tool", "machine"], capture_output=True, text=True, check=True
        )
        kept.write_text(typical.stdout)
        cache = {"XDG_CACHE_HOME": str(real_tool.work / "cache")}
        answer = real_tool.unisono("run", "--machine", "mine", "mpirun", "./a", environment=cache)
        assert answer.returncode == 0, answer.stderr
        assert settings(real_tool.launched()) == {"UNISONO_MACHINE": "mine"}

    def test_variables_are_for_the_job_to_judge(self, real_tool: Stage) -> None:
        environment = {"UNISONO_TABLE": "/missing.json", "UNISONO_POOL_BYTES": "12Q"}
        assert real_tool.unisono("run", "mpirun", "./a", environment=environment).returncode == 0


class TestOutcome:
    @BOTH_WAYS
    @pytest.mark.parametrize("status", [0, 1, 3, 255])
    def test_exit_status(self, stage: Stage, options: list[str], status: int) -> None:
        answer = stage.unisono("run", *options, "mpirun", "./a", environment={"FAKE_DO": f"exit {status}"})
        assert answer.returncode == status
        assert answer.stdout == ""

    def test_prints_nothing(self, stage: Stage) -> None:
        answer = stage.unisono("run", "mpirun", "./a")
        assert (answer.stdout, answer.stderr) == ("", "")

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
    def test_launcher_dies_by_a_signal(self, stage: Stage, number: int) -> None:
        environment = {"FAKE_DO": f"die {number}"}
        assert stage.unisono("run", "mpirun", "./a", environment=environment).returncode == -number
        supervised = stage.unisono("run", "--report", "-", "mpirun", "./a", environment=environment)
        assert supervised.returncode == 128 + number

    @BOTH_WAYS
    def test_as_the_shell_sees_it(self, stage: Stage, options: list[str]) -> None:
        line = shlex.join(stage.command("run", *options, "mpirun", "./a"))
        answer = subprocess.run(
            ["bash", "-c", f"{line}; exit $?"],
            env=stage.environment({"FAKE_DO": "die 15"}),
            capture_output=True,
            check=False,
        )
        assert answer.returncode == 143

    @BOTH_WAYS
    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP])
    def test_signals_reach_the_launcher(self, stage: Stage, options: list[str], number: int) -> None:
        process = self.start_waiting(stage, options)
        process.send_signal(number)
        assert process.wait(20) == 40 + number
        assert not list(stage.root.glob("unisono-*")), "nothing of ours is left behind"

    @BOTH_WAYS
    def test_the_job_ends_with_us(self, stage: Stage, options: list[str]) -> None:
        process = self.start_waiting(stage, options)
        launcher = int(stage.launcher_ready.read_text())
        process.kill()
        process.wait(20)
        wait_until(lambda: not is_running(launcher))

    @staticmethod
    def start_waiting(stage: Stage, options: list[str]) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            stage.command("run", *options, "mpirun", "./a"),
            env=stage.environment({"FAKE_DO": "wait 30"}),
            cwd=stage.work,
            stderr=subprocess.DEVNULL,
        )
        wait_until(lambda: stage.launcher_ready.is_file() and stage.launcher_ready.read_text() != "")
        return process

    @BOTH_WAYS
    def test_broken_pipes_kill_as_ever(self, stage: Stage, options: list[str]) -> None:
        """Python ignores SIGPIPE for itself; launcher and programs must not inherit that."""
        (stage.root / "launchers/mpirun").write_text("#!/bin/sh\ngrep ^SigIgn /proc/self/status\n")
        answer = stage.unisono("run", *options, "mpirun", "./a")
        ignored = int(answer.stdout.split()[1], 16)
        assert ignored & (1 << (signal.SIGPIPE - 1)) == 0

    def test_missing_launcher(self, stage: Stage) -> None:
        for words in (["/nowhere/mpirun", "./a"], ["--report", "-", "/nowhere/mpirun", "./a"]):
            answer = stage.unisono("run", *words)
            assert answer.returncode == 127
            assert "/nowhere/mpirun: not found" in answer.stderr

    def test_launcher_that_cannot_be_started(self, stage: Stage) -> None:
        (stage.work / "mpirun").write_text("no program")
        answer = stage.unisono("run", "./mpirun", "./a")
        assert answer.returncode == 126
        assert "Permission denied" in answer.stderr


class TestReport:
    def test_dash_prints_tables_on_standard_error(self, stage: Stage) -> None:
        answer = stage.unisono(
            *["run", "--report", "-", "mpirun", "python3", "-c", f"{REPORT_PROGRAM}; print('output')"],
            environment={"FAKE_DO": "start 0"},
        )
        assert answer.returncode == 0
        assert answer.stdout == "output\n"
        assert "two_level_ring" in answer.stderr
        assert "report=-" in answer.stderr, "as it was given, not the file in between"
        directory = Path(settings(stage.launched())["UNISONO_REPORT"]).parent
        assert directory.name.startswith("unisono-")
        assert not directory.exists()

    def test_report_and_failure(self, stage: Stage) -> None:
        answer = stage.unisono(
            *["run", "--report", "-", "mpirun", "python3", "-c", f"{REPORT_PROGRAM}; raise SystemExit(5)"],
            environment={"FAKE_DO": "start 0"},
        )
        assert answer.returncode == 5
        assert "two_level_ring" in answer.stderr

    def test_no_report_came(self, stage: Stage) -> None:
        for report in ("-", "page.html"):
            answer = stage.unisono(
                "run", "--report", report, "mpirun", "./a", environment={"FAKE_DO": "exit 4"}
            )
            assert answer.returncode == 4
            assert "no report was written, because the job ended with status 4" in answer.stderr
        assert not (stage.work / "page.html").exists()

    def test_what_is_no_report_is_not_overwritten(self, stage: Stage) -> None:
        (stage.work / "program.c").write_text("int main(void) { return 0; }\n")
        answer = stage.unisono("run", "--report", "program.c", "mpirun", "./a")
        assert answer.returncode == 2
        assert "program.c is there and no unisono-report: it is not overwritten" in answer.stderr
        assert stage.unisono("run", "--report", "/dev/stdin", "mpirun", "./a").returncode == 2
        (stage.work / "page.html").write_text("<!DOCTYPE html>")
        assert stage.unisono("run", "--dry-run", "--report", "page.html", "mpirun", "./a").returncode == 0
        (stage.work / "old.json").write_text((FIXTURES / "report.json").read_text())
        assert stage.unisono("run", "--report", "old.json", "mpirun", "./a").returncode == 0

    @pytest.mark.parametrize("is_new", [True, False])
    def test_a_report_that_lies_elsewhere(self, stage: Stage, is_new: bool) -> None:
        """Rank 0 takes the working directory where its disk is full, and has said so."""
        (stage.work / "full").mkdir()
        elsewhere = stage.work / "elsewhere.json"
        elsewhere.write_text("{}")
        written = time.time() + 60 if is_new else 1
        os.utime(elsewhere, (written, written))
        answer = stage.unisono("run", "--report", "full/elsewhere.json", "mpirun", "./a")
        assert ("no report was written" in answer.stderr) is not is_new

    def test_a_folder_that_takes_no_file(self, stage: Stage) -> None:
        answer = stage.unisono("run", "--report", "/proc/self/report.json", "mpirun", "./a")
        assert answer.returncode == 1
        assert "cannot write /proc/self/report.json: " in answer.stderr
        assert not stage.log.exists(), "the job was not started"

    def test_no_folder_for_the_page(self, stage: Stage) -> None:
        answer = stage.unisono("run", "--report", "nowhere/page.html", "mpirun", "./a")
        assert answer.returncode == 2
        assert "there is no folder" in answer.stderr

    def test_damaged_report(self, stage: Stage) -> None:
        program = "import os; open(os.environ['UNISONO_REPORT'], 'w').write('{')"
        answer = stage.unisono(
            *["run", "--report", "-", "mpirun", "python3", "-c", program], environment={"FAKE_DO": "start 0"}
        )
        assert answer.returncode == 0
        assert "is no report" in answer.stderr


class TestOldReports:
    """The report of another job is never taken for that of this one."""

    def test_goes_before_the_job(self, stage: Stage) -> None:
        old = stage.work / "r.json"
        old.write_text((FIXTURES / "report.json").read_text())
        answer = stage.unisono(
            "run", "--report", "r.json", "mpirun", "./a", environment={"FAKE_DO": "exit 6"}
        )
        assert answer.returncode == 6
        assert "no report was written, because the job ended with status 6" in answer.stderr
        assert not old.exists()

    def test_stays_where_the_command_is_wrong(self, stage: Stage) -> None:
        old = stage.work / "r.json"
        old.write_text((FIXTURES / "report.json").read_text())
        assert stage.unisono("run", "--report", "r.json", "mpirun", "-n", "2").returncode == 2
        assert stage.unisono("run", "--report", "r.json", "--dry-run", "mpirun", "./a").returncode == 0
        assert old.exists()

    def test_killed(self, stage: Stage) -> None:
        answer = stage.unisono("run", "--report", "r.json", "mpirun", "./a", environment={"FAKE_DO": "die 9"})
        assert answer.returncode == 137
        assert "because the launcher was killed by SIGKILL" in answer.stderr

    def test_a_program_without_mpi(self, stage: Stage) -> None:
        answer = stage.unisono(
            *["run", "--report", "r.json", "mpirun", "true"], environment={"FAKE_DO": "start 0"}
        )
        assert answer.returncode == 0
        assert "because true is linked to no MPI" in answer.stderr


class TestUnderstanding:
    def test_dry_run(self, stage: Stage) -> None:
        answer = stage.unisono("run", "--dry-run", "--algorithm", "a:b c", "mpirun", "-n", "2", "./a", "x y")
        assert answer.returncode == 0
        words = shlex.split(answer.stdout)
        assert words[0] == "mpirun"
        assert settings(words) == {"UNISONO_ALGORITHM": "a:b c"}
        assert words[-2:] == ["./a", "x y"]
        assert not stage.log.exists()

    def test_verbose(self, stage: Stage) -> None:
        answer = stage.unisono("run", "--verbose", "mpirun", "-n", "2", "./a")
        assert answer.stdout == ""
        assert "Open MPI 5.0.11" in answer.stderr
        assert "running mpirun -n 2" in answer.stderr
        assert stage.log.exists()

    def test_no_command(self, stage: Stage) -> None:
        answer = stage.unisono("run")
        assert answer.returncode == 2
        assert "COMMAND" in answer.stderr

    def test_help_is_short(self, stage: Stage) -> None:
        text = stage.unisono("run", "--help").stdout
        listed = [line.split()[0] for line in text.splitlines() if line.startswith("  -")]
        assert len(listed) == 13, "twelve, and --help"
        assert "--report FILE" in text and "[default: auto]" in text and "`unisono options`" in text
        assert "--pool-bytes" not in text
        assert max(map(len, text.splitlines())) <= 80

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            ("--reprot r.json", "did you mean '--report'?"),
            ("--single-copi", "did you mean '--single-copy'?"),
            ("--log warnign", "it takes one of quiet|warning|info; did you mean 'warning'?"),
            ("--dry-run=yes", "--dry-run takes no value"),
            ("--frobnicate", "`unisono options` all of them"),
        ],
    )
    def test_misspelt(self, stage: Stage, words: str, says: str) -> None:
        answer = stage.unisono("run", *words.split(), "mpirun", "./a")
        assert answer.returncode == 2
        assert says in answer.stderr
        assert not stage.log.exists()


class TestWithoutPython:
    """Jobs start under the command as fast as without: no Python runs before them, nor beside them."""

    def test_none_is_started(self, stage: Stage) -> None:
        (stage.root / "bin/unisono-cli").write_text("#!/bin/sh\ntouch python\n")
        (stage.work / "old.json").write_text((FIXTURES / "report.json").read_text())
        for words in ([], ["-v", "--log", "info"], ["--report", "old.json"], ["--dry-run"]):
            assert stage.unisono("run", *words, "mpirun", "./a").returncode == 0
        assert stage.unisono("run", "--help").returncode == 0
        assert not (stage.work / "python").exists()
        stage.unisono("info")
        assert (stage.work / "python").exists(), "all else is Python's"

    def test_called_from_python(self, stage: Stage) -> None:
        """The part in Python hands `run` to the compiled one."""
        words = [str(stage.root / "bin/unisono-cli"), "run", "--log", "info", "mpirun", "./a", "--help"]
        done = subprocess.run(words, env=stage.environment(), cwd=stage.work, timeout=50, check=False)
        assert done.returncode == 0
        assert settings(stage.launched()) == {"UNISONO_LOG": "info"}
        assert stage.launched()[-2:] == ["./a", "--help"]

    def test_without_its_part_in_python(self, stage: Stage) -> None:
        (stage.root / "bin/unisono-cli").unlink()
        assert stage.unisono("run", "mpirun", "./a").returncode == 0
        for words in (["tune"], ["run", "--report", "-", "mpirun", "./a"]):
            answer = stage.unisono(*words)
            assert answer.returncode == 1
            assert f"unisono-cli, is not in {stage.root / 'bin'}" in answer.stderr
            assert "pip install unisono" in answer.stderr

    def test_found_where_links_lead(self, stage: Stage) -> None:
        link = stage.work / "unisono"
        link.symlink_to(stage.root / "bin/unisono")
        done = subprocess.run(
            [link, "--version"], env=stage.environment(), capture_output=True, timeout=50, check=False
        )
        assert done.stdout.startswith(b"unisono "), done.stderr

    @pytest.mark.parametrize("words", [["mpirun", "-n", "2", "./a", "--log"], ["--", "mpirun", "./a"]])
    def test_same_with_options(self, stage: Stage, words: list[str]) -> None:
        environment = {"UNISONO_LOG": "quiet", "UNISONO_CORES": "7"}
        stage.unisono("run", *words, environment=environment)
        plain = stage.launched()
        stage.unisono("run", "-v", *words, environment=environment)
        assert stage.launched() == plain
        assert plain.count("UNISONO_CORES=7") == 1

    def test_report_from_the_environment(self, stage: Stage) -> None:
        answer = stage.unisono("run", "mpirun", "./a", environment={"UNISONO_REPORT": "nowhere/r.json"})
        assert answer.returncode == 2
        assert "there is no folder nowhere" in answer.stderr

    def test_tool_is_not_needed(self, stage: Stage) -> None:
        (stage.home / "bin/unisono-tool").unlink()
        assert stage.unisono("run", "mpirun", "./a").returncode == 0


class TestMissingParts:
    @pytest.mark.parametrize(
        "part", ["bin/unisono-exec", "lib/libunisono.so", "bin/unisono-tool"], ids=["shim", "library", "tool"]
    )
    def test_one_part(self, stage: Stage, part: str) -> None:
        (stage.home / part).unlink()
        answer = stage.unisono("run", "--algorithm", "bcast:native", "mpirun", "./a")
        assert answer.returncode == 1
        assert f"{stage.home / part} is missing" in answer.stderr
        assert "UNISONO_HOME" in answer.stderr
        assert not stage.log.exists()

    def test_what_pip_makes_of_target(self, stage: Stage) -> None:
        """It leaves out what lies below lib/, where it has put Python packages by itself."""
        (stage.home / "lib/libunisono.so").unlink()
        (stage.home / "share/unisono").mkdir(parents=True)
        answer = stage.unisono("run", "mpirun", "./a")
        assert answer.returncode == 1
        assert "`pip install --target` leaves out lib/unisono" in answer.stderr

    def test_not_executable(self, stage: Stage) -> None:
        (stage.home / "bin/unisono-exec").chmod(0o644)
        answer = stage.unisono("run", "mpirun", "./a")
        assert answer.returncode == 1
        assert "is not executable" in answer.stderr

    def test_all_parts(self, stage: Stage) -> None:
        answer = stage.unisono("run", "mpirun", "./a", environment={"UNISONO_HOME": "/nowhere"})
        assert answer.returncode == 1
        assert "/nowhere (UNISONO_HOME)" in answer.stderr
        assert "unset it" in answer.stderr

    def test_help_without_parts(self, stage: Stage) -> None:
        answer = stage.unisono("run", "--help", environment={"UNISONO_HOME": "/nowhere"})
        assert answer.returncode == 0
        assert "--dry-run" in answer.stdout


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def is_running(process: int) -> bool:
    """Neither gone nor a zombie that nobody has collected."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):  # gone before it is opened, or before it is read
        return False
    return state != "Z"


def test_recorded_options_are_complete(stage: Stage) -> None:
    """The stand-in's list has the fields of the real one (docs/inside/tool.md)."""
    for option in json.loads((FIXTURES / "options.json").read_text()):
        assert set(option) == {"name", "environment", "config_key", "cli", "type", "default", "help", "group"}
