# SPDX-License-Identifier: BSD-3-Clause
"""alpha and beta of a message's time alpha + beta * bytes (Hockney), where samples scatter and the protocol
changes between sizes. Short messages are eager, and longer ones are announced first. Buckets let a burst
through at more than the network's rate."""

from __future__ import annotations

from dataclasses import dataclass

from unisono.common.extras import numpy as np

_STEPS = 15  # of reweighting
_USUAL = 0.05  # errors of a line, as parts of the time, which count by their square; larger ones by themselves (Huber)
_FEWEST = 3  # sizes of a part
_GAIN = 0.4  # two lines are two where their loss is so much less than one's
_LEAST = 1e-9


@dataclass(frozen=True)
class Line:
    alpha: float
    beta: float
    break_at: int  # so many sizes lie before the change of protocol; 0: there is none


def fit(sizes: np.ndarray, times: np.ndarray, break_at: int | None = None) -> Line:
    """Neither is below 0. Where there is a change of protocol, alpha is known by short messages and beta by
    long ones, and each is taken from these. `break_at` says where the change is, if it is known from
    before."""
    times = np.maximum(np.asarray(times, dtype=float), _LEAST)
    sizes = np.asarray(sizes, dtype=float)
    at = find_break(sizes, times) if break_at is None else break_at
    if at == 0:
        alpha, beta, _ = _robust(sizes, times, has_sign=True)
        return Line(alpha, beta, 0)
    # A part of long messages has its own beginning, which may well lie below 0: a burst went out at once.
    _, beta, _ = _robust(sizes[at:], times[at:], has_sign=False)
    alpha, _, _ = _robust(sizes[:at], times[:at], has_sign=True)
    return Line(alpha, max(0.0, beta), at)


def find_break(sizes: np.ndarray, times: np.ndarray) -> int:
    """How many sizes belong to the first of two protocols; 0: one line does."""
    _, _, whole = _robust(sizes, times, has_sign=True)
    found = [
        (
            _robust(sizes[:at], times[:at], has_sign=True)[2]
            + _robust(sizes[at:], times[at:], has_sign=False)[2],
            at,
        )
        for at in range(_FEWEST, len(sizes) - _FEWEST + 1)
    ]
    loss, at = min(found, default=(whole, 0))
    # What one line says to within some percent everywhere needs no second one.
    return at if loss < _GAIN * whole and whole > len(sizes) * _USUAL**2 / 2 else 0


def _robust(sizes: np.ndarray, times: np.ndarray, has_sign: bool) -> tuple[float, float, float]:
    """alpha, beta and the loss: of relative errors, by Huber, with weights that are made anew until they stay."""
    weights = 1 / times
    alpha = beta = 0.0
    errors = np.zeros(len(times))
    for _ in range(_STEPS):
        before = alpha, beta
        alpha, beta = _least_squares(sizes, times, weights, has_sign)
        errors = np.abs((alpha + beta * sizes) / times - 1)
        weights = np.sqrt(np.where(errors <= _USUAL, 1.0, _USUAL / np.maximum(errors, _LEAST))) / times
        if np.allclose(before, (alpha, beta), rtol=1e-4, atol=0):
            break
    loss = np.where(errors <= _USUAL, errors**2 / 2, _USUAL * (errors - _USUAL / 2)).sum()
    return alpha, beta, float(loss)


def _least_squares(
    sizes: np.ndarray, times: np.ndarray, weights: np.ndarray, has_sign: bool
) -> tuple[float, float]:
    """With `has_sign` neither is below 0: where one would be it is 0, and the other one is fitted anew."""
    ones, slopes, wanted = weights, weights * sizes, weights * times
    a, b, c = float(ones @ ones), float(ones @ slopes), float(slopes @ slopes)
    u, v = float(ones @ wanted), float(slopes @ wanted)
    determinant = a * c - b * b
    if determinant > _LEAST * a * c:
        alpha, beta = (u * c - v * b) / determinant, (v * a - u * b) / determinant
        if not has_sign or (alpha >= 0 and beta >= 0):
            return alpha, beta
    # The whole of the square that is left is wanted @ wanted less what one of them takes away.
    alone = [(u * u / a, (max(0.0, u / a), 0.0))] if a > 0 else []
    alone += [(v * v / c, (0.0, max(0.0, v / c)))] if c > 0 else []
    return max(alone, default=(0.0, (0.0, 0.0)))[1]
