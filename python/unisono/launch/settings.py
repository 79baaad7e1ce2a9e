# SPDX-License-Identifier: BSD-3-Clause
"""The settings of a job."""

from __future__ import annotations

from collections.abc import Mapping

_ours = frozenset({"UNISONO_HOME", "UNISONO_LIBRARY"})  # what the command itself settles


def settings_from_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """The UNISONO_* variables of an environment that ranks shall see."""
    return {
        name: value
        for name, value in sorted(environment.items())
        if name.startswith("UNISONO_") and name not in _ours
    }
