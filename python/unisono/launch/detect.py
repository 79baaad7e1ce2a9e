# SPDX-License-Identifier: BSD-3-Clause
"""Which launcher a command starts with, by its name and by what it says to `--version`."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import PurePath
from typing import NamedTuple

from unisono.launch.flavours import FLAVOURS, SRUN, UNKNOWN, Flavour

_VERSION_TIMEOUT_S = 10

# mpirun, mpiexec.hydra, mpirun.openmpi, mpiexec-mpich-clang ...; not scripts around them.
_launcher_name = re.compile(r"(mpirun|mpiexec|orterun|prterun|srun)([._-](?!py$|sh$|pl$).+)?")

# Launchers whose command lines are not known here.
_foreign_names = frozenset(
    {"aprun", "flux", "ibrun", "jsrun", "lrun", "mpirun_rsh", "mpiexec_mpt", "prun", "yod"}
)

# Commands that run the command after them, as people put before a launcher.
_wrappers = frozenset(
    [
        "chrt",
        "env",
        "ionice",
        "ltrace",
        "nice",
        "nohup",
        "numactl",
        "setarch",
        "setsid",
        "stdbuf",
        "strace",
        "taskset",
        "time",
        "timeout",
        "xvfb-run",
    ]
)

_version_patterns = (
    # What the launcher says, with its version; the flavour.
    (re.compile(r"Intel\(R\) MPI Library.*?Version\s+(\S+)"), "intel"),
    (re.compile(r"HYDRA build details.*?Version:\s+(\S+)", re.DOTALL), "mpich"),
    (re.compile(r"\((?:Open MPI|OpenRTE|PRRTE|IBM Spectrum MPI)\)\s+v?(\d+)(\S*)"), "openmpi"),
)


class Launcher(NamedTuple):
    """A launcher as found on this machine."""

    path: str
    flavour: Flavour
    version: str = ""

    @property
    def title(self) -> str:
        """`Open MPI 5.0.11`."""
        return f"{self.flavour.title} {self.version}".strip()


def is_launcher_name(word: str) -> bool:
    return _launcher_name.fullmatch(PurePath(word).name) is not None and not is_foreign_launcher(word)


def is_foreign_launcher(word: str) -> bool:
    return PurePath(word).name in _foreign_names


def launcher_position(words: list[str]) -> int | None:
    """Where the launcher stands in a command: at its beginning, or behind `env`, `timeout` and their like."""
    if not words:
        return None
    if is_launcher_name(words[0]):
        return 0
    if PurePath(words[0]).name not in _wrappers:
        return None
    for position, word in enumerate(words):
        if is_launcher_name(word) and shutil.which(word):
            return position
    return None


def identify(word: str) -> Launcher:
    """The flavour of the launcher that `word` starts."""
    path = shutil.which(word) or word
    if PurePath(word).name.startswith("srun"):
        return Launcher(path, SRUN)
    flavour, version = parse_version(_version_text(path))
    if flavour is UNKNOWN:
        flavour = _by_name(PurePath(word).name)
    return Launcher(path, flavour, version)


def parse_version(text: str) -> tuple[Flavour, str]:
    """Flavour and version number from what a launcher prints for `--version`."""
    for pattern, name in _version_patterns:
        match = pattern.search(text)
        if match is None:
            continue
        if name == "openmpi":
            return _openmpi_by_version(match[0], int(match[1])), match[1] + match[2]
        return FLAVOURS[name], match[1]
    return UNKNOWN, ""


def _openmpi_by_version(text: str, major: int) -> Flavour:
    """Spectrum MPI 10 is built on Open MPI 4; a bare PRRTE has version 2 or 3 and Open MPI 5's manners."""
    if "Spectrum" in text:
        return FLAVOURS["openmpi4"]
    return FLAVOURS["openmpi4" if major <= 4 and "PRRTE" not in text else "openmpi5"]


def _version_text(path: str) -> str:
    try:
        answer = subprocess.run(
            [path, "--version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_VERSION_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout + answer.stderr


def _by_name(name: str) -> Flavour:
    """For a launcher that does not say its version."""
    for part, flavour in (
        ("prterun", "openmpi5"),
        ("orterun", "openmpi4"),
        ("openmpi", "openmpi4"),
        ("hydra", "mpich"),
        ("mpich", "mpich"),
    ):
        if part in name:
            return FLAVOURS[flavour]
    return UNKNOWN
