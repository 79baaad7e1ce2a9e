# SPDX-License-Identifier: BSD-3-Clause
"""Runs jobs so that they always end: with a time limit, captured output, and nothing of them left behind."""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# Every process of a job inherits this variable, which makes it recognisable wherever a launcher has put it.
MARK = "INTEGRATION_TEST_JOB"
GRACE_SECONDS = 3.0
SHOWN_CHARACTERS = 6000


@dataclass(frozen=True)
class Result:
    """How a job ended. `status` is as in subprocess; `survivors` are commands that outlived the launcher."""

    command: list[str]
    status: int
    output: str
    errors: str
    seconds: float
    is_timed_out: bool
    survivors: list[str]

    def __str__(self) -> str:
        """Return everything that a failure's reader needs."""
        how = f"did not end within its {self.seconds:.0f} s" if self.is_timed_out else f"status {self.status}"
        text = f"$ {shlex.join(self.command)}\n{how}, {self.seconds:.1f} s\n"
        for name, content in (("output", self.output), ("errors", self.errors)):
            text += f"--- {name} ---\n{_shortened(content)}\n"
        if self.survivors:
            text += f"--- still running afterwards (killed) ---\n{chr(10).join(self.survivors)}\n"
        return text

    def check(self) -> Result:
        """Fail the test unless the job ended well."""
        assert self.status == 0 and not self.is_timed_out, str(self)
        return self


def _shortened(text: str) -> str:
    if len(text) <= SHOWN_CHARACTERS:
        return text
    half = SHOWN_CHARACTERS // 2
    return f"{text[:half]}\n... {len(text) - 2 * half} characters left out ...\n{text[-half:]}"


def marked_processes(mark: str) -> dict[int, str]:
    """Return the processes of the job `mark` (process number to command line); zombies have no environment left."""
    needle = f"{MARK}={mark}".encode()
    found = {}
    for directory in Path("/proc").iterdir():
        if not directory.name.isdigit():
            continue
        with contextlib.suppress(OSError):
            if needle in (directory / "environ").read_bytes().split(b"\0"):
                command = (directory / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found[int(directory.name)] = command.strip()
    return found


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a launcher: first so that it can end its ranks, then by force."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(GRACE_SECONDS)
            return


def sweep(mark: str) -> list[str]:
    """Kill what outlives the launcher; ranks that are just ending get a moment to do so."""
    deadline = time.monotonic() + GRACE_SECONDS
    while (left := marked_processes(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    for process_id in left:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process_id, signal.SIGKILL)
    return list(left.values())


def wait_until(condition: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@dataclass(frozen=True)
class Watch:
    """Files that a job writes as long as it gets on: it is ended when none of them has grown for `seconds`."""

    directory: Path
    seconds: float

    def size(self) -> int:
        return sum(path.stat().st_size for path in self.directory.iterdir() if path.is_file())


def _wait_at_most(process: subprocess.Popen[bytes], seconds: float) -> None:
    """Popen.wait(), which with a limit looks every 50 ms: times of jobs would be read off that."""
    descriptor = os.pidfd_open(process.pid)
    try:
        if not select.select([descriptor], [], [], seconds)[0]:
            raise subprocess.TimeoutExpired(process.args, seconds)
    finally:
        os.close(descriptor)
    process.wait()


def _wait(process: subprocess.Popen[bytes], timeout: float, watch: Watch | None) -> None:
    """Wait for the process to end; raise TimeoutExpired after `timeout` seconds, or when the watched files stand still."""
    if watch is None:
        _wait_at_most(process, timeout)
        return
    begin = changed = time.monotonic()
    size = watch.size()
    while True:
        with contextlib.suppress(subprocess.TimeoutExpired):
            _wait_at_most(process, 1.0)
            return
        now, last_size = time.monotonic(), size
        size = watch.size()
        if size != last_size:
            changed = now
        if now - begin > timeout or now - changed > watch.seconds:
            raise subprocess.TimeoutExpired(process.args, now - begin)


def run(
    command: Sequence[str | Path],
    environment: Mapping[str, str] | None = None,
    timeout: float = 60,
    directory: Path | None = None,
    watch: Watch | None = None,
) -> Result:
    """Run one job to its end, at most `timeout` seconds or as `watch` says, and return how it ended."""
    mark = uuid.uuid4().hex
    words = [str(word) for word in command]
    begin = time.monotonic()
    is_timed_out = False
    # Files, not pipes: a process that outlives the launcher would keep a pipe open.
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            words,
            env={**(os.environ if environment is None else environment), MARK: mark},
            cwd=directory,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        )
        try:
            _wait(process, timeout, watch)
        except subprocess.TimeoutExpired:
            is_timed_out = True
        finally:
            if process.poll() is None:
                _end(process)
            seconds = time.monotonic() - begin
            survivors = sweep(mark)
        texts = []
        for file in (output, errors):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    return Result(words, process.returncode, texts[0], texts[1], seconds, is_timed_out, survivors)
