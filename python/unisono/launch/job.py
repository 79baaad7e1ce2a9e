# SPDX-License-Identifier: BSD-3-Clause
"""A job as `unisono run` starts it: the settings that ranks get, the command with the shim in it, and the plain case, a run
without options."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from unisono.common import places
from unisono.common.shown import shown
from unisono.launch import parse, process
from unisono.launch.rewrite import Shim, rewrite

REPORT = "UNISONO_REPORT"
CONFIG = "UNISONO_CONFIG"
_ours = frozenset({"UNISONO_HOME", "UNISONO_LIBRARY"})  # what the command itself settles
# Variables that want more than to be handed on: a report is shown or made a page of, or shells ask for completions.
_wants_more = (REPORT, "_UNISONO_COMPLETE")


def settings_from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The UNISONO_* variables of an environment that ranks shall see."""
    return {
        name: value
        for name, value in sorted(environment.items())
        if name.startswith("UNISONO_") and name not in _ours
    }


def prepare(words: Sequence[str], settings: Mapping[str, str], is_verbose: bool = False) -> list[str]:
    """The command that runs `words` under Unisono."""
    library = places.require("library")
    shim = Shim(places.require("shim"), library, settings, places.families(library))
    rewritten = rewrite(list(words), shim)
    is_marked = any(parse.is_shim(word) for word in words)  # by the user, who has the choice then
    reason = "" if is_marked else _why_not_all(rewritten.programs, shim.path)
    if reason:
        print(shown(f"unisono: {reason}; the whole job runs without Unisono"), file=sys.stderr)
        return list(words)
    if is_verbose:
        print(shown(f"unisono: {rewritten.explanation}"), file=sys.stderr)
        print(shown(f"unisono: running {shlex.join(rewritten.words)}"), file=sys.stderr)
    return rewritten.words


def _why_not_all(programs: Sequence[str], shim: Path) -> str:
    """Why Unisono can be loaded into some of a job's programs only; empty where it can into all, or into none.

    Ranks with Unisono would wait for those without. Where all programs are alike the shim itself says so, and what
    is not seen here (a program behind a script, or one of other hosts alone) ends when ranks wait in MPI_Init.
    """
    different = list(dict.fromkeys(programs))
    if len(different) < 2:
        return ""
    import subprocess

    answer = subprocess.run(
        [shim, "--obstacles", *different],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="surrogateescape",
        check=False,
    )
    reasons = [line.split("\t", 1) for line in answer.stdout.splitlines() if "\t" in line]
    if not reasons or len(reasons) == len(different):
        return ""
    return "; ".join(f"{program} {reason}" for program, reason in reasons)


def plain_command(arguments: Sequence[str]) -> list[str] | None:
    """The user's command where `run` has the arguments `[--] COMMAND...` and nothing else is asked for, else None."""
    if any(os.environ.get(name) for name in _wants_more):
        return None
    is_marked = list(arguments[:1]) == ["--"]
    words = list(arguments[1:] if is_marked else arguments)
    is_plain = bool(words) and (is_marked or not words[0].startswith("-"))
    return words if is_plain else None


def run_plainly(words: Sequence[str]) -> NoReturn:
    """Becomes the command, under Unisono, with the settings of our environment."""
    process.replace(prepare(words, settings_from_environment(os.environ)))
