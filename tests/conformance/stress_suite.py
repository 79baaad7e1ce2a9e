# SPDX-License-Identifier: BSD-3-Clause
"""Random sequences of collectives on random communicators by several threads; the project's own, judged by the native run beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import harness
from cells import DIED, HUNG, NATIVE, PASSED, SKIPPED, Outcomes
from jobs import Jobs
from mpis import ALL, Mpi

TURNS = 1000
JOB_SECONDS = 240.0


class StressSuite:
    """A part is a seed."""

    name = "stress"
    title = "Random programs with threads"
    about = (
        f"`tests/integration/programs/thread_communicators.c` (the project's own): three threads of each rank make, use and free communicators, "
        f"{TURNS} turns each. They make every collective, blocking, not blocking and persistent, with sums, maxima and an operator that does not commute. A part is a seed."
    )
    mpis = tuple(mpi.name for mpi in ALL if mpi.name != "mpich5_abi")
    variants = (NATIVE, "unisono")
    parts_per_job = 1

    def ranks(self, mpi: Mpi) -> Sequence[int]:
        return (2, 3, 4, 8)

    def version(self) -> str:
        return f"{TURNS} turns"

    def parts(self, mpi: Mpi) -> list[str]:
        return [f"seed-{seed}" for seed in (1, 2, 3)]

    def run(
        self, jobs: Jobs, mpi: Mpi, ranks: int, variant: str, parts: Sequence[str], directory: Path
    ) -> dict[str, Outcomes]:
        program = harness.compile_program(mpi, "thread_communicators.c")
        outcomes: dict[str, Outcomes] = {}
        for part in parts:
            command = [program, part.removeprefix("seed-"), str(TURNS)]
            result = jobs.run(mpi, ranks, variant, command, directory, timeout=JOB_SECONDS)
            (directory / "job").write_text(str(result))
            if result.is_timed_out:
                outcome = HUNG
            elif "LEVEL" in result.output:
                outcome = SKIPPED
            else:
                outcome = PASSED if result.status == 0 and result.output.endswith("OK\n") else DIED
            outcomes[part] = {"run": outcome}
        return outcomes
