#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Finds clusters among points that are spread over all ranks: k-means, in Python with mpi4py.

Each iteration adds up the points of each cluster over all ranks (MPI_Allreduce), in a region that Unisono learns apart from the
rest where it learns. Coordinates are whole numbers, so that sums are exact in every order. Ends with 1 where the clusters are not
those that the points were made around.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
import numpy.typing as npt
from mpi4py import MPI
from unisono import region

SCALE = 1000  # coordinates of the clusters are multiples of it
Points = npt.NDArray[np.int64]


def agreed_options(comm: MPI.Intracomm) -> argparse.Namespace:
    """Rank 0 reads the command line; where that makes no sense all ranks end with its status."""
    options, status = None, 0
    if comm.rank == 0:
        parser = argparse.ArgumentParser(prog="clusters", description=__doc__)
        parser.add_argument("--points", type=int, default=20000, help="of each rank (20000)")
        parser.add_argument("--clusters", type=int, default=8, help="from 1 to 50 (8)")
        parser.add_argument("--seed", type=int, default=1, help="other points (1)")
        try:
            options = parser.parse_args()
            if not 1 <= options.clusters <= min(50, options.points):
                parser.error("--clusters: from 1 to 50, and not more than points")
        except SystemExit as ended:
            options, status = None, int(ended.code or 0)
    options, status = comm.bcast((options, status))
    if options is None:
        sys.exit(status)
    return options


def made_points(options: argparse.Namespace, rank: int) -> tuple[Points, Points]:
    """Where the clusters are, and this rank's points around them."""
    places = np.random.default_rng(options.seed).permutation(100)[: options.clusters]
    centres = np.stack([places % 10, places // 10], axis=1).astype(np.int64) * SCALE
    random = np.random.default_rng([options.seed, rank])
    near = random.integers(-SCALE * 9 // 20, SCALE * 9 // 20, size=(options.points, 2), endpoint=True)
    return centres, centres[random.integers(0, options.clusters, options.points)] + near


def nearest(points: Points, centres: Points) -> npt.NDArray[np.intp]:
    distances = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
    return distances.argmin(axis=1)


def first_centres(comm: MPI.Intracomm, points: Points, count: int) -> Points:
    """Points of rank 0 that are far from each other: each next one is furthest from those before."""
    centres = np.empty((count, 2), dtype=np.int64)
    if comm.rank == 0:
        centres[0] = points[0]
        for number in range(1, count):
            distances = ((points[:, None, :] - centres[None, :number, :]) ** 2).sum(axis=2).min(axis=1)
            centres[number] = points[distances.argmax()]
    comm.Bcast(centres)
    return centres


def moved(comm: MPI.Intracomm, points: Points, centres: Points) -> Points:
    """The middle of the points that are nearest to each centre, over all ranks."""
    own = nearest(points, centres)
    sums = np.zeros((len(centres), 3), dtype=np.int64)
    np.add.at(sums, own, np.column_stack([points, np.ones(len(points), dtype=np.int64)]))
    with region("centres"):
        comm.Allreduce(MPI.IN_PLACE, sums)
    counts = np.maximum(sums[:, 2:], 1)
    return np.where(sums[:, 2:] > 0, sums[:, :2] // counts, centres)


def main() -> int:
    comm = MPI.COMM_WORLD
    options = agreed_options(comm)
    made_around, points = made_points(options, comm.rank)
    centres = first_centres(comm, points, options.clusters)
    iterations = 0
    while iterations < 100:
        iterations += 1
        before, centres = centres, moved(comm, points, centres)
        if np.array_equal(before, centres):
            break
    centres = centres[np.lexsort((centres[:, 1], centres[:, 0]))]
    if comm.rank == 0:
        found = " ".join(f"{x},{y}" for x, y in centres)
        print(f"clusters: {iterations} iterations, {comm.size * options.points} points around {found}")
    # Of each cluster there are many points, so that their middle is near to what they were made around.
    distances = abs(made_around[:, None, :] - centres[None, :, :]).max(axis=2).min(axis=1)
    if comm.rank == 0 and distances.max() >= SCALE // 5:
        print("clusters: not all clusters were found; another --seed has other points", file=sys.stderr)
    return 0 if distances.max() < SCALE // 5 else 1


if __name__ == "__main__":
    sys.exit(main())
