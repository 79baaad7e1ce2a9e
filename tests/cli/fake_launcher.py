# SPDX-License-Identifier: BSD-3-Clause
"""Stands in for mpirun: says its version, or writes down its words and does what FAKE_DO says; agents it does not start."""

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


def kill_agent_that_starts() -> str:
    """An agent dies whose MPI has made a file of MPICH's, of which the name is returned."""
    file = f"/dev/shm/mpich_shm_{os.getpid():x}_9"
    script = (
        "import mmap, sys, time; made = open(sys.argv[1], 'w+b'); made.truncate(4096); "
        "mapped = mmap.mmap(made.fileno(), 4096); time.sleep(60)"
    )
    job = sys.argv[sys.argv.index("--job") + 1]
    agent = subprocess.Popen(["unisono-agent", "-c", script, file, "--job", job], executable=sys.executable)
    time.sleep(1.5)
    agent.kill()
    agent.wait()
    return file


def run_agents() -> int:
    """Does what FAKE_AGENTS says, and writes down what it was started with and what it has read."""
    what, _, value = os.environ.get("FAKE_AGENTS", "stay").partition(" ")
    log = Path(os.environ["FAKE_LOG"]).with_suffix(".agents")
    found = {"words": sys.argv, "process": os.getpid(), "group": os.getpgid(0), "read": None}
    log.write_text(json.dumps(found))
    if what == "fail":
        print(f"there is no node\n\x1b[2J{value}", file=sys.stderr)
        return 3
    if what == "leave":
        log.write_text(json.dumps({**found, "file": kill_agent_that_starts()}))
        return 3
    if what == "die":
        # So often, and each time when all of them are there, as those are that stay.
        print("all agents are there", flush=True)
        deaths = log.with_suffix(".deaths")
        count = int(deaths.read_text()) if deaths.exists() else 0
        if count < int(value):
            deaths.write_text(str(count + 1))
            return 3
    if what == "ignore":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(float(value))
    found["read"] = sys.stdin.read()
    log.write_text(json.dumps(found))
    print("nothing that the program says")
    return 0


def main() -> int:
    if sys.argv[1:] == ["--version"]:
        print(os.environ.get("FAKE_VERSION", "mpirun (Open MPI) 5.0.11"))
        return 0
    if "--job" in sys.argv:
        return run_agents()
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
