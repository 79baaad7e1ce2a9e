# SPDX-License-Identifier: BSD-3-Clause
"""The problem: heat in an uneven material on a periodic square, with a solution that is known.

    du/dt = div(k grad u) + f      on [0, 2 pi) x [0, 2 pi)

The temperature is chosen, and the heat source f follows from it by differentiation.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Field = NDArray[np.float64]

SIDE = 2.0 * np.pi
MEAN_CONDUCTIVITY = 1.0


def conductivity(x: Field, y: Field) -> Field:
    """Between 1/2 and 3/2."""
    return MEAN_CONDUCTIVITY + 0.5 * np.sin(x) * np.cos(y)


def temperature(time: float, x: Field, y: Field) -> Field:
    """The exact solution: a standing wave, a second one across it, and the source's heat piling up."""
    return (
        2.0
        + 0.1 * time
        + np.cos(time) * np.sin(x) * np.cos(2.0 * y)
        + 0.5 * np.sin(2.0 * time) * np.cos(x + y)
    )


def source(time: float, x: Field, y: Field) -> Field:
    """f = du/dt - k laplace(u) - grad(k) . grad(u) for the temperature above."""
    wave, across = np.sin(x) * np.cos(2.0 * y), np.cos(x + y)
    amplitude, amplitude_across = np.cos(time), 0.5 * np.sin(2.0 * time)
    change = 0.1 - np.sin(time) * wave + np.cos(2.0 * time) * across
    laplacian = -5.0 * amplitude * wave - 2.0 * amplitude_across * across
    slope_across = -amplitude_across * np.sin(x + y)
    slope_x = amplitude * np.cos(x) * np.cos(2.0 * y) + slope_across
    slope_y = -2.0 * amplitude * np.sin(x) * np.sin(2.0 * y) + slope_across
    bend_x, bend_y = 0.5 * np.cos(x) * np.cos(y), -0.5 * np.sin(x) * np.sin(y)
    return change - conductivity(x, y) * laplacian - bend_x * slope_x - bend_y * slope_y
