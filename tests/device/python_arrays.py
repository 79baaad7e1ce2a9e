# SPDX-License-Identifier: BSD-3-Clause
"""Collectives with arrays of Python's: CuPy's, PyTorch's on a GPU, or NumPy's with the GPU's driver loaded or not.

python_arrays.py cupy|torch|loaded|none
"""

from __future__ import annotations

import ctypes
import sys
from typing import Any

import numpy as np
from mpi4py import MPI


class Arrays:
    """Makes arrays and reads them."""

    def __init__(self, where: str) -> None:
        self.where = where
        if where == "cupy":
            import cupy

            self.module = cupy
        elif where == "torch":
            import torch

            self.module = torch
        elif where == "loaded":
            ctypes.CDLL("libcuda.so.1")

    def make(self, values: np.ndarray) -> Any:
        if self.where == "cupy":
            return self.module.asarray(values)
        if self.where == "torch":
            return self.module.from_numpy(values).cuda()
        return values.copy()

    def ready(self) -> None:
        """All that was begun on the GPU is over, as MPI demands."""
        if self.where == "cupy":
            self.module.cuda.get_current_stream().synchronize()
        if self.where == "torch":
            self.module.cuda.synchronize()

    def read(self, array: Any) -> np.ndarray:
        if self.where == "cupy":
            return self.module.asnumpy(array)
        return array.cpu().numpy() if self.where == "torch" else array


def main() -> None:
    world = MPI.COMM_WORLD
    rank, size = world.rank, world.size
    arrays = Arrays(sys.argv[1])
    ring = world.Create_cart([size], [True])
    below, above = (rank - 1) % size, (rank + 1) % size
    for turn, elements in enumerate([1, 1000, 250_000] * 3):
        own = np.arange(elements * size, dtype=np.float32) % 1000 + rank + turn
        rows = [np.arange(elements * size, dtype=np.float32) % 1000 + other + turn for other in range(size)]
        given, taken = arrays.make(own), arrays.make(np.zeros_like(own))
        given *= 2  # by a kernel, just before the call
        arrays.ready()
        world.Allreduce(given, taken)
        assert np.array_equal(arrays.read(taken), 2 * sum(rows)), "allreduce"
        world.Alltoall(given, taken)
        blocks = [2 * row.reshape(size, elements)[rank] for row in rows]
        assert np.array_equal(arrays.read(taken), np.concatenate(blocks)), "alltoall"
        request = world.Ibcast(taken, root=turn % size)
        request.Wait()
        expected = [2 * row.reshape(size, elements)[turn % size] for row in rows]
        assert np.array_equal(arrays.read(taken), np.concatenate(expected)), "bcast"
        two = arrays.make(np.zeros(2 * elements, dtype=np.float32))
        arrays.ready()
        ring.Neighbor_alltoall(given[: 2 * elements], two)
        wanted = [2 * rows[below][elements : 2 * elements], 2 * rows[above][:elements]]
        assert size < 3 or np.array_equal(arrays.read(two), np.concatenate(wanted)), "neighbor_alltoall"
        in_place = arrays.make(own)
        arrays.ready()
        world.Allreduce(MPI.IN_PLACE, in_place, op=MPI.MAX)
        assert np.array_equal(arrays.read(in_place), rows[-1]), "allreduce in place"
    if world.reduce(1) == size:
        print(f"RIGHT {size}", flush=True)


if __name__ == "__main__":
    main()
