# SPDX-License-Identifier: BSD-3-Clause
"""Runs the launcher. Where nothing is left to do after the job, it takes our place: then signals, exit
status, terminal and process tree are exactly those of a run without Unisono. Otherwise we wait beside it,
hand on what we are sent, and end as it ended."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from unisono.common.errors import NotExecutableError, NotFoundError, UnisonoError

# What somebody may send to us and means for the job. (The terminal's own reach the launcher by themselves.)
_forwarded = frozenset(
    {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2}
)

_SI_KERNEL = 0x80  # siginfo's code for a signal that the kernel raised: for these signals, the terminal
_PR_SET_PDEATHSIG = 1


def replace(words: list[str]) -> NoReturn:
    """Becomes the command."""
    sys.stdout.flush()
    sys.stderr.flush()
    # Python ignores these for itself, and what is ignored is inherited.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    try:
        os.execvp(words[0], words)
    except OSError as error:
        raise cannot_start(words[0], error) from error


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


def supervise(words: list[str]) -> int:
    """Runs the command to its end. The exit status is the command's, 128 + n if signal n killed it."""
    import subprocess

    watched = _forwarded | {signal.SIGCHLD}
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # where it is ignored, no status can be had
    before = signal.pthread_sigmask(signal.SIG_BLOCK, watched)
    end_with_us = ends_with_us()

    def prepare_child() -> None:
        end_with_us()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)

    try:
        try:
            child = subprocess.Popen(words, preexec_fn=prepare_child)  # noqa: PLW1509 - there are no threads
        except OSError as error:
            raise cannot_start(words[0], error) from error
        while child.poll() is None:
            received = signal.sigwaitinfo(watched)
            if received.si_signo != signal.SIGCHLD and received.si_code != _SI_KERNEL:
                child.send_signal(received.si_signo)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    status: int = child.returncode
    return 128 - status if status < 0 else status


def cannot_start(name: str, error: OSError) -> UnisonoError:
    """What a command ends with that could not be started."""
    if isinstance(error, FileNotFoundError):
        return NotFoundError(f"{name}: not found; is it in PATH?")
    return NotExecutableError(f"{name}: {error.strerror}")
