# SPDX-License-Identifier: BSD-3-Clause
"""Random messages in all of MPI's ways; the project's own, judged by the native run beside it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import harness
from cells import DIED, FAILED, HUNG, NATIVE, PASSED, SKIPPED, Outcomes
from jobs import Jobs
from mpis import ALL, Mpi

ROUNDS = 60
JOB_SECONDS = 240.0
THREADS = (1, 3)


class TrafficSuite:
    """A part is a seed, a case a number of threads."""

    name = "traffic"
    title = "Random messages"
    about = (
        f"`tests/integration/programs/message_stress.c` (the project's own): {ROUNDS} rounds of messages in all of MPI's ways, with wildcards and probes, "
        "on communicators that come and go, with one thread and with three. "
        "Half of the calls are those for large counts, where the MPI has them. A part is a seed. "
        "Data and statuses are to be the same as in a native run beside it (natively: in another one)."
    )
    mpis = tuple(mpi.name for mpi in ALL if mpi.name != "mpich5_abi")
    variants = (NATIVE, "point_to_point", "point_to_point_all")
    parts_per_job = 1

    def ranks(self, mpi: Mpi) -> Sequence[int]:
        return (2, 3, 4, 8)

    def version(self) -> str:
        return f"{ROUNDS} rounds of all calls"

    def parts(self, mpi: Mpi) -> list[str]:
        return [f"seed-{seed}" for seed in range(1, 7)]

    def run(
        self, jobs: Jobs, mpi: Mpi, ranks: int, variant: str, parts: Sequence[str], directory: Path
    ) -> dict[str, Outcomes]:
        return {
            part: {
                f"{threads} thread{'s' if threads > 1 else ''}": self._run(
                    jobs, mpi, ranks, variant, part, threads, directory
                )
                for threads in THREADS
            }
            for part in parts
        }

    def _run(
        self, jobs: Jobs, mpi: Mpi, ranks: int, variant: str, part: str, threads: int, directory: Path
    ) -> str:
        program = harness.compile_program(mpi, "message_stress.c")
        command = [program, part.removeprefix("seed-"), str(ROUNDS), str(threads)]
        outputs = []
        # What an MPI gets wrong itself is left out there.
        for turn in (NATIVE, variant):
            left_out = ["natively"] if turn == NATIVE else []
            result = jobs.run(mpi, ranks, turn, [*command, *left_out], directory, timeout=JOB_SECONDS)
            (directory / f"{threads}-{len(outputs)}-{turn}").write_text(str(result))
            if result.output == "LEVEL\n":
                return SKIPPED
            outputs.append(result.output)
        if result.is_timed_out:
            return HUNG
        if result.status != 0:
            return DIED
        return PASSED if outputs[1] == outputs[0] and outputs[0].startswith("OK ") else FAILED
