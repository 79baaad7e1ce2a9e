# SPDX-License-Identifier: BSD-3-Clause
"""How bytes, times and counts are written, and read where somebody types them."""

from __future__ import annotations

import re

KIB, MIB = 1 << 10, 1 << 20
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def bytes_text(count: float) -> str:
    """1536 -> `1.5 KiB`."""
    for unit in _UNITS:
        if abs(count) < 1024 or unit == _UNITS[-1]:
            break
        count /= 1024
    return f"{count:.0f} {unit}" if count == int(count) or count >= 100 else f"{count:.3g} {unit}"


def size_text(operation: str, count: float) -> str:
    """Of a cell; a barrier has no size."""
    return bytes_text(count) if operation != "barrier" else ""


def bytes_from_text(text: str) -> int | None:
    """4096, 8K, 64KiB, 1 MiB -> bytes; None: it is no size."""
    match = re.fullmatch(r"(\d+)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    return None if match is None else int(match[1]) << 10 * " KMGT".index(match[2].upper() or " ")


def seconds_text(seconds: float) -> str:
    """0.00123 -> `1.23 ms`."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= scale:
            return f"{_three_digits(seconds / scale)} {unit}"
    return f"{_three_digits(seconds / 1e-9)} ns" if seconds > 0 else "0 s"


def count_text(count: int) -> str:
    """1234567 -> `1,234,567`."""
    return f"{count:,}"


def counted(count: int, name: str) -> str:
    """`1 rank`, `1,200 ranks`."""
    return f"{count_text(count)} {name}{'' if count == 1 else 's'}"


def _three_digits(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"
