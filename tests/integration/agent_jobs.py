# SPDX-License-Identifier: BSD-3-Clause
"""Jobs with agents that are under way: their processes, and what they say."""

from __future__ import annotations

import os
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import harness
import job
from harness import compile_program
from mpis import Mpi
from test_command import COMMAND, environment

AGENT = harness.BUILD / "bin/unisono-agent"
WITH_AGENTS = [*COMMAND, "--agents", "1"]


@dataclass
class Running:
    """A job with agents that is under way."""

    process: subprocess.Popen[bytes]
    mark: str
    folder: Path

    def processes(self, program: Path) -> list[int]:
        """Those that run the program; not the launchers that have its name in their command lines."""
        return [
            number
            for number, command in job.marked_processes(self.mark).items()
            if command.startswith(str(program))
        ]

    def agents(self) -> list[int]:
        return self.processes(AGENT)

    def launchers(self) -> list[int]:
        """The two launchers: children of the command."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(child) for child in children]

    def launcher_of_agents(self) -> int:
        """It leads a group of its own."""
        (found,) = [number for number in self.launchers() if os.getpgid(number) == number]
        return found

    def let_end(self) -> None:
        (self.folder / "end").touch()

    def is_over(self) -> bool:
        return not job.marked_processes(self.mark)

    def errors(self) -> str:
        return (self.folder / "errors").read_text()


def is_at_work(process: int) -> bool:
    """Whether an agent's MPI has started: it has read what an MPI asks for after the adapter."""
    return "libunisono-" in Path(f"/proc/{process}/maps").read_text()


def are_met(running: Running, program: Path, ranks: int) -> bool:
    """Whether all ranks have their agents' memory."""
    found = running.processes(program)
    with suppress(OSError):
        return len(found) == ranks and all(
            "unisono-agent-" in Path(f"/proc/{rank}/maps").read_text() for rank in found
        )
    return False


@contextmanager
def calling(
    mpi: Mpi,
    folder: Path,
    seconds: float,
    layout: str = "2x1",
    options: Sequence[str] = (),
    launcher: Path | None = None,
    source: str = "many_started.c",
) -> Iterator[Running]:
    """Ranks with calls under way, and the agents of their pretended nodes. Whatever is left of them is killed."""
    nodes, ranks = map(int, layout.split("x"))
    program = compile_program(mpi, source)
    line = mpi.launch(nodes * ranks, [program, str(seconds)])
    line[0] = str(launcher or line[0])
    mark = uuid.uuid4().hex
    with (folder / "output").open("wb") as output, (folder / "errors").open("wb") as errors:
        process = subprocess.Popen(
            [*WITH_AGENTS, "--nodes", layout, *options, "--", *line],
            env={**environment(mpi), job.MARK: mark},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
        )
    running = Running(process, mark, folder)
    try:
        try:
            job.wait_until(lambda: are_met(running, program, nodes * ranks))
        except AssertionError as error:
            found = job.marked_processes(mark)
            raise AssertionError(f"ranks and agents have not met: {running.errors()!r}, {found}") from error
        yield running
    finally:
        process.kill()
        process.wait()
        job.sweep(mark)
