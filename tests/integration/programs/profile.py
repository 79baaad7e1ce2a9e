# SPDX-License-Identifier: BSD-3-Clause
"""Known calls of two ranks through mpi4py."""

from __future__ import annotations

import array

from mpi4py import MPI

world = MPI.COMM_WORLD
words = array.array("i", [world.rank] * 100)
if world.rank == 0:
    for _ in range(5):
        world.Send([words, MPI.INT], dest=1)
else:
    for _ in range(5):
        world.Recv([words, MPI.INT], source=0)
one, total = array.array("d", [1]), array.array("d", [0])
for _ in range(3):
    world.Allreduce([one, MPI.DOUBLE], [total, MPI.DOUBLE])
if world.rank == 0:
    print("OK")
