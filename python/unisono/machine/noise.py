# SPDX-License-Identifier: BSD-3-Clause
"""What takes cores away on this machine, as `unisono simulate --noise recorded:FILE` reads it (N7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from unisono.common.errors import UnisonoError
from unisono.common.extras import numpy as np
from unisono.common.schemas import NOISE
from unisono.machine.measuring import cores_of
from unisono.measuring.measurer import Measurer

RECORDED_S = 10.0  # of each core
_SLICE_S = 1.0
BUSY = 0.2  # of a core's time: a system by itself takes far less
_MOST_DETOURS = 150_000  # what a file of 4 MiB holds

Recording = dict[str, Any]


def record(job: Measurer, seconds: float, on_slice: Callable[[float], None]) -> list[list[Recording]]:
    """By slices of a second, and in each by ranks. `on_slice` gets what share of the time is over."""
    place = job.place
    if place.most_on_cores > cores_of(place):
        raise UnisonoError(
            f"{place.most_on_cores} ranks share {cores_of(place)} cores: they would record each other; start one rank a core at most"
        )
    count = max(1, round(seconds / _SLICE_S))
    slices = []
    for number in range(count):
        slices.append(job.noise(seconds / count))
        on_slice((number + 1) / count)
    return slices


def joined(slices: Sequence[Sequence[Recording]]) -> Recording:
    """One recording: all slices of the first rank, then all of the next. A simulated core begins somewhere in it."""
    length_us, begins, lengths = 0.0, list[float](), list[float]()
    for one in (slices[number][rank] for rank in range(len(slices[0])) for number in range(len(slices))):
        if len(begins) + len(one["us"]) > _MOST_DETOURS:
            break
        begins += [round(length_us + begin, 3) for begin in one["begins_us"]]
        lengths += one["us"]
        length_us += one["length_us"]
    return {"length_us": round(length_us, 3), "begins_us": begins, "us": lengths}


def document(slices: Sequence[Sequence[Recording]], facts: Mapping[str, Any]) -> dict[str, Any]:
    """The file. `facts` go to `measured`, beside what the clock could tell."""
    quantum_us = max(one["quantum_us"] for of_ranks in slices for one in of_ranks)
    recorded = {"cores": len(slices[0]), "quantum_us": round(quantum_us, 4)}
    return {
        "schema": NOISE,
        "version": 1,
        "measured": dict(facts) | recorded,
        "recording": joined(slices),
    }


def busy_shares(slices: Sequence[Sequence[Recording]]) -> list[float]:
    """Of the cores that others have kept busy: which share of the time of each, most first."""
    shares = [
        sum(sum(one["us"]) for one in of_core) / sum(one["length_us"] for one in of_core)
        for of_core in zip(*slices, strict=True)
    ]
    return sorted((share for share in shares if share > BUSY), reverse=True)


def summary(recording: Mapping[str, Any]) -> dict[str, float]:
    """Detours a second, their mean and longest in us, and which share of a core's time they take."""
    us = np.asarray(recording["us"], dtype=float)
    seconds = recording["length_us"] * 1e-6
    return {
        "rate_hz": len(us) / seconds,
        "mean_us": float(us.mean()) if len(us) else 0.0,
        "longest_us": float(us.max()) if len(us) else 0.0,
        "share": float(us.sum()) / recording["length_us"],
    }
