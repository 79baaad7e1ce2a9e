# SPDX-License-Identifier: BSD-3-Clause
"""Packages that some commands need and `unisono run` does not: imported at their first use, and asked for where they are missing."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from unisono.common.errors import UnisonoError

__all__ = ["Extra", "jinja2", "load", "numpy", "require"]

# What each extra of this package brings (pyproject.toml).
EXTRAS = {
    "graphs": ["numpy", "scipy"],
    "models": ["numpy"],
    "page": ["jinja2", "numpy"],
    "plots": ["matplotlib", "numpy"],
}


class Extra:
    """Stands for a module until something of it is used."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # whoever only looks at this object does not need the module
            raise AttributeError(attribute)
        value = getattr(load(self._name), attribute)
        setattr(self, attribute, value)
        return value


def load(name: str, extra: str = "models") -> Any:
    """The module; ends the command with what to install where it is missing."""
    package = name.partition(".")[0]
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise UnisonoError(
            f'this needs the Python package {package}: pip install "unisono[{extra}]", or "unisono[all]" for every command'
        ) from error


def require(extra: str) -> None:
    """Ends the command where not all of an extra is there, before it has done anything."""
    for package in EXTRAS[extra]:
        load(package, extra)


if TYPE_CHECKING:
    import jinja2
    import numpy
else:
    jinja2 = Extra("jinja2")
    numpy = Extra("numpy")
