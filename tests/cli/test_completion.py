# SPDX-License-Identifier: BSD-3-Clause
"""What bash, zsh and fish complete after `unisono`, asked of these shells themselves."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click
import pytest
import shells
from conftest import Stage, needs_build
from unisono.commands.completion import SCRIPTS, script
from unisono.commands.group import COMMANDS, cli
from unisono.completion.description import described

OPERATIONS = {"bcast", "allreduce"}  # of the recorded answers
SHELLS: dict[str, Callable[[Path, Sequence[str], Path, Mapping[str, str]], list[list[str]]]] = {
    "bash": shells.asked_of_bash,
    "zsh": shells.asked_of_zsh,
    "fish": shells.asked_of_fish,
}


# A line, and what is offered at its end: of each word the part behind the last ':', '=' or ',', since shells differ in whether
# they repeat what stands there already.
OFFERED = {
    "table ": {"check", "diff", "merge", "show", "ways"},
    "table show --o": {"--operation"},
    "run --s": {"--single-copy"},
    "run -- --s": set(),
    "run -v --no-e": {"--no-enable"},
    "run --log ": {"quiet", "warning", "info"},
    "run --log=w": {"warning"},
    "run --config r": {"report.json"},
    "run --config=r": {"report.json"},
    "table show ": {"report.json", "a file", "folder"},
    "bench --operation bcast,all": {"allreduce"},
    "show bcast --algorithm b": {"binomial"},
    "predict --machine my": {"myrinet", "my-measured"},
    "run --algorithm ": {*OPERATIONS, "all"},
    "run --algorithm allreduce:": {"recursive_doubling", "two_level_ring", "native"},
    "run --algorithm=allreduce:rec": {"recursive_doubling"},
    "run --algorithm bcast:native,allreduce:rec": {"recursive_doubling"},
    # Behind a launcher its words stand, which a shell completes as it does without `unisono`.
    "run mpirun-of-": {"mpirun-of-test"},
    "run -v -- mpirun-of-": {"mpirun-of-test"},
    "tune -- mpirun-of-": {"mpirun-of-test"},
    "run --log info mpirun-of-test -n 4 rep": {"report.json"},
    "run mpirun-of-test --s": set(),
}


@pytest.mark.parametrize("shell", SHELLS)
def test_offered(shell: str, stage: Stage) -> None:
    assert shutil.which(shell), f"{shell} is missing; tools/setup.sh test installs it"
    written = stage.root / "script"
    written.write_text(stage.unisono("completion", shell).stdout)
    for name in ("report.json", "a file"):
        (stage.work / name).touch()
    (stage.work / "folder").mkdir()
    (stage.root / "cache/machines").mkdir(parents=True)
    (stage.root / "cache/machines/my-measured.json").touch()
    (stage.root / "launchers/mpirun-of-test").touch(0o755)
    # The command itself would not be found if it were asked.
    environment = {
        **stage.environment({"UNISONO_CACHE": str(stage.root / "cache"), "HOME": str(stage.root)}),
        "PATH": f"{stage.root / 'launchers'}:/usr/bin:/bin",
    }
    lines = [f"unisono {line}" for line in ["", *OFFERED]]
    first, *answers = SHELLS[shell](written, lines, stage.work, environment)
    assert set(COMMANDS) <= set(first)
    found = {
        line: {_last_part(word) for word in answer} for line, answer in zip(OFFERED, answers, strict=True)
    }
    assert found == OFFERED


def _last_part(word: str) -> str:
    parts = word.replace("\\", "").rstrip(":").replace(":", "=").replace(",", "=")
    return parts.split("=")[-1]


def test_what_readline_puts_in(stage: Stage) -> None:
    """Bash cuts words at ':' and '='; what stands before them must neither be lost nor come twice."""
    written = stage.root / "script"
    written.write_text(stage.unisono("completion", "bash").stdout)
    line = "unisono run --algorithm=bcast:fused,allreduce:rec"
    made = shells.typed_into_bash(written, line, stage.work, {**os.environ, "HOME": str(stage.root)})
    assert made.rstrip() == f"{line}ursive_doubling"


@needs_build
@pytest.mark.parametrize("shell_name", SCRIPTS)
def test_all_options_are_in_the_script(
    shell_name: str, built: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNISONO_HOME", built["UNISONO_HOME"])
    text = script(shell_name, cli)
    for command in described(cli, {}, ()).root.all():
        for option in command.options:
            for name in option.names:
                wanted = {"fish": f"-l {name[2:]} " if name.startswith("--") else f"-s {name[1:]} "}
                assert wanted.get(shell_name, name) in text, f"{command.name} {name}"


def test_hidden_spellings_are_not_offered() -> None:
    (tune,) = [c for c in described(cli, {}, ()).root.commands if c.name == "tune"]
    hidden = [p for p in _command("tune").params if isinstance(p, click.Option) and p.hidden]
    assert hidden
    assert not {p.opts[0] for p in hidden} & {name for option in tune.options for name in option.names}


def _command(name: str) -> click.Command:
    found = cli.get_command(click.Context(cli), name)
    assert found is not None
    return found


def test_unknown_shell(stage: Stage) -> None:
    answer = stage.unisono("completion", "tcsh")
    assert answer.returncode == 2
    assert "bash" in answer.stderr and "fish" in answer.stderr
