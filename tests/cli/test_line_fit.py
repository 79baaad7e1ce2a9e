# SPDX-License-Identifier: BSD-3-Clause
"""Hockney's parameters out of samples that scatter, that change their protocol, and that a bucket lets through."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from unisono.machine import fit, line_fit, values
from unisono.machine.costs import LINK_KINDS, LINK_SIZES, Costs, Question

KIB = 1 << 10
SIZES = np.array(LINK_SIZES, dtype=float)


def bucket(sizes: np.ndarray, burst: float, alpha: float = 30, beta: float = 8e-3) -> np.ndarray:
    """1 Gbit/s, of which so many bytes go out at once, at 3 ns each."""
    return alpha + np.where(sizes <= burst, 3e-3 * sizes, 3e-3 * burst + beta * (sizes - burst))


def eager(sizes: np.ndarray, alpha: float = 2, beta: float = 1e-4) -> np.ndarray:
    """From 8 KiB on a message is announced, for 6 us; shorter ones are copied once more."""
    return np.where(sizes < 8 * KIB, alpha + 3e-4 * sizes, alpha + 6 + beta * sizes)


@pytest.mark.parametrize("burst", [32 * KIB, 128 * KIB])
@pytest.mark.parametrize("seed", range(4))
def test_a_network_with_a_bucket_has_the_rate_of_its_wire(burst: float, seed: int):
    noise = np.random.default_rng(seed).lognormal(0, 0.03, len(SIZES))
    line = line_fit.fit(SIZES, bucket(SIZES, burst) * noise)
    assert line.beta == pytest.approx(8e-3, rel=0.1)
    assert line.alpha == pytest.approx(30, rel=0.25)


@pytest.mark.parametrize("seed", range(4))
def test_a_change_of_protocol_leaves_both_parameters(seed: int):
    noise = np.random.default_rng(seed).lognormal(0, 0.02, len(SIZES))
    line = line_fit.fit(SIZES, eager(SIZES) * noise)
    assert line.beta == pytest.approx(1e-4, rel=0.1)
    assert line.alpha == pytest.approx(2, rel=0.2)


@pytest.mark.parametrize("outlier", range(0, len(LINK_SIZES), 3))
def test_one_size_that_was_disturbed_changes_little(outlier: int):
    times = 5 + 1e-3 * SIZES
    times[outlier] *= 4
    line = line_fit.fit(SIZES, times)
    assert line.beta == pytest.approx(1e-3, rel=0.1) and line.alpha == pytest.approx(5, rel=0.1)


def test_neither_is_below_zero_and_the_other_is_fitted_anew():
    sizes = np.array([1e3, 1e4, 1e5, 1e6])
    line = line_fit.fit(sizes, 1e-3 * sizes - 0.4)
    assert line.alpha == 0 and line.beta == pytest.approx(1e-3, rel=0.05)
    line = line_fit.fit(sizes, np.array([10.0, 9.9, 9.8, 9.0]))
    assert line.beta == 0 and line.alpha == pytest.approx(9.8, rel=0.02)


def measured(whole_us: np.ndarray, seed: int = 0) -> Costs:
    """Ping-pongs of these times with noise, overheads of a tenth, and gaps of what is not latency."""
    random = np.random.default_rng(seed)
    costs = Costs()
    for (i, size), kind in itertools.product(enumerate(LINK_SIZES), LINK_KINDS):
        us = whole_us[i]
        of = {"ping_pong": {"half": us}, "overheads": {"os": us / 10, "or": us / 10}}.get(
            kind, {"gap": us - 0.6 * whole_us[0]}
        )
        samples = {name: 1e-6 * value * random.lognormal(0, 0.05, 31) for name, value in of.items()}
        costs.add(Question(kind, "net", size), samples)
    return costs


@pytest.mark.parametrize("whole", [20 + 1e-3 * SIZES, eager(SIZES), bucket(SIZES, 64 * KIB)])
def test_models_of_one_link_agree_where_it_is_idle(whole: np.ndarray):
    """An empty ping-pong, and one of the longest message, by each of the models."""
    link = fit.link(measured(whole), "net")
    assert link is not None
    hockney, loggp, plogp = link["hockney"], link["loggp"], link["plogp"]
    for size, us in ((0, whole[0]), (LINK_SIZES[-1], whole[-1])):
        bytes_us = max(0, size - 1) * loggp["G_us_per_byte"]["value"]
        times = (
            hockney["alpha_us"]["value"] + size * hockney["beta_us_per_byte"]["value"],
            loggp["L_us"]["value"] + 2 * loggp["o_us"]["value"] + bytes_us,
            plogp["L_us"]["value"] + values.at(plogp["g_us"], size),
        )
        assert times == pytest.approx([us] * 3, rel=0.15)


@pytest.mark.parametrize("burst", [0, 32 * KIB, 128 * KIB])
@pytest.mark.parametrize("seed", range(2))
def test_the_machines_file_has_the_rate_of_the_wire(burst: float, seed: int):
    """1 Gbit/s as all models of the link say it: 8.0 ns a byte, within a tenth, in the interval that stands beside it."""
    link = fit.link(measured(bucket(SIZES, burst), seed), "net")
    assert link is not None
    for per_byte in (link["hockney"]["beta_us_per_byte"], link["loggp"]["G_us_per_byte"]):
        assert per_byte["value"] == pytest.approx(8e-3, rel=0.1)
    gaps = link["plogp"]["g_us"]
    half = LINK_SIZES[-1] // 2
    slope = (values.at(gaps, LINK_SIZES[-1]) - values.at(gaps, half)) / (LINK_SIZES[-1] - half)
    assert slope == pytest.approx(8e-3, rel=0.1)
    assert link["hockney"]["alpha_us"]["value"] > 0
