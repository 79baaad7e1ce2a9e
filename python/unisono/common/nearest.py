# SPDX-License-Identifier: BSD-3-Clause
"""What somebody may have meant who has mistyped a name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LIKENESS = 0.6  # of both words' letters stand in the same order


def nearest(word: str, names: Iterable[str]) -> str | None:
    """The name that `word` comes nearest to, if any is near."""
    by_letters = {name.lower(): name for name in names}
    found = difflib.get_close_matches(word.lower(), by_letters, n=1, cutoff=_LIKENESS)
    return by_letters[found[0]] if found else None


def did_you_mean(word: str, names: Iterable[str], otherwise: str = "") -> str:
    """`; did you mean 'ring'?`, to follow the words that refuse `word`; `otherwise` where no name is near."""
    name = nearest(word, names)
    return f"; did you mean '{name}'?" if name else otherwise
