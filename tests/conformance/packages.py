# SPDX-License-Identifier: BSD-3-Clause
"""What the suites of Debian's packages are made of: where programs are, which version they have."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
from pathlib import Path

LIBRARIES = Path("/usr/lib") / f"{os.uname().machine}-linux-gnu"


def program(name: str) -> Path:
    """Return an installed program."""
    found = shutil.which(name)
    if found is None:
        raise SystemExit(f"{name} is not installed: run tools/setup.sh conformance")
    return Path(found)


@functools.cache
def version(package: str) -> str:
    """Return the version of an installed package, or `unknown`."""
    command = ["dpkg-query", "-W", "-f=${Version}", package]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    return result.stdout or "unknown"
