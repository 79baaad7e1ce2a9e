# SPDX-License-Identifier: BSD-3-Clause
"""What the sources call the algorithms."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any


def text(algorithm: dict[str, Any]) -> str:
    """pair (S1), pair-wise exchange (A5)."""
    return ", ".join(f"{named['name']} ({named['row']})" for named in algorithm["names_in_sources"])


def hint(algorithms: Iterable[dict[str, Any]], name: str) -> str:
    """What to say behind 'there is no such algorithm': which ones a source calls so, blanks and capitals aside, or nothing."""

    def plain(text: str) -> str:
        return text.replace(" ", "").lower()

    found = dict.fromkeys(
        algorithm["name"]
        for algorithm in algorithms
        if any(plain(named["name"]) == plain(name) for named in algorithm["names_in_sources"])
    )
    return f"; a source calls so {' and '.join(found)}" if found else ""
