# SPDX-License-Identifier: BSD-3-Clause
"""Files are written whole and then given their name, so that nobody reads half of one."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from unisono.errors import UnisonoError


def write_whole(file: Path, text: str) -> None:
    try:
        descriptor, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(text)
            Path(name).chmod(0o666 & ~_umask())
            Path(name).replace(file)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise UnisonoError(f"cannot write {file}: {error.strerror}") from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
