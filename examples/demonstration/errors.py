# SPDX-License-Identifier: BSD-3-Clause
"""How the demo ends when it cannot go on."""

from __future__ import annotations

EXIT_FAILED = 1  # results differ, or a run failed
EXIT_MISSING = 2  # something that the demo needs is not there


class DemoError(Exception):
    """One message that says what is wrong and what to do."""

    def __init__(self, message: str, exit_code: int = EXIT_FAILED) -> None:
        super().__init__(message)
        self.exit_code = exit_code
