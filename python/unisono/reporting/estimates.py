# SPDX-License-Identifier: BSD-3-Clause
"""Times of which only some calls were measured, in words that claim no more than is known."""

from __future__ import annotations

from unisono.common import units

_SMALL = 0.05  # an error of so much of the time: three digits would hide it
_LARGE = 0.5  # more than that: too little was timed


def time_text(seconds: float, error_s: float, most_s: float | None = None) -> str:
    """`2 s`, `about 2 s`, `between 1.6 s and 2.4 s`, `at most 3.1 s`. `most_s`: it cannot be more than that."""
    if error_s == 0:
        return units.seconds_text(seconds)
    if error_s <= _SMALL * seconds:
        return f"about {units.seconds_text(seconds)}"
    high_s = seconds + error_s if most_s is None else min(seconds + error_s, most_s)
    if error_s <= _LARGE * seconds and seconds - error_s < high_s:
        return f"between {units.seconds_text(seconds - error_s)} and {units.seconds_text(high_s)}"
    return f"at most {units.seconds_text(high_s)} (too few calls were timed to say more)"


def cell_text(seconds: float, error_s: float, is_sampled: bool) -> str:
    """The same in a table: `2 s`, `~2 s`, `<3.1 s`."""
    if not is_sampled:
        return units.seconds_text(seconds)
    if error_s <= _LARGE * seconds:
        return f"~{units.seconds_text(seconds)}"
    return f"<{units.seconds_text(seconds + error_s)}"


def share_text(seconds: float, error_s: float, of_s: float) -> str:
    """`16%`, `13% to 19%`, `at most 25%`; empty: of nothing."""
    if of_s <= 0:
        return ""
    low, high = (min(1.0, (seconds + sign * error_s) / of_s) for sign in (-1, 1))
    if error_s <= _SMALL * seconds:
        return f"{min(1.0, seconds / of_s):.0%}"
    return f"{low:.0%} to {high:.0%}" if error_s <= _LARGE * seconds else f"at most {high:.0%}"
