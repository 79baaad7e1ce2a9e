# SPDX-License-Identifier: BSD-3-Clause
"""Stands in for mpirun: says its version, or writes down its words and does what FAKE_DO says."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path


def wait_for_signal(seconds: float) -> int:
    """Ends with status 40 + n on signal n."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1, signal.SIGHUP):
        signal.signal(number, lambda received, _: sys.exit(40 + received))
    Path(os.environ["FAKE_LOG"]).with_suffix(".ready").write_text(str(os.getpid()))
    time.sleep(seconds)
    return 0


def main() -> int:
    if sys.argv[1:] == ["--version"]:
        print(os.environ.get("FAKE_VERSION", "mpirun (Open MPI) 5.0.11"))
        return 0
    Path(os.environ["FAKE_LOG"]).write_text(json.dumps(sys.argv))
    what, _, value = os.environ.get("FAKE_DO", "exit 0").partition(" ")
    if what == "exit":
        return int(value)
    if what == "die":
        os.kill(os.getpid(), int(value))
    if what == "wait":
        return wait_for_signal(float(value))
    # "start": runs what follows the launcher's own options, which the test says are so many words.
    return subprocess.run(sys.argv[1 + int(value) :], check=False).returncode


sys.exit(main())
