#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Lets a field spread on a periodic square grid: a halo exchange, in Python with mpi4py.

Each rank has a square block of cells. Before each step the outermost cells of neighbouring blocks are exchanged by
MPI_Neighbor_alltoall on a Cartesian communicator, or by MPI_Ineighbor_alltoall while the inner cells are computed.
Rank 0 compares the result with the same steps by numpy.roll.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

Field = npt.NDArray[np.float64]
SPREADING = 0.125
EXIT_WRONG = 1


def sides_of(text: str) -> tuple[int, int]:
    rows, cross, columns = text.partition("x")
    if not (cross and rows.isdecimal() and columns.isdecimal() and int(rows) > 0 < int(columns)):
        raise argparse.ArgumentTypeError(f"'{text}' is not rows and columns of processes, as in 3x4")
    return int(rows), int(columns)


def fitting_grid(ranks: int) -> tuple[int, int]:
    """As square as it gets without a side of 2: there both neighbours are one process, and some MPIs mix up what it sends."""
    pairs = [
        (ranks // side, side) for side in range(1, ranks + 1) if ranks % side == 0 and side * side <= ranks
    ]
    return max((pair for pair in pairs if 2 not in pair), key=lambda pair: pair[1], default=pairs[0])


def agreed_options(comm: MPI.Intracomm) -> argparse.Namespace:
    """Rank 0 reads the command line; where that makes no sense all ranks end with its status."""
    options, status = None, 0
    if comm.rank == 0:
        parser = argparse.ArgumentParser(
            prog="halo",
            description=__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog="exit code: 0 all cells are right, 1 one is wrong, 2 wrong usage",
        )
        parser.add_argument("--grid", type=sides_of, metavar="RxC", help="processes in rows and columns")
        parser.add_argument("--cells", type=int, default=32, help="along each side of a block (32)")
        parser.add_argument("--steps", type=int, default=50, help="(50)")
        parser.add_argument(
            "--call", choices=["blocking", "nonblocking"], default="blocking", help="(blocking)"
        )
        parser.add_argument("--times", action="store_true", help="also print how long a step took")
        try:
            options = parser.parse_args()
            options.grid = options.grid or fitting_grid(comm.size)
            rows, columns = options.grid
            if rows * columns != comm.size:
                parser.error(
                    f"--grid: {rows}x{columns} is {rows * columns} processes, and there are {comm.size}"
                )
            if options.cells < 2 or options.steps < 1:
                parser.error("--cells must be 2 or more, and --steps 1 or more")
        except SystemExit as ended:
            options, status = None, int(ended.code or 0)
    options, status = comm.bcast((options, status))
    if options is None:
        sys.exit(status)
    return options


class Halo:
    """A block with a border of one cell, which each exchange fills.

    A dimension with one process needs no message: there the block is its own neighbour.
    """

    def __init__(self, comm: MPI.Intracomm, grid: tuple[int, int], cells: int, is_blocking: bool) -> None:
        self._is_blocking = is_blocking
        self._split = [d for d in (0, 1) if grid[d] > 1]
        sides = [grid[d] for d in self._split]
        self._cart = comm.Create_cart(sides, periods=[True] * len(sides)) if sides else None
        self.block = np.zeros((cells + 2, cells + 2))
        self._out = np.empty((2 * len(sides), cells))
        self._in = np.empty_like(self._out)
        self._request: MPI.Request | None = None

    def _along(self, dimension: int, place: int) -> Field:
        """A line of cells across the dimension, without its ends."""
        return self.block[place, 1:-1] if dimension == 0 else self.block[1:-1, place]

    def start(self) -> None:
        """Blocks go out in the order of the topology: of each dimension to the one before and to the one behind."""
        for number, dimension in enumerate(self._split):
            self._out[2 * number] = self._along(dimension, 1)
            self._out[2 * number + 1] = self._along(dimension, -2)
        if self._cart is None:
            return
        if self._is_blocking:
            self._cart.Neighbor_alltoall(self._out, self._in)
        else:
            self._request = self._cart.Ineighbor_alltoall(self._out, self._in)

    def finish(self) -> None:
        if self._request is not None:
            self._request.Wait()
        for dimension in {0, 1} - set(self._split):
            self._along(dimension, 0)[:] = self._along(dimension, -2)
            self._along(dimension, -1)[:] = self._along(dimension, 1)
        for number, dimension in enumerate(self._split):
            self._along(dimension, 0)[:] = self._in[2 * number]
            self._along(dimension, -1)[:] = self._in[2 * number + 1]

    def free(self) -> None:
        if self._cart is not None:
            self._cart.Free()


def spread(block: Field, to: Field, rows: slice, columns: slice) -> None:
    """Computes these cells of the next step, from a block with its border."""

    def moved(down: int, right: int) -> Field:
        return block[
            rows.start + down : rows.stop + down,
            columns.start + right : columns.stop + right,
        ]

    here = moved(0, 0)
    around = moved(-1, 0) + moved(1, 0) + moved(0, -1) + moved(0, 1)
    to[rows, columns] = here + SPREADING * (around - 4.0 * here)


def spread_by_roll(field: Field, steps: int) -> Field:
    for _ in range(steps):
        around = np.roll(field, 1, axis=0) + np.roll(field, -1, axis=0)
        around = around + np.roll(field, 1, axis=1) + np.roll(field, -1, axis=1)
        field = field + SPREADING * (around - 4.0 * field)
    return field


def step(halo: Halo, following: Field, cells: int) -> None:
    """Inner cells need no border: they are computed while it is on its way."""
    halo.start()
    spread(halo.block, following, slice(2, cells), slice(2, cells))
    halo.finish()
    spread(halo.block, following, slice(1, 2), slice(1, cells + 1))
    spread(halo.block, following, slice(cells, cells + 1), slice(1, cells + 1))
    spread(halo.block, following, slice(2, cells), slice(1, 2))
    spread(halo.block, following, slice(2, cells), slice(cells, cells + 1))
    halo.block[1:-1, 1:-1] = following[1:-1, 1:-1]


def blocks_of(field: Field, grid: tuple[int, int], cells: int) -> list[Field]:
    """In the order of ranks."""
    rows, columns = grid
    parts = field.reshape(rows, cells, columns, cells).swapaxes(1, 2)
    return [np.ascontiguousarray(part) for part in parts.reshape(rows * columns, cells, cells)]


def check(options: argparse.Namespace, first: Field, parts: list[Field]) -> int:
    """Rank 0 prints the result, and how many cells are wrong if any are."""
    rows, columns = options.grid
    expected = blocks_of(spread_by_roll(first, options.steps), options.grid, options.cells)
    wrong = sum(np.count_nonzero(part != right) for part, right in zip(parts, expected, strict=True))
    found = np.concatenate(parts)
    print(f"halo: {rows}x{columns} blocks of {options.cells} x {options.cells} cells, {options.steps} steps")
    print(f"from {found.min():.12f} to {found.max():.12f}, {found.mean():.12f} on the average")
    if wrong:
        print(f"halo: {wrong} cells are wrong", file=sys.stderr)
    if wrong and 2 in options.grid:
        print(
            "halo: with 2 processes in a direction both neighbours are one process, and some MPIs mix up what it sends",
            file=sys.stderr,
        )
    return wrong


def main() -> int:
    comm = MPI.COMM_WORLD
    options = agreed_options(comm)
    rows, columns = options.grid
    first = np.random.default_rng(1).random((rows * options.cells, columns * options.cells))
    halo = Halo(comm, options.grid, options.cells, options.call == "blocking")
    halo.block[1:-1, 1:-1] = blocks_of(first, options.grid, options.cells)[comm.rank]
    following = np.empty_like(halo.block)
    comm.Barrier()
    begin = MPI.Wtime()
    for _ in range(options.steps):
        step(halo, following, options.cells)
    seconds = comm.allreduce(MPI.Wtime() - begin, MPI.MAX)
    halo.free()
    parts = comm.gather(halo.block[1:-1, 1:-1].copy())
    wrong = check(options, first, parts) if comm.rank == 0 else 0
    if comm.rank == 0 and options.times:
        print(f"{seconds * 1e6 / options.steps:.1f} us a step")
    return EXIT_WRONG if comm.bcast(wrong) else 0


if __name__ == "__main__":
    sys.exit(main())
