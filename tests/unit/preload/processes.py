# SPDX-License-Identifier: BSD-3-Clause
"""Starting the test programs, for the tests beside this file."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
BUILD = Path(os.environ.get("UNISONO_TEST_BUILD", ROOT / "build/release")).resolve()
PROGRAMS = Path(os.environ.get("UNISONO_TEST_PROGRAMS", BUILD / "tests/unit/preload/programs")).resolve()
LIBRARY = BUILD / "lib/libunisono.so"
SHIM = BUILD / "bin/unisono-exec"
CALLER = PROGRAMS / "caller"
SLOTS = PROGRAMS / "slots"
EMULATOR = os.environ.get("UNISONO_TEST_EMULATOR", "").split()

# What would make a message be meant for another rank, or change what is preloaded.
LAUNCHER_VARIABLES = re.compile(r"OMPI_|PMIX_|PMI_|MPI_|SLURM_|PALS_|FLUX_|ALPS_|LD_PRELOAD|UNISONO_")


def environment(settings: Mapping[str, str] | None = None) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not LAUNCHER_VARIABLES.match(name)}
    return {**clean, **(settings or {})}


def run(*command: str | Path, **settings: str) -> subprocess.CompletedProcess[str]:
    """Run a command, with `settings` in its environment; what was built for another machine, under its emulator."""
    words = [str(word) for word in command]
    is_built = BUILD in Path(words[0]).parents or PROGRAMS in Path(words[0]).parents
    return subprocess.run(
        [*EMULATOR, *words] if is_built else words,
        env=environment(settings),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def names() -> list[str]:
    """The names in the one list of src/preload/names.h, without their prefix."""
    text = (ROOT / "src/preload/names.h").read_text(encoding="utf-8")
    listed = text.split("#define UNISONO_MESSAGE_NAMES(X)")[1]
    return [name for name in re.findall(r"X\((\w+)\)", listed) if name != "X"]


def symbols(library: Path, kind: str) -> set[str]:
    """Dynamic symbols of a library: `kind` is --defined-only or --undefined-only."""
    listing = run("nm", "-D", "--format=posix", kind, library)
    assert listing.returncode == 0, listing.stderr
    return {line.split()[0].split("@")[0] for line in listing.stdout.splitlines()}


def dynamic_section(library: Path) -> str:
    listing = run("readelf", "-d", library)
    assert listing.returncode == 0, listing.stderr
    return listing.stdout
