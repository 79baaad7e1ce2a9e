# SPDX-License-Identifier: BSD-3-Clause
"""Text from files, programs and the environment as it may stand on a terminal."""

from __future__ import annotations

import re

# Control characters (but ends of lines and tabs), those that turn the direction of writing or end lines, and what was no text.
_UNSHOWN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_UNSHOWN_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")


def shown(text: str) -> str:
    """Such characters as `\\x1b` or `\\u202e`."""
    return _UNSHOWN.sub(_escaped, text)


def shown_json(text: str) -> str:
    """The same of JSON, which stays what it says."""
    return _UNSHOWN_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _escaped(match: re.Match[str]) -> str:
    number = ord(match[0])
    if 0xDC80 <= number <= 0xDCFF:  # a byte of a file's name that is no UTF-8
        number -= 0xDC00
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}"
