# SPDX-License-Identifier: BSD-3-Clause
"""What tests work with: compiled programs, emulated clusters, and jobs natively or under Unisono."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import again
import job
import mpis
import pytest
from mpis import ROOT, Layout, Mpi

BUILD = Path(os.environ.get("UNISONO_TEST_BUILD", ROOT / "build/release")).resolve()
SHIM = BUILD / "bin/unisono-exec"
# What runs is to be the rules' choice, or the test's: nothing that is learned, now or by jobs before. Tests make few calls, and
# each is to be Unisono's.
RULES_ALONE = {
    "UNISONO_CACHE": "",
    "UNISONO_SITE_TABLE": "",
    "UNISONO_LEARN": "off",
    "UNISONO_SET_UP_AFTER": "0",
}
TOOL = BUILD / "bin/unisono-tool"
LIBRARY = BUILD / "lib/libunisono.so"
HEADER = f"-I{ROOT / 'include'}"  # for programs that know of Unisono
COMPILED = ROOT / "build/integration"
PROGRAMS = Path(__file__).resolve().parent / "programs"
CLUSTER_TOOLS = ROOT / "tools/cluster"
LANGUAGES = {".c": "c", ".cc": "c++", ".f90": "fortran", ".f": "fortran"}
WARNINGS = {
    "c": ["-Wall", "-Wextra", "-Werror"],
    "c++": ["-Wall", "-Wextra", "-Werror"],
    "fortran": ["-w"],
}


def installed(mpi: Mpi, config: pytest.Config) -> Mpi:
    if not mpi.is_installed:
        if config.getoption("--allow-missing"):
            pytest.skip(f"{mpi.name} is not installed")
        pytest.fail(f"{mpi.name} is not installed ({mpi.launcher}): run tools/setup.sh test")
    return mpi


def is_outdated(target: Path, sources: Sequence[Path]) -> bool:
    return not target.exists() or any(source.stat().st_mtime > target.stat().st_mtime for source in sources)


def compile_program(
    mpi: Mpi, name: str, language: str | None = None, flags: Sequence[str] = (), variant: str = ""
) -> Path:
    """Compile one of programs/ with this MPI's wrapper: a file, or all C files of a directory.

    Done once: the result is kept in build/integration until a source changes. `language` c++ compiles C as C++.
    A program that is compiled with several sets of flags has a `variant` name for each.
    """
    source = PROGRAMS / name
    sources = sorted(source.glob("*.c")) if source.is_dir() else [source]
    own_language = LANGUAGES[sources[0].suffix]
    language = language or own_language
    target = COMPILED / mpi.name / f"{source.stem}-{language.replace('+', 'x')}{variant and '-' + variant}"
    parts = [*source.parent.glob("*.inc"), *source.glob("*.h"), mpi.compilers[language]]
    if not is_outdated(target, [*sources, *parts]):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.{os.getpid()}")
    # As C++ without the MPI-2 bindings for it, which some headers still bring along.
    options = ["-x", "c++", "-DOMPI_SKIP_MPICXX", "-DMPICH_SKIP_MPICXX"] if language != own_language else []
    if language == "fortran":
        # mpif.h declares nothing, so that buffers of several types are a mismatch to the compiler.
        modules = target.with_name(f"{target.name}-modules")
        modules.mkdir(exist_ok=True)
        options = ["-fallow-argument-mismatch", f"-I{PROGRAMS}", f"-J{modules}", *mpi.fortran_flags]
    command = [mpi.compilers[language], "-O1", "-g", *WARNINGS[language], *options, *flags, *sources]
    command += ["-x", "none", "-o", partial, "-lm", "-pthread", *mpi.link_flags]
    job.run(command, mpis.launcher_environment(mpi), timeout=120, directory=PROGRAMS).check()
    partial.rename(target)
    return target


def compile_example(mpi: Mpi, name: str, flags: Sequence[str]) -> Path:
    """Compile the C++ program of examples/NAME with this MPI's wrapper; kept as those of programs/ are.

    All sources at once, through a file that includes them: headers are most of what there is to compile.
    """
    folder = ROOT / "examples" / name
    target = COMPILED / mpi.name / name
    sources = sorted(folder.glob("*.cc"))
    if is_outdated(target, [*sources, *folder.glob("*.h"), mpi.compilers["c++"]]):
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f"{name}.{os.getpid()}")
        whole = partial.with_suffix(f".{os.getpid()}.cc")
        whole.write_text("".join(f'#include "{source}"\n' for source in sources))
        command = [mpi.compilers["c++"], *flags, "-Werror", whole, "-o", partial, "-pthread", *mpi.link_flags]
        job.run(command, mpis.launcher_environment(mpi), timeout=120).check()
        whole.unlink()
        partial.rename(target)
    return target


def seed_of_this_run() -> str:
    """A seed that differs from run to run; TEST_SEED repeats one. What fails names it."""
    return os.environ.get("TEST_SEED") or str(secrets.randbelow(1_000_000))


def build_yield_preload() -> Path:
    """Return the library that lets MPICH share cores (see tools/cluster/mpich_yield.c)."""
    source = CLUSTER_TOOLS / "mpich_yield.c"
    target = COMPILED / "mpich_yield.so"
    if is_outdated(target, [source]):
        target.parent.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(f".{os.getpid()}")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", partial, source, "-ldl"], check=True)
        partial.rename(target)
    return target


class Cluster:
    """An emulated cluster that is up; ends with the test session, whatever happens to it."""

    def __init__(
        self, directory: Path, nodes: int, rate: str | None = None, latency_us: int | None = None
    ) -> None:
        self.directory = directory
        self.nodes = nodes
        options = ["--nodes", str(nodes), "--owner", str(os.getpid())]
        options += ["--rate", rate] if rate else []
        options += ["--latency", str(latency_us)] if latency_us is not None else []
        self._command("up", *options)

    def _command(self, verb: str, *arguments: str) -> str:
        # Not by job.run: what `up` starts is to stay.
        command = [CLUSTER_TOOLS / "cluster.sh", verb, self.directory, *arguments]
        result = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
        )
        assert result.returncode == 0, (
            f"{result.args}: status {result.returncode}: {result.stdout}{result.stderr}"
        )
        return result.stdout

    def on_head(self, command: Sequence[str | Path]) -> list[str]:
        """Return the command line that runs `command` on the head."""
        return [str(CLUSTER_TOOLS / "cluster.sh"), "head", str(self.directory), *map(str, command)]

    def on_node(self, node: int, *command: str) -> str:
        """Run a command on one node and return what it prints."""
        return self._command("exec", str(node), *command)

    def set_rate(self, rate: str) -> None:
        """Let the links have another rate, as in 100mbit. Only of clusters that have one, without latency."""
        self._command("rate", rate)

    def kill(self, node: int) -> None:
        """Let a node fail: everything on it ends at once."""
        self._command("kill", str(node))

    def down(self) -> None:
        self._command("down")


class Runner:
    """Starts programs under an MPI, natively or under Unisono; `run` and `unisono` are what tests call."""

    def __init__(self, yield_preload: Path, scratch: Path) -> None:
        self._yield_preload = yield_preload
        self.scratch = scratch
        self.again = again.OF_THIS_PROCESS
        # What a test does before a job is run once more: that run finds what the first one found.
        self.before_again: Callable[[], None] = lambda: None

    def environment_for_ranks(
        self, mpi: Mpi, ranks: int, environment: Mapping[str, str | None] | None
    ) -> dict[str, str]:
        """Return the ranks' environment; where an MPI cannot share cores it gets the yielding preload. None: not set."""
        settings: dict[str, str | None] = {**RULES_ALONE, **(environment or {})}
        own = {name: value for name, value in settings.items() if value is not None}
        if ranks > (os.cpu_count() or 1) and not mpi.is_yielding:
            own["LD_PRELOAD"] = ":".join(filter(None, [own.get("LD_PRELOAD"), str(self._yield_preload)]))
        return own

    def run(
        self,
        mpi: Mpi,
        ranks: int,
        command: Sequence[str | Path],
        environment: Mapping[str, str | None] | None = None,
        timeout: float = 60,
        cluster: Cluster | None = None,
        layout: Layout | None = None,
    ) -> job.Result:
        """Run a job natively: here, or on a cluster with the given layout. Never fails by itself: `.check()` does."""
        line = mpi.launch(ranks, command, self.environment_for_ranks(mpi, ranks, environment), layout)
        if cluster is not None:
            line = cluster.on_head(line)
        return self.run_line(mpi, line, timeout)

    def run_line(self, mpi: Mpi, line: Sequence[str], timeout: float = 60) -> job.Result:
        """Run a launcher's command line as it stands."""
        result = job.run(line, mpis.launcher_environment(mpi), timeout, self.scratch)
        if self.again.is_due(mpi, result):
            self.before_again()
            result = job.run(line, mpis.launcher_environment(mpi), timeout, self.scratch)
        return result

    def unisono(
        self,
        mpi: Mpi,
        ranks: int,
        command: Sequence[str | Path],
        environment: Mapping[str, str | None] | None = None,
        **settings: object,
    ) -> job.Result:
        """Run a job under Unisono, as `unisono run` starts it: each rank through the exec shim."""
        assert SHIM.exists(), f"{SHIM} is missing: build first (make build)"
        return self.run(mpi, ranks, [SHIM, *command], environment, **settings)

    def python(self, mpi: Mpi, environment: Mapping[str, str] | None = None) -> dict[str, str]:
        """Return the environment in which `sys.executable` with mpi4py runs over this MPI."""
        return {**mpis.mpi4py_environment(mpi, COMPILED), **(environment or {})}


def registry() -> list[dict[str, Any]]:
    """Return the registry as unisono-tool lists it; empty before the tool is built."""
    if not TOOL.exists():
        return []
    return json.loads(subprocess.run([TOOL, "list"], capture_output=True, text=True, check=True).stdout)
