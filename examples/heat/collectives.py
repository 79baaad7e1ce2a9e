# SPDX-License-Identifier: BSD-3-Clause
"""The collectives that the solver uses, each timed by the program itself with MPI's own clock."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray


@dataclass
class OperationTime:
    operation: str
    purpose: str
    calls: int = 0
    bytes_per_call: int = 0  # what one rank contributes at most
    time_s: float = 0.0


class Collectives:
    """A communicator whose collectives are timed; a time includes the wait for ranks that arrive later."""

    def __init__(self, comm: MPI.Comm) -> None:
        self.comm = comm
        self.rank = comm.Get_rank()
        self.size = comm.Get_size()
        self._times: dict[tuple[str, str], OperationTime] = {}

    def _record(self, operation: str, purpose: str, size_bytes: int, start_s: float) -> None:
        end_s = MPI.Wtime()
        time = self._times.setdefault((operation, purpose), OperationTime(operation, purpose))
        time.calls += 1
        time.bytes_per_call = max(time.bytes_per_call, size_bytes)
        time.time_s += end_s - start_s

    def sum(self, values: NDArray[np.float64], purpose: str) -> None:
        """Sum over ranks, in place."""
        start_s = MPI.Wtime()
        self.comm.Allreduce(MPI.IN_PLACE, values, MPI.SUM)
        self._record("allreduce", purpose, values.nbytes, start_s)

    def largest(self, value: float, purpose: str) -> float:
        result = np.array([value])
        start_s = MPI.Wtime()
        self.comm.Allreduce(MPI.IN_PLACE, result, MPI.MAX)
        self._record("allreduce", purpose, result.nbytes, start_s)
        return float(result[0])

    def exchange(self, blocks: NDArray[Any], received: NDArray[Any], purpose: str) -> None:
        """Block i of `blocks` goes to rank i; block i of `received` comes from rank i."""
        start_s = MPI.Wtime()
        self.comm.Alltoall(blocks, received)
        self._record("alltoall", purpose, blocks.nbytes, start_s)

    def collect(self, own: NDArray[Any], purpose: str) -> NDArray[Any] | None:
        """All ranks' equally long parts, on rank 0; nothing elsewhere."""
        parts = np.empty((self.size, *own.shape), own.dtype) if self.rank == 0 else None
        start_s = MPI.Wtime()
        self.comm.Gather(own, parts, root=0)
        self._record("gather", purpose, own.nbytes, start_s)
        return parts

    def longest_times(self) -> tuple[float, list[dict[str, Any]]]:
        """The time in all collectives of the rank where it was longest, and the same for each operation.

        Not timed: it is about the timing.
        """
        operations = list(self._times.values())
        times_s = np.array([sum(time.time_s for time in operations), *(time.time_s for time in operations)])
        self.comm.Allreduce(MPI.IN_PLACE, times_s, MPI.MAX)
        rows = [
            {**asdict(time), "time_s": float(longest)}
            for time, longest in zip(operations, times_s[1:], strict=True)
        ]
        return float(times_s[0]), rows
