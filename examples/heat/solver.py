# SPDX-License-Identifier: BSD-3-Clause
"""Implicit heat conduction: finite volumes, Crank-Nicolson, conjugate gradients behind an FFT.

Rows of the grid are divided among the ranks. Each step solves one linear system by conjugate gradients, whose
dot products are MPI_Allreduce. The preconditioner is the exact inverse for the mean conductivity. A
two-dimensional Fourier transform makes it diagonal; its transposes between ranks are MPI_Alltoall.
Neighbouring rows come by point-to-point messages.
"""

from __future__ import annotations

import numpy as np
import problem
from collectives import Collectives
from numpy.typing import NDArray
from problem import Field

Spectrum = NDArray[np.complex128]


class Share:
    """The consecutive part of `total` items that each rank holds; sizes differ by one at most.

    `block` is the largest size. Where parts of all ranks lie padded to it one after the other, `slots` says
    where the items are.
    """

    def __init__(self, total: int, rank: int, ranks: int) -> None:
        self.total = total
        self.block = -(-total // ranks)
        bounds = [total * i // ranks for i in range(ranks + 1)]
        self.first, self.count = bounds[rank], bounds[rank + 1] - bounds[rank]
        self.slots: slice | NDArray[np.intp] = slice(0, total)
        if total % ranks != 0:
            parts = [i * self.block + np.arange(bounds[i + 1] - bounds[i]) for i in range(ranks)]
            self.slots = np.concatenate(parts)


class Transpose:
    """Turns a matrix that is divided by rows into its transpose, divided by rows too.

    Blocks are padded to equal size, so that any number of ranks can share any matrix with one MPI_Alltoall.
    """

    def __init__(self, collectives: Collectives, rows: Share, columns: Share) -> None:
        self._collectives = collectives
        self._rows, self._columns = rows, columns
        ranks = collectives.size
        self._padded = np.zeros((rows.block, ranks * columns.block), np.complex128)
        self._blocks = np.empty((ranks, rows.block, columns.block), np.complex128)
        self._received = np.empty_like(self._blocks)

    def __call__(self, matrix: Spectrum) -> Spectrum:
        rows, columns = self._rows, self._columns
        self._padded[: rows.count, columns.slots] = matrix
        shape = (rows.block, self._collectives.size, columns.block)
        np.copyto(self._blocks, self._padded.reshape(shape).transpose(1, 0, 2))
        self._collectives.exchange(self._blocks, self._received, "transpose")
        stacked = self._received.reshape(-1, columns.block)
        return np.ascontiguousarray(stacked[rows.slots, : columns.count].T)


class HeatSolver:
    """Temperature on a grid of `cells` x `cells`, advanced by steps of equal length."""

    def __init__(self, collectives: Collectives, cells: int, time_step: float, tolerance: float) -> None:
        self._collectives = collectives
        self._time_step, self._tolerance = time_step, tolerance
        self.width = problem.SIDE / cells
        self.rows = Share(cells, collectives.rank, collectives.size)
        self.columns = Share(cells // 2 + 1, collectives.rank, collectives.size)
        self._before = (collectives.rank - 1) % collectives.size
        self._after = (collectives.rank + 1) % collectives.size
        centres = (np.arange(cells) + 0.5) * self.width
        self.x = centres[self.rows.first : self.rows.first + self.rows.count, np.newaxis]
        self.y = centres[np.newaxis, :]
        scale = 1.0 / self.width**2
        half = 0.5 * self.width
        self._conductivity_x = scale * problem.conductivity(
            np.vstack([self.x - half, self.x[-1:] + half]), self.y
        )
        self._conductivity_y = scale * problem.conductivity(self.x, self.y + half)
        self._haloed = np.empty((self.rows.count + 2, cells))
        self._to_columns = Transpose(collectives, self.rows, self.columns)
        self._to_rows = Transpose(collectives, self.columns, self.rows)
        self._inverse = self._mean_inverse(cells)
        self.time = 0.0
        self.temperature = problem.temperature(0.0, self.x, self.y)
        self._source = problem.source(0.0, self.x, self.y)
        self._last_change = np.zeros_like(self.temperature)
        self.iterations = 0

    def _mean_inverse(self, cells: int) -> Field:
        """1 / eigenvalues of the step's matrix for the mean conductivity, transposed like the spectrum."""
        wave = 2.0 * np.sin(np.pi * np.arange(cells) / cells) / self.width
        own = wave[self.columns.first : self.columns.first + self.columns.count, np.newaxis]
        return 1.0 / (
            1.0 + 0.5 * self._time_step * problem.MEAN_CONDUCTIVITY * (own**2 + wave[np.newaxis, :] ** 2)
        )

    def _conduct(self, field: Field) -> Field:
        """div(k grad field), as differences of the fluxes through each cell's four faces."""
        haloed, comm = self._haloed, self._collectives.comm
        haloed[1:-1] = field
        comm.Sendrecv(haloed[1], self._before, 0, haloed[-1], self._after, 0)
        comm.Sendrecv(haloed[-2], self._after, 1, haloed[0], self._before, 1)
        flux_x = self._conductivity_x * (haloed[1:] - haloed[:-1])
        flux_y = self._conductivity_y * (np.roll(field, -1, axis=1) - field)
        return flux_x[1:] - flux_x[:-1] + flux_y - np.roll(flux_y, 1, axis=1)

    def _apply(self, field: Field) -> Field:
        return field - 0.5 * self._time_step * self._conduct(field)

    def _precondition(self, residual: Field) -> Field:
        spectrum = self._to_columns(np.fft.rfft(residual, axis=1))
        spectrum = np.fft.ifft(self._inverse * np.fft.fft(spectrum, axis=1), axis=1)
        return np.fft.irfft(self._to_rows(spectrum), n=residual.shape[1], axis=1)

    def _dots(self, *pairs: tuple[Field, Field]) -> NDArray[np.float64]:
        """Dot products over the whole grid, all in one reduction."""
        values = np.array([np.vdot(left, right) for left, right in pairs])
        self._collectives.sum(values, "dot products (sum)")
        return values

    def _solve(self, right_side: Field, guess: Field) -> Field:
        """Preconditioned conjugate gradients until the residual is `tolerance` of the right side."""
        solution = guess.copy()
        residual = right_side - self._apply(solution)
        preconditioned = self._precondition(residual)
        direction = preconditioned
        goal, squared, slope = self._dots(
            (right_side, right_side), (residual, residual), (residual, preconditioned)
        )
        goal *= self._tolerance**2
        for _ in range(200):
            if squared <= goal:
                return solution
            applied = self._apply(direction)
            length = slope / self._dots((direction, applied))[0]
            solution += length * direction
            residual -= length * applied
            preconditioned = self._precondition(residual)
            squared, next_slope = self._dots((residual, residual), (residual, preconditioned))
            direction = preconditioned + (next_slope / slope) * direction
            slope = next_slope
            self.iterations += 1
        raise ArithmeticError(f"conjugate gradients did not converge at time {self.time:g}")

    def step(self) -> None:
        """One step of Crank-Nicolson."""
        half_step = 0.5 * self._time_step
        next_source = problem.source(self.time + self._time_step, self.x, self.y)
        known = self.temperature + half_step * (self._conduct(self.temperature) + self._source + next_source)
        following = self._solve(known, self.temperature + self._last_change)
        self._last_change = following - self.temperature
        self.temperature, self._source = following, next_source
        self.time += self._time_step

    def totals(self) -> tuple[float, float, float]:
        """Heat in the square, heat that the source gives at this moment, mean square of the temperature."""
        ones = np.ones_like(self.temperature)
        heat, given, square = self._dots(
            (self.temperature, ones), (self._source, ones), (self.temperature, self.temperature)
        )
        area = self.width**2
        return heat * area, given * area, square * area / problem.SIDE**2

    def largest_error(self) -> float:
        """Largest distance from the exact solution; not a number if any cell is not."""
        error = np.abs(self.temperature - problem.temperature(self.time, self.x, self.y)).max()
        return self._collectives.largest(
            float(error) if np.isfinite(error) else np.inf, "largest error (max)"
        )

    def whole_temperature(self) -> Field | None:
        """The whole grid on rank 0, nothing elsewhere."""
        padded = np.zeros((self.rows.block, self.rows.total))
        padded[: self.rows.count] = self.temperature
        parts = self._collectives.collect(padded, "final temperature")
        return None if parts is None else parts.reshape(-1, self.rows.total)[self.rows.slots]
