# SPDX-License-Identifier: BSD-3-Clause
"""Free Schrödinger equation on a periodic square, by two-dimensional FFTs on slabs: transposes are MPI_Alltoall.

    mpirun -n 8 python fft.py [POINTS [STEPS]]

POINTS along a side, a multiple of the number of ranks. Exits with 1 where the norm is not kept or a plane wave does not turn as
it must.
"""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI

TIME_STEP = 1e-4
TOLERATED = 1e-9


def transposed(comm: MPI.Comm, slab: np.ndarray) -> np.ndarray:
    """The rank's rows of the transposed matrix, of which `slab` holds rows."""
    rows = slab.shape[0]
    blocks = np.ascontiguousarray(slab.reshape(rows, comm.size, rows).transpose(1, 2, 0))
    received = np.empty_like(blocks)
    comm.Alltoall(blocks, received)
    return np.ascontiguousarray(received.transpose(1, 0, 2)).reshape(rows, rows * comm.size)


def main() -> int:
    comm = MPI.COMM_WORLD
    points = int(sys.argv[1]) if len(sys.argv) > 1 else 256
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    if points % comm.size:
        raise SystemExit(f"{points} points do not divide among {comm.size} ranks")
    rows = points // comm.size
    own = np.arange(comm.rank * rows, (comm.rank + 1) * rows)
    wave = np.fft.fftfreq(points, 1 / points)
    x = 2 * np.pi * np.arange(points) / points
    psi = np.exp(1j * (3 * x[own][:, None] + 5 * x[None, :]))  # a plane wave
    # In the transposed order, in which a step ends in the other direction.
    turn = np.exp(-0.5j * TIME_STEP * (wave[own][:, None] ** 2 + wave[None, :] ** 2))
    start = psi.copy()
    for _ in range(steps):
        spectrum = np.fft.fft(transposed(comm, np.fft.fft(psi, axis=1)), axis=1)
        psi = np.fft.ifft(transposed(comm, np.fft.ifft(spectrum * turn, axis=1)), axis=1)
    expected = start * np.exp(-0.5j * TIME_STEP * steps * (3**2 + 5**2))
    error = comm.allreduce(float(np.abs(psi - expected).max()), MPI.MAX)
    if comm.rank == 0:
        print(f"largest error {error:.2e}")
    return 0 if error < TOLERATED * steps else 1


if __name__ == "__main__":
    sys.exit(main())
