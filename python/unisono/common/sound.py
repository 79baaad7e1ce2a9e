# SPDX-License-Identifier: BSD-3-Clause
"""Whether what a file holds is what it has to be, before anybody goes by it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from functools import cache
from importlib import resources
from typing import Any, TypeVar

from unisono.common.errors import FileError

_Read = TypeVar("_Read")

_TYPES: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "string": (str,),
    "int": (int,),
    "integer": (int,),
    "float": (int, float),
    "number": (int, float),
    "bool": (bool,),
    "boolean": (bool,),
    "None": (type(None),),
    "null": (type(None),),
    "object": (dict,),
    "array": (list,),
}


def _is_a(value: Any, names: tuple[str, ...]) -> bool:
    kinds = [kind for name in names for kind in _TYPES[name]]
    return bool in kinds if isinstance(value, bool) else isinstance(value, tuple(kinds))


def require(instance: Any) -> None:
    """TypeError where a field of the dataclass is not of its type; fields of other types than plain ones are not looked at."""
    for field in fields(instance):
        names = tuple(part.strip() for part in str(field.type).split("|"))
        if all(name in _TYPES for name in names) and not _is_a(getattr(instance, field.name), names):
            raise TypeError(f"{field.name} is {getattr(instance, field.name)!r:.40}")


def whole(read: Callable[[], _Read], subject: str) -> _Read:
    """What `read` makes of a file's content; ends the command where fields of it are missing, or hold what they cannot."""
    try:
        return read()
    except KeyError as error:
        raise FileError(f"{subject} is damaged: it has no field {error}") from error
    except (ArithmeticError, AttributeError, IndexError, TypeError, ValueError) as error:
        raise FileError(f"{subject} is damaged: a field holds what does not belong there") from error


@cache
def _schema(name: str) -> dict[str, Any]:
    text = (resources.files("unisono") / "schema" / f"{name}.schema.json").read_text(encoding="utf-8")
    made: dict[str, Any] = json.loads(text)
    return made


def problem(value: Any, name: str) -> str | None:
    """What is wrong with `value` as the schema of that name has it, as a sentence without its subject; None: nothing. Fields
    that the schema does not know are not looked at: later versions may have more."""
    root = _schema(name)
    return next(_problems(value, root, root, ""), None)


def _problems(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], where: str) -> Iterator[str]:
    if "$ref" in schema:
        target: Any = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            target = target[part]
        yield from _problems(value, target, root, where)
    wanted = schema.get("type")
    if wanted is not None and not _is_a(value, (wanted,) if isinstance(wanted, str) else tuple(wanted)):
        yield f"a field holds what does not belong there ({where or 'the whole'})"
        return
    if ("const" in schema and value != schema["const"]) or ("enum" in schema and value not in schema["enum"]):
        yield f"a field holds what does not belong there ({where})"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and not schema.get("minimum", value) <= value <= schema.get("maximum", value):
        yield f"a field holds a number that cannot be ({where})"
    if isinstance(value, dict):
        yield from _problems_inside(value, schema, root, where)
    if isinstance(value, list):
        if len(value) < schema.get("minItems", 0):
            yield f"a list is too short ({where})"
        for i, item in enumerate(value):
            yield from _problems(item, schema.get("items", {}), root, f"{where}[{i}]")


def _problems_inside(
    value: Mapping[str, Any], schema: Mapping[str, Any], root: Mapping[str, Any], where: str
) -> Iterator[str]:
    for key in schema.get("required", ()):
        if key not in value:
            yield f"it has no field '{key}'"
    known = schema.get("properties", {})
    others = schema.get("additionalProperties", {})
    for key, inner in value.items():
        of_key = known.get(key, others if isinstance(others, dict) else {})
        yield from _problems(inner, of_key, root, f"{where}.{key}" if where else key)
