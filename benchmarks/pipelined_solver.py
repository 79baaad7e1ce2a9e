# SPDX-License-Identifier: BSD-3-Clause
"""One job of benchmarks/pipelined_solvers.py: PETSc solves Poisson's equation; prints seconds an iteration.

    pipelined_solver.py METHOD POINTS ITERATIONS SOLVES THREADS

METHOD is one of KSP's, as cg or pipecg. POINTS are the rows and columns of each rank's square of the grid.
THREADS is the level that the MPI is asked for, `single` or `multiple`.
"""

from __future__ import annotations

import statistics
import sys
import time

import mpi4py

method, points, iterations, solves, threads = sys.argv[1], *map(int, sys.argv[2:5]), sys.argv[5]
mpi4py.rc.thread_level = threads
from mpi4py import MPI  # noqa: E402
from petsc4py import PETSc  # noqa: E402

ranks = MPI.COMM_WORLD.Get_size()
grid = PETSc.DMDA().create(
    [points, points * ranks], proc_sizes=[1, ranks], stencil_width=1, stencil_type="star"
)
matrix = grid.createMatrix()
(x_begin, x_end), (y_begin, y_end) = grid.getRanges()
row, column = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
for y in range(y_begin, y_end):
    for x in range(x_begin, x_end):
        row.index = (x, y)
        for at, value in (
            ((x, y), 4.0),
            ((x - 1, y), -1.0),
            ((x + 1, y), -1.0),
            ((x, y - 1), -1.0),
            ((x, y + 1), -1.0),
        ):
            if 0 <= at[0] < points and 0 <= at[1] < points * ranks:
                column.index = at
                matrix.setValueStencil(row, column, value)
matrix.assemble()
right, solution = matrix.createVecs()
right.set(1.0)
solver = PETSc.KSP().create()
solver.setOperators(matrix)
solver.setType(method)
solver.getPC().setType("jacobi")
solver.setTolerances(rtol=1e-30, atol=1e-300, max_it=iterations)
solver.solve(right, solution)
times = []
for _ in range(solves):
    solution.set(0.0)
    MPI.COMM_WORLD.Barrier()
    begin = time.perf_counter()
    solver.solve(right, solution)
    times.append(MPI.COMM_WORLD.allreduce(time.perf_counter() - begin, MPI.MAX))
left = solver.getResidualNorm()
if MPI.COMM_WORLD.Get_rank() == 0:
    print(statistics.median(times) / solver.getIterationNumber(), left, solver.getIterationNumber())
