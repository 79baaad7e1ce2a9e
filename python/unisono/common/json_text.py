# SPDX-License-Identifier: BSD-3-Clause
"""JSON that others have written: bounded in depth, without numbers that are none and without fields that stand twice."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any, NoReturn

MOST_LEVELS = 64
_MOST_DIGITS = 300  # of a whole number; longer ones take long to read, and are no number of ours


class TextError(ValueError):
    """Why a text is not taken, as a clause about it: `has the field 'x' twice in one object`."""


def loads(text: str) -> Any:
    """What the text says; TextError where it is no JSON that is taken."""
    try:
        value = json.loads(
            text,
            object_pairs_hook=_without_doubles,
            parse_constant=_refuse_constant,
            parse_float=_finite,
            parse_int=_short,
        )
    except json.JSONDecodeError as error:
        raise TextError(f"is no JSON: line {error.lineno} of it cannot be understood") from error
    except RecursionError as error:
        raise TextError(f"is nested deeper than {MOST_LEVELS} levels") from error
    _require_shallow(value)
    return value


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        doubled = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise TextError(f"has the field '{doubled[:60]}' twice in one object")
    return made


def _refuse_constant(name: str) -> NoReturn:
    raise TextError(f"holds {name}, which is no number")


def _finite(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise TextError("holds a number that is too large")
    return value


def _short(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise TextError("holds a number that is too large")
    return int(text)


def _require_shallow(value: Any) -> None:
    level: list[Any] = [value]
    for _ in range(MOST_LEVELS):
        level = [inner for outer in level for inner in _inside(outer) if isinstance(inner, dict | list)]
        if not level:
            return
    raise TextError(f"is nested deeper than {MOST_LEVELS} levels")


def _inside(value: Any) -> Iterable[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
