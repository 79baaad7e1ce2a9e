# SPDX-License-Identifier: BSD-3-Clause
"""Collectives through mpi4py: arrays, Python objects, in place, derived datatypes, user operators. Prints OK."""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

world = MPI.COMM_WORLD
rank, size = world.Get_rank(), world.Get_size()


def check_arrays(comm: MPI.Comm, count: int) -> None:
    rank, size = comm.Get_rank(), comm.Get_size()
    root = size - 1
    own = np.arange(count, dtype="d") + rank
    total = np.arange(count, dtype="d") * size + size * (size - 1) / 2
    result = np.empty(count, dtype="d")
    comm.Barrier()
    comm.Allreduce(own, result, op=MPI.SUM)
    assert (result == total).all()
    result[:] = own
    comm.Allreduce(MPI.IN_PLACE, result, op=MPI.MAX)
    assert (result == np.arange(count) + size - 1).all()
    comm.Reduce(own, result if rank == root else None, op=MPI.SUM, root=root)
    assert rank != root or (result == total).all()
    message = own.copy() if rank == root else np.zeros(count, dtype="d")
    comm.Bcast(message, root=root)
    assert (message == np.arange(count) + root).all()
    table = np.empty((size, count), dtype="d")
    expected = np.arange(count) + np.arange(size)[:, None]
    comm.Allgather(own, table)
    assert (table == expected).all()
    comm.Gather(own, table if rank == root else None, root=root)
    assert rank != root or (table == expected).all()
    comm.Scatter(expected.astype("d") if rank == root else None, result, root=root)
    assert (result == own).all()
    comm.Alltoall(expected.astype("d") + 1000 * rank, table)
    assert (table == np.arange(count) + rank + 1000 * np.arange(size)[:, None]).all()


def check_objects() -> None:
    assert world.bcast({"from": rank} if rank == 0 else None, root=0) == {"from": 0}
    assert world.allgather(("rank", rank)) == [("rank", other) for other in range(size)]
    assert world.allreduce([rank]) == list(range(size))
    gathered = world.gather("x" * rank, root=0)
    assert rank != 0 or gathered == ["x" * other for other in range(size)]
    assert world.scatter([10 * other for other in range(size)] if rank == 0 else None, root=0) == 10 * rank
    assert world.alltoall([(rank, other) for other in range(size)]) == [
        (other, rank) for other in range(size)
    ]


def check_neighbors() -> None:
    """With the ranks below and above on a line, often enough that more than the first calls, which are the MPI's, are seen."""
    line = world.Create_cart([size], periods=[False])
    there = np.array([rank > 0, rank < size - 1])
    beside = np.array([rank - 1, rank + 1])
    own, pair = np.array([rank]), np.array([10 * rank, 10 * rank + 1])
    arrived = 10 * beside + [1, 0]
    for _ in range(4):
        taken = np.full(2, -1)
        line.Neighbor_allgather(own, taken)
        assert (taken == np.where(there, beside, -1)).all()
        taken[:] = -1
        line.Neighbor_allgatherv(own, [taken, [1, 1], [0, 1], MPI.INT64_T])
        assert (taken == np.where(there, beside, -1)).all()
        taken[:] = -1
        line.Neighbor_alltoall(pair, taken)
        assert (taken == np.where(there, arrived, -1)).all()
        taken[:] = -1
        line.Neighbor_alltoallv([pair, [1, 1], [0, 1], MPI.INT64_T], [taken, [1, 1], [0, 1], MPI.INT64_T])
        assert (taken == np.where(there, arrived, -1)).all()
        taken[:] = -1
        side = ([1, 1], [0, 8], [MPI.INT64_T] * 2)
        line.Neighbor_alltoallw([pair, *side], [taken, *side])
        assert (taken == np.where(there, arrived, -1)).all()
        taken[:] = -1
        line.Ineighbor_alltoall(pair, taken).Wait()
        assert (taken == np.where(there, arrived, -1)).all()
    assert line.neighbor_allgather(rank) == [int(other) if 0 <= other < size else None for other in beside]
    line.Free()


def check_column() -> None:
    column = MPI.DOUBLE.Create_vector(4, 1, 5).Commit()
    matrix = np.full((4, 5), -1.0)
    if rank == 0:
        matrix[:, 0] = [1, 2, 3, 4]
    world.Bcast([matrix, 1, column], root=0)
    assert (matrix[:, 0] == [1, 2, 3, 4]).all()
    assert (matrix[:, 1:] == -1).all()
    column.Free()


def check_operator() -> None:
    # Concatenation of digits is associative and not commutative.
    def join(left: memoryview, right: memoryview, _: MPI.Datatype) -> None:
        first, second = np.frombuffer(left, dtype="i8"), np.frombuffer(right, dtype="i8")
        digits = np.array([len(str(value)) for value in second])
        second[:] = first * 10**digits + second

    operator = MPI.Op.Create(join, commute=False)
    own, result = np.array([rank + 1], dtype="i8"), np.empty(1, dtype="i8")
    world.Allreduce(own, result, op=operator)
    assert str(result[0]) == "".join(str(other + 1) for other in range(size))
    operator.Free()


for length in (1, 7, 1000, 50000):
    check_arrays(world, length)
half = world.Split(rank % 2, -rank)
check_arrays(half, 100)
half.Free()
check_objects()
check_neighbors()
check_column()
check_operator()
world.Barrier()
if rank == 0:
    print("OK", flush=True)
