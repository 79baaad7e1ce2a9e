# SPDX-License-Identifier: BSD-3-Clause
"""`unisono profile`: where the time of an MPI program goes."""

from __future__ import annotations

import os
import secrets
import shlex
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import click

from unisono.commands.jobs import JobCommand
from unisono.commands.values import json_option
from unisono.common import files, places, printing, schemas
from unisono.common.errors import UnisonoError, UsageError

# What `unisono run` has said all about: the command is wrong, or names a program that cannot be started.
_NOTHING_RAN = (2, 126, 127)
_PROFILE, _ENABLE, _REPORT = "UNISONO_PROFILE", "UNISONO_ENABLE", "UNISONO_REPORT"
# What launchers tell the programs that they start; those of MPICH and Intel MPI, and srun's PMI-2, say PMI_SIZE.
_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE")
_LAUNCHERS = ("mpirun", "mpiexec", "srun", "prterun", "orterun")


@click.command(
    cls=JobCommand,
    heeds_options=["--with-unisono"],
    context_settings={"allow_interspersed_args": False},
    options_metavar="[OPTIONS] [--]",
)
@click.option(
    "--with-unisono",
    is_flag=True,
    help="Let Unisono serve the collectives meanwhile.  [default: the program runs as it does without Unisono]",
)
@click.option(
    "--report",
    "kept",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Keep the report, which `unisono report` prints again. All hosts must see that folder.",
)
@json_option("Print the profile as JSON.")
@click.argument("words", metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.pass_context
def command(
    ctx: click.Context, words: tuple[str, ...], with_unisono: bool, kept: Path | None, as_json: bool
) -> None:
    """Run an MPI program and show where its time goes: in which MPI functions, with which message sizes and partners.

    COMMAND is what starts the program: mpirun, mpiexec, srun or the program alone, with all arguments. All of its MPI
    functions are counted and timed. The profile follows on standard error when the job has ended, with a verdict: is
    MPI the problem at all? Is it collectives, messages, files, or ranks that wait for slower ones?

    \b
      unisono profile -- mpirun -n 8 ./program input.txt
      unisono profile --report profile.json -- srun -N 4 python script.py
      unisono report profile.json --html profile.html
    """
    _require_outermost(words)
    run = [
        str(places.require("front")),
        "run",
        "--typed-as",
        _typed(with_unisono, kept, as_json),
        "--",
        *words,
    ]
    settings = {_PROFILE: "1"}
    if not with_unisono:
        settings[_ENABLE] = "0"
    if kept is not None:
        if not kept.parent.is_dir():
            raise UsageError(f"--report {kept}: there is no folder {kept.parent}")
        files.require_own(kept, schemas.REPORT)
        kept.unlink(missing_ok=True)
        ctx.exit(_run(run, settings, kept.absolute(), as_json))
    with _folder_that_hosts_see() as directory:
        ctx.exit(_run(run, settings, Path(directory) / f"profile-{secrets.token_hex(8)}.json", as_json))


def _require_outermost(words: tuple[str, ...]) -> None:
    """Of several ranks each would make a profile of its own, and all but one would find none."""
    ranks = max((int(size) for name in _SIZES if (size := os.environ.get(name, "")).isdecimal()), default=1)
    if ranks > 1 and not Path(words[0]).name.startswith(_LAUNCHERS):
        raise UsageError(
            "this was started by a launcher: write `unisono profile` before the launcher, "
            "as in `unisono profile -- mpirun -n 4 ./program`"
        )


def _folder_that_hosts_see() -> tempfile.TemporaryDirectory[str]:
    try:
        return tempfile.TemporaryDirectory(prefix=".unisono-", dir=Path.cwd())
    except OSError as error:
        raise UnisonoError(
            f"the profile is written into the working directory, which takes none ({error.strerror}): "
            "work in another one that all hosts see, or name a file there: --report FILE"
        ) from None


def _typed(with_unisono: bool, kept: Path | None, as_json: bool) -> str:
    """What stands before COMMAND in this command: suggestions begin with it."""
    words = ["unisono", "profile"]
    if with_unisono:
        words.append("--with-unisono")
    if kept is not None:
        words += ["--report", str(kept)]
    if as_json:
        words.append("--json")
    return shlex.join([*words, "--"])


def _run(run: list[str], settings: dict[str, str], file: Path, as_json: bool) -> int:
    status = _status_of(run, {**os.environ, **settings, _REPORT: str(file)})
    if status in _NOTHING_RAN and not file.is_file():
        return status
    try:
        _show(file, as_json)
    except UnisonoError as error:
        error.show()
        return status or UnisonoError.exit_code  # nobody has named the file
    return status


def _status_of(line: list[str], environment: dict[str, str]) -> int:
    """How the job has ended. It hears itself of Ctrl-C on the terminal, and through us of what is sent to us."""
    process = subprocess.Popen(line, env=environment)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: process.send_signal(received))
    status = process.wait()
    return status if status >= 0 else 128 - status


def _show(file: Path, as_json: bool) -> None:
    import sys

    from unisono.reporting import profile, report

    if not file.is_file():
        raise UnisonoError("there is no profile: what was said above is why")
    content: dict[str, Any] = report.load(file)
    if "profile" not in content:
        raise UnisonoError("the report has no profile: was the program started by another Unisono?")
    if as_json:
        printing.print_json(content["profile"])
    else:
        report.whole(lambda: profile.render(content["profile"], printing.console(sys.stderr)))
