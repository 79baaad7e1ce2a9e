# SPDX-License-Identifier: BSD-3-Clause
"""The cache directory as the compiled code takes it: only where it is the user's own (src/base/own_folder.h)."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from unisono.common.errors import UnisonoError

_LONGEST_WAIT_S = 1.0  # for jobs that write
_WAIT_S = 0.005


def why_not_own(status: os.stat_result) -> str | None:
    """Why what has this status may hold what another user wants, as a clause; None: nobody else may write there."""
    if status.st_uid not in (os.geteuid(), 0):
        return f"belongs to another user (number {status.st_uid})"
    # A group of the user's own name is nobody else's: where there are such, it has the user's number.
    others = 0o002 if status.st_gid == status.st_uid else 0o022
    return "may be written by others (chmod go-w)" if status.st_mode & others else None


def is_own(path: Path) -> bool:
    """Whether `path` is there, and nobody else may write it."""
    try:
        return why_not_own(path.stat()) is None
    except OSError:
        return False


def require_own(path: Path) -> None:
    """Ends the command where `path` is there and may hold what another user wants."""
    try:
        why = why_not_own(path.stat())
    except FileNotFoundError:
        return
    except OSError as error:
        raise UnisonoError(f"cannot read {path}: {error.strerror}") from error
    if why is not None:
        raise UnisonoError(f"{path} is not used: it {why}")


def make(path: Path) -> None:
    """The folder `path`, made where it is not there; ends the command where it is not the user's own."""
    for folder in (*reversed(path.parents), path):
        if not folder.is_dir():
            folder.mkdir(mode=0o700, exist_ok=True)
    require_own(path)


@contextmanager
def lock(folder: Path, name: str) -> Iterator[None]:
    """Held while jobs must not write in `folder`; ends the command where one does for long."""
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(folder / name, flags, 0o600)
    except OSError as error:
        raise UnisonoError(f"cannot write {folder / name}: {error.strerror}") from error
    try:
        end = time.monotonic() + _LONGEST_WAIT_S
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise UnisonoError(
                        f"{folder / name} is held by another job; nothing is changed"
                    ) from None
                time.sleep(_WAIT_S)
        yield
    finally:
        os.close(descriptor)
