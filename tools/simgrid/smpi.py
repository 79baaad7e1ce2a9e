# SPDX-License-Identifier: BSD-3-Clause
"""Runs orders over SMPI (main.cc has what they are), and reads the answers."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from platforms import Platform, settings

ROOT = Path(__file__).resolve().parent.parent.parent
PROGRAM = ROOT / "build/release/simgrid/unisono-smpi.so"
SELECTORS = ("ompi", "mpich", "mvapich2", "impi")


class SimGridError(Exception):
    """What is wrong, and what to do."""


def require() -> None:
    """Raises SimGridError where SimGrid, or what was compiled for it, is missing."""
    if shutil.which("smpirun") is None:
        raise SimGridError(
            "there is no smpirun: install SimGrid (Debian, as root: apt-get install --no-install-recommends libsimgrid-dev), "
            "then run `make simulate`"
        )
    if not PROGRAM.exists():
        raise SimGridError(
            f"there is no {PROGRAM}: `make simulate` builds it, or `ninja -C build/release unisono_smpi`"
        )


def run(
    platform: Platform,
    orders: Sequence[str],
    selector: str = "ompi",
    limit_s: float = 1800,
    on_answer: Callable[[dict[str, Any]], None] = lambda _: None,
) -> list[dict[str, Any]]:
    """The answers to all orders, one for each. `selector` says which MPI's choices SMPI's own collectives follow."""
    require()
    with tempfile.TemporaryDirectory(prefix="unisono-smpi-") as place:
        folder = Path(place)
        described, hosts = platform.write(folder)
        asked = folder / "orders"
        asked.write_text("".join(f"{order}\n" for order in orders))
        words = [
            "timeout",
            f"{limit_s:g}",
            "smpirun",
            "-np",
            str(platform.ranks),
            "-platform",
            str(described),
        ]
        words += [
            "-hostfile",
            str(hosts),
            "--log=root.thres:error",
            *settings(selector),
            str(PROGRAM),
            str(asked),
        ]
        answers: list[dict[str, Any]] = []
        with (folder / "errors").open("w+") as errors:
            process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors, text=True, cwd=folder)
            assert process.stdout is not None
            with process:
                for line in process.stdout:
                    if line.startswith("{"):
                        answers.append(json.loads(line))
                        on_answer(answers[-1])
            errors.seek(0)
            if len(answers) != len(orders):
                why = (
                    f"took more than {limit_s:g} s"
                    if process.returncode == 124
                    else errors.read().strip()[-2000:]
                )
                raise SimGridError(
                    f"{platform.name}, {selector}, after {len(answers)} of {len(orders)} orders: {why}"
                )
    return answers
