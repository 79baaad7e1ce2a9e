# SPDX-License-Identifier: BSD-3-Clause
"""Jobs that fail by a fault of an MPI or of its launcher, as they do natively, are run once more. How many is counted, said at
the end of the tests, and limited: a fault that comes often is looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import job
from mpis import Mpi


def is_finalize_lost(mpi: Mpi, result: job.Result) -> bool:
    """A rank of Open MPI 4 waits two seconds for its daemon to take note of its MPI_Finalize, then exits. On
    a busy machine the daemon is too late, and finds a rank that exited without it."""
    waited = 2.0
    return (
        mpi.family == "openmpi4"
        and result.status == 1
        and "exiting improperly" in result.errors
        and result.seconds > waited
    )


def is_abort_lost(mpi: Mpi, result: job.Result) -> bool:
    """Open MPI 5's launcher did not end although its ranks aborted: natively, 1 in 30 jobs that lose a node's rank."""
    return mpi.family == "openmpi5" and result.is_timed_out and "MPI_ERRORS_ARE_FATAL" in result.errors


def is_listener_lost(mpi: Mpi, result: job.Result) -> bool:
    """Open MPI 5's launcher could not start its server's listener on a busy machine: no rank was started."""
    return (
        mpi.family == "openmpi5"
        and result.status != 0
        and "listener thread failed to start" in result.errors
        and result.output == ""
    )


def is_neighbor_lost(mpi: Mpi, result: job.Result) -> bool:
    """MPICH 4 gives a neighbour's MPI_Neighbor_alltoallw other data now and then: natively 2 of 60 runs of 5 ranks."""
    return mpi.name == "mpich4" and result.status == 1 and ": alltoallw, 4, turn 0\n" in result.output


FAULTS: Mapping[str, Callable[[Mpi, job.Result], bool]] = {
    "Open MPI 4 lost an MPI_Finalize": is_finalize_lost,
    "Open MPI 5's launcher did not end after an abort": is_abort_lost,
    "Open MPI 5's launcher could not start its listener": is_listener_lost,
    "MPICH 4 lost a neighbour's data": is_neighbor_lost,
}


@dataclass
class RunAgain:
    """What this process has run once more, `most` jobs at most."""

    most: int = 6
    counts: Counter[str] = field(default_factory=Counter)

    def is_due(self, mpi: Mpi, result: job.Result) -> bool:
        """Whether a job is to be run once more, which counts."""
        fault = next((name for name, is_it in FAULTS.items() if is_it(mpi, result)), None)
        if fault is None or self.counts.total() >= self.most:
            return False
        self.counts[fault] += 1
        return True


OF_THIS_PROCESS = RunAgain()


def text(counts: Mapping[str, int]) -> str:
    """One line on what was run once more."""
    if not counts:
        return "no job was run once more"
    each = "; ".join(f"{name}: {count}" for name, count in sorted(counts.items()))
    return f"{sum(counts.values())} jobs were run once more ({each})"
