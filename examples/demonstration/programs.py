# SPDX-License-Identifier: BSD-3-Clause
"""The programs of the demo: building, starting, reading their results."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from demonstration.errors import EXIT_MISSING, DemoError
from demonstration.mpi import ROOT, Installation

EXAMPLES = ROOT / "examples"
# Each operation rounded by itself: the result does not depend on how the compiler vectorises (gravity.h).
COMPILER_FLAGS = ("-std=c++20", "-O3", "-fno-math-errno", "-ffp-contract=off", "-Wall", "-Wextra")
_system_folders = re.compile(r"(/usr)?/lib(32|64)?(/[^/]+-linux-gnu)?")


@dataclass(frozen=True)
class Program:
    name: str
    title: str
    probe_steps: int  # enough to estimate the time of a step
    most_steps: int


NBODY = Program("nbody", "Star cluster (nbody, C++)", probe_steps=60, most_steps=200_000)
HEAT = Program("heat", "Heat conduction (heat, Python with mpi4py)", probe_steps=6, most_steps=20_000)
ALL = (NBODY, HEAT)


@dataclass(frozen=True)
class Run:
    """One finished run: what the program says of itself, and the time from mpirun's start to its end."""

    result: dict[str, Any]
    job_s: float


def are_passed(result: dict[str, Any]) -> bool:
    """Whether all of the program's own checks are."""
    return all(check["is_passed"] for check in result["checks"])


class Workshop:
    """What is built with one MPI, in build/examples/<mpi>, and how it is started there."""

    def __init__(self, installation: Installation) -> None:
        self.installation = installation
        self.folder = ROOT / "build" / "examples" / installation.key
        self._binary = self.folder / "nbody"
        self._library = Path()

    def build(self) -> None:
        """Compiles the C++ program, unless it is up to date; finds out which MPI library it uses."""
        sources = sorted((EXAMPLES / "nbody").glob("*.cc"))
        command = [str(self.installation.compiler), *COMPILER_FLAGS, *map(str, sources), "-o"]
        headers = sorted((EXAMPLES / "nbody").glob("*.h"))
        state = hashlib.sha256(repr(command).encode())
        for file in [*sources, *headers]:
            state.update(file.read_bytes())
        stamp = self.folder / "nbody.stamp"
        if not self._binary.exists() or not stamp.exists() or stamp.read_text() != state.hexdigest():
            self.folder.mkdir(parents=True, exist_ok=True)
            self._compile(command)
            stamp.write_text(state.hexdigest())
        self._library = self._find_library()

    def _compile(self, command: Sequence[str]) -> None:
        part = f"{self._binary}.{os.getpid()}"
        try:
            answer = subprocess.run(
                [*command, part],
                env={**os.environ, **self.installation.environment},
                capture_output=True,
                text=True,
                check=False,
            )
        except OSError as error:
            raise DemoError(f"cannot start {command[0]}: {error.strerror}", EXIT_MISSING) from error
        if answer.returncode != 0:
            raise DemoError(
                f"{command[0]} could not compile examples/nbody (is a C++20 compiler installed?):\n"
                + _shortened(answer.stderr + answer.stdout),
                EXIT_MISSING,
            )
        os.replace(part, self._binary)

    def _find_library(self) -> Path:
        """The MPI library that the loader gives to the compiled program."""
        answer = subprocess.run(
            ["ldd", str(self._binary)],
            env={**os.environ, **self.installation.environment},
            capture_output=True,
            text=True,
            check=False,
        )
        match = re.search(r"(libmpi(?:ch)?\.so\.\d+) => (/\S+)", answer.stdout)
        if match is None:
            raise DemoError(
                f"{self._binary} finds no MPI library:\n{_shortened(answer.stdout + answer.stderr)}"
            )
        is_openmpi = match[1] == "libmpi.so.40"
        if is_openmpi != self.installation.family.startswith("openmpi"):
            raise DemoError(
                f"{self.installation.compiler} links {match[2]}, which is not the MPI of"
                f" {self.installation.launcher.path}; name the MPI to use: --mpi openmpi or --mpi mpich",
                EXIT_MISSING,
            )
        return Path(match[2])

    def words(self, program: Program) -> list[str]:
        if program is HEAT:
            return [sys.executable, str(EXAMPLES / "heat" / "heat.py")]
        return [str(self._binary)]

    def environment(self, program: Program, ranks: int) -> dict[str, str]:
        environment = self.installation.launch_environment(ranks)
        if program is HEAT:
            environment |= self._python_environment(environment)
        return environment

    def _python_environment(self, environment: Mapping[str, str]) -> dict[str, str]:
        """What makes the one mpi4py of the project's environment use this MPI: it holds a module for each ABI, and
        these ask the loader for libmpi.so.40 or libmpi.so.12."""
        is_openmpi = self.installation.family.startswith("openmpi")
        settings = {"MPI4PY_MPIABI": "openmpi" if is_openmpi else "mpich", "OMP_NUM_THREADS": "1"}
        folder = self._library.parent
        if self._library.name.startswith("libmpich."):
            # Debian gave MPICH's library another name than the ABI says.
            folder = self.folder / "lib"
            folder.mkdir(exist_ok=True)
            link = folder / "libmpi.so.12"
            if not link.is_symlink() or link.readlink() != self._library:
                link.unlink(missing_ok=True)
                link.symlink_to(self._library)
        elif _system_folders.fullmatch(str(folder)):
            return settings
        paths = [str(folder), *filter(None, [environment.get("LD_LIBRARY_PATH")])]
        return {**settings, "LD_LIBRARY_PATH": os.pathsep.join(paths)}

    def run(
        self, program: Program, ranks: int, steps: int, timeout_s: float, before: Sequence[str] = ()
    ) -> Run:
        """One run to its end; `before` stands before mpirun on the command line."""
        with tempfile.TemporaryDirectory(prefix="unisono-demo-") as folder:
            file = Path(folder) / "result.json"
            command = [*before, *self.installation.command(ranks), *self.words(program)]
            command += ["--steps", str(steps), "--json", str(file), "--quiet"]
            start_s = time.monotonic()
            status, output = _supervise(command, self.environment(program, ranks), timeout_s)
            job_s = time.monotonic() - start_s
            result = json.loads(file.read_text()) if file.exists() else None
            # A program whose checks failed says so in its result, which is worth comparing.
            if result is None or status != (0 if are_passed(result) else 1):
                ending = (
                    f"ended with status {status}"
                    if status is not None
                    else f"took more than {timeout_s:.0f} s"
                )
                raise DemoError(f"{' '.join(command)}\n{ending}\n{_shortened(output)}")
        if result["ranks"] != ranks:
            raise DemoError(
                f"{program.name} ran as {result['ranks']} rank(s) of {result['mpi']} instead of {ranks}:"
                f" {self.installation.launcher.path} and the library in the program do not belong together"
            )
        return Run(result, job_s)


def _supervise(
    command: Sequence[str], environment: Mapping[str, str], timeout_s: float
) -> tuple[int | None, str]:
    """Exit status (None: stopped, it took too long) and all output. Whatever happens, the job is gone afterwards."""
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        try:
            process = subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except OSError as error:
            raise DemoError(f"cannot start {command[0]}: {error.strerror}", EXIT_MISSING) from error
        status: int | None = None
        try:
            status = process.wait(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            pass
        finally:
            _end(process)
        output.seek(0)
        return status, output.read()


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends the job if it still runs: mpirun is asked first, so that it can end its ranks."""
    for number, patience_s in ((signal.SIGTERM, 5.0), (signal.SIGKILL, None)):
        if process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=patience_s)


def _shortened(text: str, most: int = 60) -> str:
    """The beginning and the end, where the reasons stand."""
    lines = text.strip().splitlines()
    if len(lines) > most:
        left_out = f"... {len(lines) - most} lines left out ..."
        lines = [*lines[: most // 2], left_out, *lines[-most // 2 :]]
    return "\n".join(lines)
