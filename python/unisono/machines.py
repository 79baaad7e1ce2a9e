# SPDX-License-Identifier: BSD-3-Clause
"""Descriptions of machines for the models: by a file's name, or by the name of one that is known."""

from __future__ import annotations

from pathlib import Path

from unisono import places


def folder() -> Path:
    """Where the user's machines are kept, as NAME.json."""
    return places.cache() / "machines"


def resolve(text: str) -> str:
    """What `unisono-tool --machine` takes for a file's name, a name in the user's folder, or one that is built in."""
    if Path(text).is_file():
        return text
    kept = folder() / f"{text}.json"
    return str(kept) if "/" not in text and kept.is_file() else text
