# SPDX-License-Identifier: BSD-3-Clause
"""How far two cores of this machine are from each other: virtual machines move them, and messages take twice as long."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from harness import COMPILED, is_outdated

SOURCE = Path(__file__).with_suffix(".c")
# A line takes 30 to 50 ns between cores that share a last-level cache, and 200 to 300 ns between others.
MOST_NEAR_S = 100e-9


def where_cores_are(before: Sequence[str] = ()) -> str:
    """near (they share a cache) or far; `before` is what the program is started by."""
    target = COMPILED / "core_distance"
    if is_outdated(target, [SOURCE]):
        target.parent.mkdir(parents=True, exist_ok=True)
        compiler = shutil.which("cc") or "gcc"
        subprocess.run([compiler, "-O2", SOURCE, "-o", target, "-lpthread"], check=True)
    told = subprocess.run([*before, target], capture_output=True, text=True, check=True, timeout=60)
    return "near" if float(told.stdout) <= MOST_NEAR_S else "far"
