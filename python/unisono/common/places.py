# SPDX-License-Identifier: BSD-3-Clause
"""Where the compiled parts are. A build tree has `bin/unisono-tool`, `bin/unisono-exec` and `lib/libunisono.so`; an installation has
`bin/unisono-exec`, and all else in `lib/unisono`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from unisono.common.errors import UnisonoError

TOOL = "unisono-tool"
SHIM = "unisono-exec"
LIBRARY = "libunisono.so"
INSTALLED = "lib/unisono"  # the libraries' folder below the prefix of an installation
FRONT = "unisono"  # the command itself; all but `run` it hands to what is in Python
PYTHON = "unisono-cli"

_package = Path(__file__).resolve().parents[1]


def cache() -> Path:
    """The user's folder for what is made once and kept, where jobs look for it too: that of option `cache`, else
    $XDG_CACHE_HOME/unisono, or ~/.cache/unisono. Jobs that are to keep nothing (`none`) do not look; commands still have to."""
    named = os.environ.get("UNISONO_CACHE", "")
    if named not in ("", "auto", "none", "off"):
        return Path(named).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(base) if base.startswith("/") else Path.home() / ".cache") / "unisono"


class Home(NamedTuple):
    """One place that may hold the compiled parts, and why it was looked at."""

    path: Path
    reason: str

    @property
    def _is_installed(self) -> bool:
        return (self.path / INSTALLED / LIBRARY).is_file()

    @property
    def tool(self) -> Path:
        return self.path / (INSTALLED if self._is_installed else "bin") / TOOL

    @property
    def front(self) -> Path:
        return self.path / "bin" / FRONT

    @property
    def shim(self) -> Path:
        return self.path / "bin" / SHIM

    @property
    def library(self) -> Path:
        return self.path / (INSTALLED if self._is_installed else "lib") / LIBRARY

    @property
    def programs(self) -> Path:
        """The sources of the programs that measure an MPI."""
        return self.path / "share" / "unisono" / "programs"

    def adapters(self) -> list[Path]:
        """The adapter libraries, one for each family of MPIs."""
        return sorted(self.library.parent.glob("libunisono-*.so"))


def candidates() -> list[Home]:
    """The homes to look at, best first. UNISONO_HOME, where it is set, is the only one: who names a place
    wants to hear that it is wrong, not run something else."""
    named = os.environ.get("UNISONO_HOME")
    if named:
        return [Home(Path(named).expanduser().absolute(), "UNISONO_HOME")]
    tree = _package.parents[1]
    if (tree / "CMakePresets.json").is_file():
        return [Home(tree / "build" / "release", "source tree")]
    return [Home(_prefix(), "installation")]


def _prefix() -> Path:
    """The prefix that this package was installed under: PREFIX/lib/python3.11/site-packages, PREFIX/lib/unisono/python, or PREFIX
    itself, depending on who installed it."""
    above = _package.parents[:4]
    return next((folder for folder in above if (folder / INSTALLED / LIBRARY).is_file()), above[-1])


def find_home() -> Home | None:
    """The home in use: the first that holds any of the compiled parts."""
    for home in candidates():
        if home.tool.is_file() or home.shim.is_file() or home.library.is_file():
            return home
    return None


def families(library: Path) -> list[str]:
    """The MPI families that have an adapter beside the library."""
    adapters = library.parent.glob("libunisono-*.so")
    return sorted(adapter.stem.removeprefix("libunisono-") for adapter in adapters)


def require(part: str) -> Path:
    """The path of `front`, `tool`, `shim` or `library`; ends the command with what to do where it is missing."""
    home = find_home()
    if home is not None:
        path: Path = getattr(home, part)
        if path.is_file() and (part == "library" or os.access(path, os.X_OK)):
            return path
        problem = f"{path} is missing" if not path.is_file() else f"{path} is not executable"
    else:
        looked = ", ".join(f"{home.path} ({home.reason})" for home in candidates())
        problem = f"the compiled parts ({TOOL}, {SHIM}, {LIBRARY}) were not found in: {looked}"
    raise UnisonoError(f"{problem}\n{_advice()}")


def _advice() -> str:
    if os.environ.get("UNISONO_HOME"):
        return (
            "UNISONO_HOME must name a folder with bin/ and lib/ of a build or an installation; "
            "correct it, or unset it to use the package's own."
        )
    return (
        "In a source tree, build them: make build. Elsewhere, install Unisono again (docs/install.md), "
        "or let UNISONO_HOME name the folder that holds their bin/ and lib/."
    )
