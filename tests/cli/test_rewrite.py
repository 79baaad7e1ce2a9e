# SPDX-License-Identifier: BSD-3-Clause
"""The shim goes before each program, with the settings as its arguments."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import Stage, install_script
from unisono.common.errors import UsageError
from unisono.launch.rewrite import Shim, rewrite

SHIM = Shim(
    Path("/u/bin/unisono-exec"), Path("/u/lib/libunisono.so"), {"UNISONO_LOG": "info", "UNISONO_X": "a b"}
)
PREFIX = "/u/bin/unisono-exec --set UNISONO_LOG=info --set|UNISONO_X=a b|--library /u/lib/libunisono.so"
SHIM_WORDS = [part for piece in PREFIX.split("|") for part in ([piece] if "a b" in piece else piece.split())]


def expected(text: str) -> list[str]:
    """The words of a text in which <shim> stands for the shim and its settings."""
    return [part for word in text.split() for part in (SHIM_WORDS if word == "<shim>" else [word])]


@pytest.fixture(autouse=True)
def launchers(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> Stage:
    """Fake launchers in PATH, a program `prog` in the working directory."""
    for name, value in stage.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(stage.work)
    for name in ("prog", "sub/other", "elsewhere/tool"):
        install_script(Path("/dev/null"), stage.work / name)
    return stage


@pytest.mark.parametrize(
    ("command", "result"),
    [
        ("mpirun -n 2 ./a 1 2", "mpirun -n 2 <shim> -- ./a 1 2"),
        ("mpirun -n 2 -- ./a", "mpirun -n 2 -- <shim> -- ./a"),
        ("mpirun -n 2 ./a : -n 3 ./b x", "mpirun -n 2 <shim> -- ./a : -n 3 <shim> -- ./b x"),
        ("mpirun -n 2 python s.py : ./b", "mpirun -n 2 <shim> -- python s.py : <shim> -- ./b"),
        ("srun -n2 ./a : -n 3 ./b", "srun -n2 <shim> -- ./a : -n 3 <shim> -- ./b"),
        ("timeout 60 mpirun -n 2 ./a", "timeout 60 mpirun -n 2 <shim> -- ./a"),
        ("env A=1 mpirun ./a", "env A=1 mpirun <shim> -- ./a"),
        ("./a 1", "<shim> -- ./a 1"),
        ("python script.py mpirun", "<shim> -- python script.py mpirun"),
        # The user's own mark.
        ("mpirun -n 2 unisono-exec ./a", "mpirun -n 2 <shim> -- ./a"),
        ("mpirun -n 2 /x/unisono-exec -- ./a", "mpirun -n 2 <shim> -- ./a"),
        (
            "mpirun unisono-exec --set UNISONO_X=1 -- ./a : ./b",
            "mpirun <shim> --set UNISONO_X=1 -- ./a : <shim> -- ./b",
        ),
        ("mpirun -n 2 env A=1 unisono-exec ./a", "mpirun -n 2 env A=1 <shim> -- ./a"),
        ("jsrun -r 2 unisono-exec ./a", "jsrun -r 2 <shim> -- ./a"),
        ("./job.sh unisono-exec ./a : unisono-exec -- ./b", "./job.sh <shim> -- ./a : <shim> -- ./b"),
        # Programs that the launcher would find where the shim does not look.
        ("mpirun -n 2 prog 1", "mpirun -n 2 <shim> -- ./prog 1"),
        ("mpirun -wdir sub other", "mpirun -wdir sub <shim> -- ./other"),
        ("srun -D sub other", "srun -D sub <shim> -- ./other"),
        ("srun -D sub prog", "srun -D sub <shim> -- prog"),
        ("mpirun -n 2 sh prog", "mpirun -n 2 <shim> -- sh prog"),
        ("mpirun -n 2 nowhere", "mpirun -n 2 <shim> -- nowhere"),
    ],
)
def test_rewrite(command: str, result: str) -> None:
    assert rewrite(command.split(), SHIM).words == expected(result)


def test_search_path_of_the_launcher(stage: Stage) -> None:
    words = rewrite(["mpirun", "--path", "elsewhere", "tool", "x"], SHIM).words
    assert words[-2:] == [str(stage.work / "elsewhere/tool"), "x"]


def test_hydra_looks_in_path_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_VERSION", "HYDRA build details:\n    Version:  4.0.2\n")
    assert rewrite(["mpirun", "prog"], SHIM).words[-1] == "prog"


def test_explains() -> None:
    explanation = rewrite(["mpirun", "./a", ":", "unisono-exec", "./b"], SHIM).explanation
    assert "Open MPI 5.0.11" in explanation
    assert explanation.endswith("programs: ./a, ./b")


@pytest.mark.parametrize(
    ("command", "says"),
    [
        ("jsrun -r 2 ./a", "does not know the options of jsrun"),
        ("mpirun_rsh -np 2 n0 n1 ./a", "does not know the options of mpirun_rsh"),
        ("mpirun -n 2", "found no program"),
        ("mpirun -n 2 unisono-exec", "no program follows unisono-exec"),
        ("./job.sh unisono-exec --", "no program follows unisono-exec"),
    ],
)
def test_refuses(command: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        rewrite(command.split(), SHIM)
