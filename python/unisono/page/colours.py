# SPDX-License-Identifier: BSD-3-Clause
"""The page's colours, which people with any colour vision can tell apart, for a light and a dark page.

Speed-ups: blue above 1, red below (ColorBrewer's RdBu; darker steps in the middle on a dark page), in steps of a quarter of a
doubling. Algorithms: Paul Tol's light scheme, made for cells with dark text; from the ninth algorithm on the colours come again
with stripes, each time in another direction."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence

MOST_TIMES = 8.0  # speed-ups beyond this have one colour
_STEPS_PER_DOUBLING = 4
_MOST_STEP = int(math.log2(MOST_TIMES) * _STEPS_PER_DOUBLING)
# From slowest to fastest.
_LIGHT = (
    "#67001f",
    "#b2182b",
    "#d6604d",
    "#f4a582",
    "#fddbc7",
    "#f7f7f7",
    "#d1e5f0",
    "#92c5de",
    "#4393c3",
    "#2166ac",
    "#053061",
)
_DARK = (
    "#ffc9b5",
    "#f2a07f",
    "#d6704f",
    "#9c4a35",
    "#5c322a",
    "#2c3036",
    "#243d52",
    "#2b5f86",
    "#3d87bd",
    "#7ab6e0",
    "#bfe0f7",
)
_ALGORITHMS = ("#77aadd", "#ee8866", "#eedd88", "#44bb99", "#ffaabb", "#bbcc33", "#99ddff", "#aaaa00")
_STRIPES = ("45deg", "-45deg", "0deg")  # over the colours, each time they come again
_LOOKS = len(_ALGORITHMS) * (1 + len(_STRIPES))


def speedup_class(speedup: float) -> str:
    """The CSS class of a cell that shows this speed-up: `q0` for 1, `q12` for 8 and more, `q-12` for an eighth."""
    if speedup <= 0:
        return f"q-{_MOST_STEP}"
    step = round(math.log2(speedup) * _STEPS_PER_DOUBLING)
    return f"q{max(-_MOST_STEP, min(_MOST_STEP, step))}"


class Algorithms:
    """Which colour each algorithm has on a page: the most frequent ones the first colours."""

    def __init__(self, names: Iterable[str]) -> None:
        counts = Counter(name for name in names if name != "native")
        self._numbers = {name: i for i, (name, _) in enumerate(counts.most_common())}

    def css_class(self, name: str) -> str:
        if name == "native" or name not in self._numbers:
            return "an"
        return f"a{self._numbers[name] % _LOOKS}"

    def legend(self, shown: Iterable[str]) -> list[tuple[str, str]]:
        """Names with their classes, native last."""
        names = sorted(set(shown), key=lambda name: self._numbers.get(name, len(self._numbers)))
        return [(name, self.css_class(name)) for name in names]


def css() -> str:
    """The rules of all these classes."""
    lines = []
    for step in range(-_MOST_STEP, _MOST_STEP + 1):
        place = (step + _MOST_STEP) / (2 * _MOST_STEP)
        light, dark = _between(_LIGHT, place), _between(_DARK, place)
        lines.append(
            f".q{step}{{background:light-dark({light},{dark});color:light-dark({ink_on(light)},{ink_on(dark)})}}"
        )
    for number, colour in enumerate(_ALGORITHMS):
        lines.append(f".a{number}{{--fill:{colour}}}")
        for times, angle in enumerate(_STRIPES, 1):
            stripes = f"repeating-linear-gradient({angle},transparent 0 5px,#0002 5px 8px)"
            lines.append(f".a{number + times * len(_ALGORITHMS)}{{--fill:{colour};--pattern:{stripes}}}")
    return "\n".join(lines)


def speedup_legend() -> list[tuple[str, str]]:
    """Classes over the whole range, each with what stands below it: a power of two, or nothing."""
    return [
        (f"q{step}", _power_text(step // _STEPS_PER_DOUBLING) if step % _STEPS_PER_DOUBLING == 0 else "")
        for step in range(-_MOST_STEP, _MOST_STEP + 1)
    ]


def _power_text(power: int) -> str:
    return f"1/{1 << -power}" if power < 0 else f"{1 << power}"


def _between(colours: Sequence[str], place: float) -> str:
    position = place * (len(colours) - 1)
    first = min(int(position), len(colours) - 2)
    part = position - first
    low, high = (_channels(colours[i]) for i in (first, first + 1))
    return "#" + "".join(f"{round(a + (b - a) * part):02x}" for a, b in zip(low, high, strict=True))


def _channels(colour: str) -> list[int]:
    return [int(colour[i : i + 2], 16) for i in (1, 3, 5)]


def ink_on(background: str) -> str:
    """Black or white, whichever is easier to read on it (WCAG's contrast)."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (channel / 255 for channel in _channels(background))
    ]
    luminance = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#111" if (luminance + 0.05) / 0.055 > 1.05 / (luminance + 0.05) else "#fff"
