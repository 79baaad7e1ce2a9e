# SPDX-License-Identifier: BSD-3-Clause
"""Mistyped names are answered with the one that was meant; `unisono` alone says how to begin."""

from __future__ import annotations

import pytest
from conftest import BUILD, Stage, needs_build
from unisono.commands.group import COMMANDS, FIRST, PARTS
from unisono.common.nearest import did_you_mean


def test_a_word_that_is_near_nothing_has_no_hint() -> None:
    assert did_you_mean("frobnicate", ["ring", "chain"], "; there are two") == "; there are two"
    assert did_you_mean("RIGN", ["Ring", "chain"]) == "; did you mean 'Ring'?"


@needs_build
@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["tuen"], "`unisono tune`"),
        (["table", "shwo", "t.json"], "`unisono table show`"),
        (["cache", "claer"], "`unisono cache clear`"),
        (["explain", "allredcue"], "'allreduce'"),
        (["explain", "allreduce", "--algorithm", "rign"], "'ring'"),
        (["list", "bcsat"], "'bcast'"),
        (["show", "bcast", "--algorithm", "chian", "--ranks", "4"], "'chain'"),
        (["check", "--algorithm", "rign"], "'ring'"),
        (["topology", "contention", "tree:2x4", "allgather", "--algorithm", "rign"], "'ring'"),
        (["predict", "allreduce", "--machine", "typcial"], "'typical'"),
        (["bench", "--operation", "allredcue", "--", "mpirun"], "'allreduce'"),
        (["bench", "--start", "barier", "--", "mpirun"], "'barrier'"),
        (["tune", "--comm", "wolrd", "--", "mpirun"], "'world'"),
        (["bench", "--algorithm", "allredcue:ring", "--", "mpirun"], "'allreduce'"),
        (["bench", "--algorithm", "allreduce:ring(segment=64Q)", "--", "mpirun"], "'64K'"),
        (["bench", "--algorithm", "allreduce:ring(segmnt=64K)", "--", "mpirun"], "'segment'"),
        (["report", "--jsno", "r.json"], "'--json'"),
    ],
    ids=" ".join,
)
def test_what_was_meant(stage: Stage, built: dict[str, str], words: list[str], meant: str) -> None:
    answer = stage.unisono(*words, environment=built)
    said = answer.stderr.replace("Did you mean", "did you mean")
    assert answer.returncode == 2 and f"did you mean {meant}" in said
    assert max(map(len, answer.stderr.splitlines())) < 260, "no list of all names"


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("tune -n 4", "unisono tune -- mpirun -n 4"),
        ("tune --budget 9s --map-by node mpirun -n4", "unisono tune --budget 9s -- mpirun --map-by node -n4"),
        ("bench -np 4 -- srun", "unisono bench -- srun -np 4"),
        ("profile -n4 ./a 1", "unisono profile -- mpirun -n4 ./a 1"),
        ("machine measure -n 4", "unisono machine measure -- mpirun -n 4"),
        ("topology measure -N 1 mpirun", "unisono topology measure -- mpirun -N 1"),
        ("match bench --depth 16 -n 2", "unisono match bench --depth 16 -- mpirun -n 2"),
    ],
)
def test_options_of_the_launcher_in_front_of_it(stage: Stage, words: str, meant: str) -> None:
    answer = stage.unisono(*words.split())
    assert answer.returncode == 2
    assert answer.stderr.endswith(f"; if it is the launcher's, it belongs behind it:\n  {meant}\n")


@needs_build
@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("profile --nodes 2x1 -- mpirun -n 2 ./a", "UNISONO_NODES=2x1 unisono profile -- mpirun -n 2 ./a"),
        (
            "profile --with-unisono --no-single-copy mpirun ./a",
            "UNISONO_SINGLE_COPY=0 unisono profile --with-unisono -- mpirun ./a",
        ),
        (
            "profile --messages -- mpirun ./a",
            "UNISONO_MESSAGES=VALUE unisono profile --with-unisono -- mpirun ./a",
        ),
        ("bench --cold --log=info -- mpirun", "UNISONO_LOG=info unisono bench --cold -- mpirun"),
        ("tune --nodes 2x1 -- mpirun -n 2", ""),
        ("match bench --agents 1 -- mpirun -n 2", ""),
    ],
)
def test_options_of_run_before_other_commands(
    stage: Stage, built: dict[str, str], words: str, meant: str
) -> None:
    answer = stage.unisono(*words.split(), environment=built)
    assert answer.returncode == 2
    assert " is an option of `unisono run`, and none of `unisono " in answer.stderr, answer.stderr
    assert answer.stderr.endswith(f":\n  {meant}\n" if meant else "`\n"), answer.stderr


@needs_build
def test_options_behind_the_launcher_are_its_own(stage: Stage, built: dict[str, str]) -> None:
    """`match bench` needs no -- before the launcher, as the other commands do not."""
    answer = stage.unisono("match", "bench", "--depth", "0", "mpirun", "-n", "2", environment=built)
    assert answer.returncode == 2 and "wants numbers from 1 to" in answer.stderr, answer.stderr


@needs_build
def test_options_of_srun_stay_with_it(stage: Stage, built: dict[str, str]) -> None:
    answer = stage.unisono("profile", "--nodes", "2", "srun", "./a", environment=built)
    assert answer.stderr.endswith(" belongs behind it:\n  unisono profile -- srun --nodes 2 ./a\n"), (
        answer.stderr
    )


def test_a_wrong_command_is_told_once(stage: Stage) -> None:
    """`profile` adds nothing to what `run` has said."""
    answer = stage.unisono("profile", "sbatch", "job.sh")
    assert answer.returncode == 2
    assert "Write into the job's script" in answer.stderr and "there is no profile" not in answer.stderr


def test_alone_it_says_how_to_begin(stage: Stage) -> None:
    answer = stage.unisono()
    assert answer.returncode == 0 and answer.stdout == FIRST + "\n"
    begun = [line.split()[1] for line in FIRST.splitlines() if line.startswith("  unisono ")]
    assert begun == ["run", "report", "tune"]


def test_help_has_every_command_once(stage: Stage) -> None:
    lines = stage.unisono("--help").stdout.splitlines()
    listed = [line.split()[0] for line in lines if line.startswith("  ") and line.split()[0] in COMMANDS]
    assert sorted(listed) == sorted(COMMANDS)
    assert [f"{title}:" for title in PARTS] == [line for line in lines if line and line[0] != " "][2:6]


@needs_build
def test_info_says_what_a_job_would_read(stage: Stage, built: dict[str, str]) -> None:
    """The configuration with its `~`, the cache, the site's table, and who has set which option."""
    folder = stage.work / ".config/unisono"
    folder.mkdir(parents=True)
    (folder / "unisono.conf").write_text("log = info\ntable = ~/app.json:/b.json\n")
    own = {"HOME": str(stage.work), "UNISONO_REPORT": "~/r.json", "UNISONO_CACHE": "~/kept"}
    text = stage.unisono("info", environment={**built, **own, "UNISONO_TABEL": "x"}).stdout
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert any(line.startswith("site, this machine /etc/unisono.conf ") for line in lines)
    assert f"site, this installation {BUILD}/etc/unisono.conf not there" in lines
    assert f"configuration {folder}/unisono.conf read" in lines
    assert f"kept by jobs {stage.work}/kept not there: nothing is kept yet" in lines
    assert any(line.startswith("site table /") and "etc/unisono/table.json" in line for line in lines)
    assert f"table {stage.work}/app.json:/b.json {folder}/unisono.conf line 2" in lines
    assert f"report {stage.work}/r.json UNISONO_REPORT" in lines
    assert "did you mean 'UNISONO_TABLE'?" in text
    folder.joinpath("unisono.conf").unlink()
    text = stage.unisono("info", environment={**built, **own}).stdout
    assert "not there: no option is set in a file" in text


@needs_build
def test_reasons_name_tables_with_their_path(stage: Stage, built: dict[str, str]) -> None:
    (stage.work / "tables").mkdir()
    (stage.work / "tables/app.json").write_text(
        '{"schema": "unisono-table", "version": 1, "rules": [{"operation": "allreduce", "algorithm": "ring"}]}'
    )
    text = stage.unisono(
        "explain", "allreduce", "64K", "--table", "tables/app.json", environment=built
    ).stdout
    assert "application table: tables/app.json rule 1" in text
