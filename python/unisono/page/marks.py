# SPDX-License-Identifier: BSD-3-Clause
"""What the page's filters go by: each row says what it is of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mark:
    """None: not kept apart by that, so shown whatever is chosen."""

    operation: str | None = None
    layout: str | None = None
    communicator: str | None = None  # name of the source, and its number there
    region: str | None = None
