# SPDX-License-Identifier: BSD-3-Clause
"""IMB-MPI1, the benchmark of Intel's wheel, with results checked by a preloaded library: a part is a benchmark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import harness
from cells import DIED, FAILED, HUNG, NATIVE, PASSED, Outcomes
from jobs import Jobs
from mpis import BY_NAME, WHEELS, Mpi, version

PROGRAM = WHEELS / "impi/bin/IMB-MPI1"
SHADOW = Path(__file__).resolve().parent / "shadow.c"
JOB_SECONDS = 240.0
# Five calls of each size from 0 to 4 MiB; at 1 MiB at most where a rank receives from all.
OPTIONS = "-iter 5 -iter_policy off -time 20 -root_shift on -msglog 0:20"
# What moves data between all, and PingPong and its like, which show that the others' calls stay what they were.
BENCHMARKS = [
    "Allgather",
    "Allgatherv",
    "Allreduce",
    "Alltoall",
    "Alltoallv",
    "Barrier",
    "Bcast",
    "Exchange",
    "Gather",
    "Gatherv",
    "PingPing",
    "PingPong",
    "Reduce",
    "Reduce_local",
    "Reduce_scatter",
    "Reduce_scatter_block",
    "Scatter",
    "Scatterv",
    "Sendrecv",
]
_SIZES = re.compile(r"^ +\d+ +\d+(?: +[\d.]+)+$", re.MULTILINE)
_SHADOW = re.compile(r"^shadow MPI_(\w+): (\d+) calls, (\d+) differ$", re.MULTILINE)


def read_output(benchmark: str, text: str) -> Outcomes:
    """Return what the output says: whether the benchmark's table is there, and which results were right."""
    cases = {
        f"results of MPI_{name}": FAILED if int(differing) else PASSED
        for name, _, differing in _SHADOW.findall(text)
    }
    rows = _SIZES.findall(text)
    is_complete = "# All processes entering MPI_Finalize" in text
    # Of sizes 0, 1, 2, 4 ... 1 MiB. Barrier has a line of other columns, reductions begin at 4 bytes.
    least = 0 if benchmark == "Barrier" else 18
    cases["table"] = PASSED if is_complete and len(rows) >= least else FAILED
    return cases


class ImbSuite:
    name = "imb"
    title = "IMB-MPI1"
    about = (
        f"The benchmark binary of the wheel `impi-devel`, which also runs on MPICH: `{OPTIONS}`. It is built without its own result checking, "
        "so `tests/conformance/shadow.c` is preloaded before Unisono. Behind each collective it makes the same call with data of "
        "its own, through Unisono and straight from the MPI library, and compares the results byte by byte. "
        "Natively the same library compares the MPI with itself."
    )
    mpis = ("mpich5", "intel")
    variants = (NATIVE, "unisono")
    parts_per_job = 1

    def ranks(self, mpi: Mpi) -> Sequence[int]:
        return (2, 4, 5)

    def version(self) -> str:
        return f"of impi-devel {version(BY_NAME['intel'])}"

    def parts(self, mpi: Mpi) -> list[str]:
        return list(BENCHMARKS)

    def run(
        self, jobs: Jobs, mpi: Mpi, ranks: int, variant: str, parts: Sequence[str], directory: Path
    ) -> dict[str, Outcomes]:
        return {part: self._run(jobs, mpi, ranks, variant, part, directory) for part in parts}

    def _run(self, jobs: Jobs, mpi: Mpi, ranks: int, variant: str, part: str, directory: Path) -> Outcomes:
        shadow = harness.compile_program(mpi, str(SHADOW), flags=["-shared", "-fPIC"])
        command = [PROGRAM, "-npmin", str(ranks), *OPTIONS.split(), part]
        environment = {"LD_PRELOAD": str(shadow), "LD_LIBRARY_PATH": str(mpi.library_directory)}
        result = jobs.run(mpi, ranks, variant, command, directory, environment, timeout=JOB_SECONDS)
        (directory / "job").write_text(str(result))
        (directory / "output").write_text(result.output)
        cases = read_output(part, result.output)
        if result.is_timed_out:
            cases["table"] = HUNG
        elif result.status != 0:
            cases["table"] = DIED
        return cases
