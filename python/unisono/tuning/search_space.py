# SPDX-License-Identifier: BSD-3-Clause
"""Settings of algorithms that tuning looks at: an algorithm with its parameters, and which values are worth a test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from unisono.common.units import KIB
from unisono.measuring.candidates import Candidate
from unisono.measuring.measurer import Place

PACES = (1, 4, 16)  # sends under way at a time


@dataclass(frozen=True)
class Ranges:
    """What a measured machine says is worth a test (5.3.2 (4), 5.3.3 (2)). Segments from `least` to `most`
    bytes are, and of each segment `overlaps` says how much may overlap, at most. None: not known."""

    least: int = 0
    most: int = 1 << 62
    overlaps: Mapping[int, int] | None = None

    def segments(self, size: int) -> list[int]:
        """Of those that cut a message of `size` bytes the ones in range, or next to it: they are a factor of 4 apart."""
        return [s for s in segments(size) if self.least <= 2 * s and s <= 2 * self.most]

    def overlap(self, segment: int) -> int:
        """The most of it that is worth a test; 0: none is."""
        if self.overlaps is None:
            return segment
        near = [overlap / s for s, overlap in self.overlaps.items() if s // 2 <= segment <= 2 * s]
        return int(segment * max(near, default=0))


def ranges_of(findings: Mapping[str, Any], nodes: int) -> Ranges:
    """From what `unisono machine measure` has found (machine.catalogue.findings); all, where it has not looked."""
    level = "network" if nodes > 1 else "node"
    least, most = findings.get(f"{level}_segment_bytes", (0, 1 << 62))
    listed = findings.get("overlap")
    overlaps = None if listed is None else {one["segment"]: one["overlap"][1] for one in listed}
    return Ranges(least, most, overlaps)


def segments(size: int) -> list[int]:
    """Lengths of pieces that cut a message of `size` bytes, each four times the one before."""
    return [s for s in (2 * KIB * 4**i for i in range(10)) if s <= size // 2]


def has_own_window(candidate: Candidate, standards: Mapping[str, int], most_bytes: int) -> bool:
    """Is another program run than with the standard window? No more pieces are under way than a message of at most so many
    bytes has."""
    settings = {**standards, **dict(candidate.parameters)}
    segment = settings["segment"]
    pieces = -(-most_bytes // segment) if segment else 1
    return min(settings["window"], pieces) != min(standards["window"], pieces)


def has_own_pace(algorithm: Mapping[str, Any], pace: int, place: Place) -> bool:
    """Is another program run than where all sends are under way at once? That needs more of them."""
    partners = (place.nodes if algorithm.get("levels", 1) > 1 else place.ranks) - 1
    return pace < partners


def matrix(algorithm: Mapping[str, Any], size: int, place: Place) -> Iterator[Candidate]:
    """All settings that an exhaustive search looks at."""
    known = {p["name"] for p in algorithm["parameters"]}
    settings = [Candidate(algorithm["name"])]
    if "degree" in known:
        settings = [c.with_(degree=d) for c in settings for d in (2, 4, 8, 16)]
    if "segment" in known:
        cut = [c.with_(segment=s, window=w) for c in settings for s in segments(size) for w in (1, 2, 4)]
        if "overlap" in known:
            cut += [
                c.with_(segment=s, overlap=o)
                for c in settings
                for s in segments(size)
                for o in (0, s // 4, s // 2, s)
            ]
        settings += cut
    elif "piece" in known:
        settings += [
            c.with_(piece=p, buffers=b) for c in settings for p in segments(size) for b in (2, 4, 8, 16)
        ]
    if "rounds" in known:
        settings += [c.with_(rounds=r) for c in settings for r in (1, 2, 0)]
    if "pace" in known:
        paces = [p for p in PACES if has_own_pace(algorithm, p, place)]
        settings += [c.with_(pace=p) for c in settings for p in paces]
    if "blocking" in known:
        settings += [c.with_(blocking=1) for c in settings if "segment" not in dict(c.parameters)]
    yield from settings
