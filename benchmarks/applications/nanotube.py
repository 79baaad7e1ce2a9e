# SPDX-License-Identifier: BSD-3-Clause
"""Heat in a tube of atoms that springs hold together: each step gathers all atoms' records (MPI_Allgatherv).

    mpirun -n 8 python nanotube.py [STEPS [ATOMS]]

ATOMS for a rank in the mean: ranks with odd numbers have five for three of the others. A record is 160 bytes: place and five
derivatives (Gear's predictor and corrector), energy and axial flux of heat. Exits with 1 where the energy is not kept.
"""

from __future__ import annotations

import sys

import numpy as np
from mpi4py import MPI

AROUND = 20  # atoms of a ring
SPACING = 1.0
TIME_STEP = 0.02
RECORD = 20  # numbers of an atom
ORDERS = 6  # the place and its derivatives, scaled by powers of the time step over factorials
CORRECTED = np.array([3 / 16, 251 / 360, 1, 11 / 18, 1 / 6, 1 / 60])
# What one derivative contributes to those below it.
PREDICTED = np.array(
    [
        [1, 1, 1, 1, 1, 1],
        [0, 1, 2, 3, 4, 5],
        [0, 0, 1, 3, 6, 10],
        [0, 0, 0, 1, 4, 10],
        [0, 0, 0, 0, 1, 5],
        [0, 0, 0, 0, 0, 1],
    ]
)
TOLERATED = 2e-3


class Tube:
    """The atoms of this rank, and what all have told."""

    def __init__(self, comm: MPI.Comm, atoms: int) -> None:
        self.comm = comm
        weights = np.array([3 if rank % 2 == 0 else 5 for rank in range(comm.size)])
        self.atoms = atoms * comm.size // AROUND * AROUND
        ends = np.concatenate([[0], np.cumsum(weights) * self.atoms // weights.sum()])
        self.counts, self.places = np.diff(ends) * RECORD, ends[:-1] * RECORD
        self.own = np.arange(ends[comm.rank], ends[comm.rank + 1])
        self.length = self.atoms // AROUND * SPACING
        angle = 2 * np.pi * (np.arange(self.atoms) % AROUND) / AROUND
        radius = SPACING / (2 * np.sin(np.pi / AROUND))
        self.rest = np.stack(
            [radius * np.cos(angle), radius * np.sin(angle), np.arange(self.atoms) // AROUND * SPACING],
            axis=1,
        )
        self.find_neighbours()
        self.derivatives = np.zeros((ORDERS, len(self.own), 3))
        self.derivatives[0] = self.rest[self.own]
        start = np.random.default_rng(1).normal(scale=0.05, size=(self.atoms, 3))
        self.derivatives[1] = start[self.own] * TIME_STEP
        self.all = np.empty((self.atoms, RECORD))
        self.tell(np.zeros(len(self.own)))
        self.correct(is_first=True)

    def find_neighbours(self) -> None:
        """Along the axis, around it, and on the diagonals, which keep the tube from shearing."""
        ring, place = np.divmod(self.own, AROUND)
        steps = [(up, turn) for up in (-1, 0, 1) for turn in (-1, 0, 1) if (up, turn) != (0, 0)]
        rings = self.atoms // AROUND
        self.neighbours = np.stack(
            [(ring + up) % rings * AROUND + (place + turn) % AROUND for up, turn in steps], axis=1
        )
        self.lengths = np.linalg.norm(self.between(self.rest[self.own], self.rest), axis=-1)

    def between(self, own: np.ndarray, places: np.ndarray) -> np.ndarray:
        difference = places[self.neighbours] - own[:, None]
        difference[..., 2] -= self.length * np.round(difference[..., 2] / self.length)
        return difference

    def tell(self, potential: np.ndarray) -> None:
        """Everyone's records to all."""
        records = np.empty((len(self.own), RECORD))
        records[:, : 3 * ORDERS] = self.derivatives.transpose(1, 0, 2).reshape(len(self.own), -1)
        speeds = self.derivatives[1] / TIME_STEP
        records[:, 18] = potential + 0.5 * (speeds**2).sum(axis=1)
        records[:, 19] = records[:, 18] * speeds[:, 2]
        self.comm.Allgatherv(records, [self.all, self.counts, self.places, MPI.DOUBLE])

    def correct(self, is_first: bool = False) -> np.ndarray:
        """By the forces of what was told; the own atoms' potential energy."""
        between = self.between(self.all[self.own, :3], self.all[:, :3])
        length = np.linalg.norm(between, axis=-1)
        stretch = length - self.lengths
        forces = (stretch / length)[..., None] * between
        acceleration = 0.5 * TIME_STEP**2 * forces.sum(axis=1)
        error = acceleration - self.derivatives[2]
        if is_first:
            self.derivatives[2] = acceleration
        else:
            self.derivatives += CORRECTED[:, None, None] * error
        return 0.25 * (stretch**2).sum(axis=1)  # half of each spring's

    def step(self, potential: np.ndarray) -> np.ndarray:
        self.derivatives = np.tensordot(PREDICTED, self.derivatives, axes=1)
        self.tell(potential)
        return self.correct()

    def energy(self) -> float:
        """Of all, at the places that all have now."""
        self.tell(np.zeros(len(self.own)))
        between = self.between(self.all[self.own, :3], self.all[:, :3])
        stretch = np.linalg.norm(between, axis=-1) - self.lengths
        speeds = self.derivatives[1] / TIME_STEP
        return float(self.comm.allreduce(0.25 * (stretch**2).sum() + 0.5 * (speeds**2).sum()))


def main() -> int:
    comm = MPI.COMM_WORLD
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    tube = Tube(comm, int(sys.argv[2]) if len(sys.argv) > 2 else 1600)
    before = tube.energy()
    potential = np.zeros(len(tube.own))
    for _ in range(steps):
        potential = tube.step(potential)
    drift = abs(tube.energy() - before) / before
    if comm.rank == 0:
        print(f"energy drifts by {drift:.1e}")
    return 0 if drift < TOLERATED else 1


if __name__ == "__main__":
    sys.exit(main())
