# SPDX-License-Identifier: BSD-3-Clause
"""`unisono run --record-messages`, with stand-ins: old traces, and jobs that leave none; options whose value was forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Stage
from test_run import settings


class TestTraces:
    """The trace of another job is never taken for that of this one."""

    @pytest.fixture
    def old(self, stage: Stage) -> Path:
        file = stage.work / "old.trace"
        file.write_text("unisono-message-trace 1\nranks 2\nrank 0\n")
        return file

    @pytest.mark.parametrize("is_there", [True, False])
    def test_a_job_that_dies(self, stage: Stage, old: Path, is_there: bool) -> None:
        if not is_there:
            old.unlink()
        words = ["run", "--record-messages", "old.trace", "mpirun", "./a"]
        answer = stage.unisono(*words, environment={"FAKE_DO": "exit 139"})
        assert answer.returncode == 139
        assert "no trace of messages was written, because the job ended with status 139" in answer.stderr
        assert not old.exists()
        assert settings(stage.launched()) == {"UNISONO_RECORD_MESSAGES": str(old)}

    def test_asked_for_by_a_variable(self, stage: Stage, old: Path) -> None:
        answer = stage.unisono(
            *["run", "mpirun", "./a"],
            environment={"UNISONO_RECORD_MESSAGES": "old.trace", "FAKE_DO": "die 9"},
        )
        assert "no trace of messages was written, because the launcher was killed by SIGKILL" in answer.stderr
        assert not old.exists()

    def test_a_job_that_ends_well_without_one(self, stage: Stage) -> None:
        """Its ranks may have had one and no room for it: what they have said is not denied."""
        answer = stage.unisono("run", "--record-messages", "new.trace", "mpirun", "./a")
        assert answer.returncode == 0
        said = (
            "no trace of messages was written, because rank 0 could not write it, which it has said above, or"
        )
        assert said in answer.stderr

    def test_one_that_came(self, stage: Stage, old: Path) -> None:
        program = "import os; open(os.environ['UNISONO_RECORD_MESSAGES'], 'w').write('new')"
        answer = stage.unisono(
            *["run", "--record-messages", "old.trace", "mpirun", "env", f"UNISONO_RECORD_MESSAGES={old}"],
            *["python3", "-c", program],
            environment={"FAKE_DO": "start 0"},
        )
        assert "no trace" not in answer.stderr and answer.returncode == 0
        assert old.read_text() == "new"

    def test_what_is_no_trace_is_not_overwritten(self, stage: Stage, old: Path) -> None:
        program = stage.work / "program.c"
        program.write_text("int main(void) { return 0; }\n")
        answer = stage.unisono("run", "--record-messages", "program.c", "mpirun", "./a")
        assert answer.returncode == 2
        assert "program.c is there and no trace of messages: it is not overwritten" in answer.stderr
        assert stage.unisono("run", "--record-messages", ".", "mpirun", "./a").returncode == 2
        assert program.exists() and not stage.log.exists()
        assert stage.unisono("run", "--record-messages", "/dev/null", "mpirun", "./a").returncode == 0
        assert Path("/dev/null").is_char_device()
        nowhere = stage.unisono("run", "--record-messages", "none/a.trace", "mpirun", "./a")
        assert nowhere.returncode == 2 and "none/a.trace: there is no folder" in nowhere.stderr

    def test_stays_where_the_command_is_wrong(self, stage: Stage, old: Path) -> None:
        assert stage.unisono("run", "--record-messages", "old.trace", "mpirun", "-n", "2").returncode == 2
        dry = stage.unisono("run", "--record-messages", "old.trace", "--dry-run", "mpirun", "./a")
        assert dry.returncode == 0
        assert old.exists()


class TestMissingValues:
    """What ends the options, another option and nothing at all are no values."""

    @pytest.mark.parametrize(
        ("words", "says"),
        [
            (
                "--record-messages --",
                "wants a value, a file, and -- came (for a file of that name write ./--)",
            ),
            ("--record-messages=--", "--record-messages wants a value, a file, and -- came"),
            ("--messages --", "--messages wants a value, one of off|node|all|auto, and -- came.\n"),
            ("--pool-bytes --", "--pool-bytes wants a value, a size, and -- came"),
            ("--config --", "--config wants a value, a file, and -- came"),
            ("--agents 2", "it takes one of 0|1|thread\n"),
            ("--nodes --", "--nodes wants a value, and -- came"),
            ("--report --messages node", "--report wants a value, a file, and --messages came"),
            ("--report --no-single-copy", "a file, and --no-single-copy came"),
            ("--report -v", "a file, and -v came"),
            ("--report -", ""),
            ("--report=", "--report wants a value, a file, and an empty one was given"),
            ("--algorithm=", "--algorithm wants a value, a list, with commas, and an empty one was given"),
            ("--cache=", ""),
        ],
    )
    def test_before_a_command(self, stage: Stage, words: str, says: str) -> None:
        answer = stage.unisono("run", *words.split(), "mpirun", "./a")
        assert (answer.returncode == 2 and not stage.log.exists()) == bool(says), answer.stderr
        assert says in answer.stderr
        assert not (stage.work / "--").exists()

    def test_at_the_end(self, stage: Stage) -> None:
        assert "--report wants a value, a file.\n" in stage.unisono("run", "--report").stderr
