# SPDX-License-Identifier: BSD-3-Clause
"""Conjugate gradients for a matrix whose rows are dealt out unevenly: each step gathers a vector (MPI_Allgatherv).

    mpirun -n 8 python conjugate_gradient.py [UNKNOWNS [SOLVES]]

The matrix has 4 on the diagonal and -1 beside it and at a distance. Exits with 1 where the residual is not what it must be.
"""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI

DISTANCE = 100
STEPS = 50
TOLERATED = 1e-8


class Rows:
    """The rows of one rank: the second half of the ranks has twice as many each as the first."""

    def __init__(self, comm: MPI.Comm, unknowns: int) -> None:
        self.comm = comm
        weights = np.array([1 if rank < comm.size // 2 else 2 for rank in range(comm.size)])
        ends = np.concatenate([[0], np.cumsum(weights) * unknowns // weights.sum()])
        self.counts = np.diff(ends)
        self.places = ends[:-1]
        self.first, self.last = int(ends[comm.rank]), int(ends[comm.rank + 1])
        self._whole = np.zeros(unknowns + 2 * DISTANCE)  # with zeros beyond both ends

    def product(self, vector: np.ndarray) -> np.ndarray:
        """The rank's part of the matrix times the vector of which it has a part."""
        inner = self._whole[DISTANCE:-DISTANCE]
        self.comm.Allgatherv(vector, [inner, self.counts, self.places, MPI.DOUBLE])

        def shifted(by: int) -> np.ndarray:
            return self._whole[DISTANCE + self.first + by : DISTANCE + self.last + by]

        return 4.01 * vector - shifted(-1) - shifted(1) - shifted(-DISTANCE) - shifted(DISTANCE)

    def dot(self, a: np.ndarray, b: np.ndarray) -> float:
        total = np.empty(1)
        self.comm.Allreduce(np.array([a @ b]), total)
        return float(total[0])


def solve(rows: Rows, right: np.ndarray) -> float:
    """The residual's norm after STEPS steps, over the right side's."""
    solution = np.zeros_like(right)
    residual = right.copy()
    direction = residual.copy()
    square = rows.dot(residual, residual)
    for _ in range(STEPS):
        product = rows.product(direction)
        length = square / rows.dot(direction, product)
        solution += length * direction
        residual -= length * product
        before, square = square, rows.dot(residual, residual)
        direction = residual + square / before * direction
    true = right - rows.product(solution)
    return float(np.sqrt(rows.dot(true - residual, true - residual) / rows.dot(right, right)))


def main() -> int:
    comm = MPI.COMM_WORLD
    unknowns = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    solves = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    rows = Rows(comm, unknowns)
    right = np.sin(np.arange(rows.first, rows.last) * 0.01)
    error = max(solve(rows, right) for _ in range(solves))
    if comm.rank == 0:
        print(f"recurrence and true residual differ by {error:.2e}")
    return 0 if error < TOLERATED else 1


if __name__ == "__main__":
    sys.exit(main())
