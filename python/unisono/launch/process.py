# SPDX-License-Identifier: BSD-3-Clause
"""Starts launchers beside a command that waits for them."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from unisono.common.errors import NotExecutableError, NotFoundError, UnisonoError

_PR_SET_PDEATHSIG = 1


def ends_with_us() -> Callable[[], None]:
    """For Popen's `preexec_fn`: if we are killed outright, the job must not live on without anybody who could end it."""
    import ctypes

    parent = os.getpid()
    prctl = ctypes.CDLL(None).prctl  # looked up here: between fork and exec nothing may be loaded

    def prepare_child() -> None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != parent:
            os._exit(1)

    return prepare_child


def cannot_start(name: str, error: OSError) -> UnisonoError:
    """What a command ends with that could not be started."""
    if isinstance(error, FileNotFoundError):
        return NotFoundError(f"{name}: not found; is it in PATH?")
    return NotExecutableError(f"{name}: {error.strerror}")


@contextmanager
def started(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """A job whose output is read as it comes: at the end it is over. It is ended where reading it fails or is interrupted."""
    try:
        process = subprocess.Popen(
            list(command),
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=ends_with_us(),  # noqa: PLW1509 - it calls one function, found before
        )
    except OSError as error:
        raise cannot_start(command[0], error) from error
    with process:
        try:
            yield process
        except BaseException:
            process.terminate()
            raise
