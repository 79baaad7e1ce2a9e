# SPDX-License-Identifier: BSD-3-Clause
"""Time that a command may take: all of it, from its start to its end."""

from __future__ import annotations

import time


class Budget:
    """So many seconds from now on."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    @property
    def left_s(self) -> float:
        """Below 0 when it is spent."""
        return self._end - time.monotonic()

    @property
    def is_spent(self) -> bool:
        return self.left_s <= 0

    def part(self, share: float) -> Budget:
        """So large a share of what is left, from now on."""
        return Budget(max(0.0, share * self.left_s))
