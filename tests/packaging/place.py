# SPDX-License-Identifier: BSD-3-Clause
"""Where an installation is tried: as a user who is not root, with nothing in the environment, on this machine or in another root."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

NOBODY = 65534
# Into another root with processes and shared memory to be seen there, where the machine allows mounts, and without where not.
_ENTER = 'mount -t proc proc "$0/proc" && mount --bind /dev/shm "$0/dev/shm"; exec /usr/sbin/chroot "$0" "$@"'


@dataclass(frozen=True)
class Place:
    """`home` is the user's, as seen from inside of `root`."""

    home: Path
    root: Path = Path("/")
    environment: Mapping[str, str] = field(default_factory=dict)

    def outside(self, path: str | Path) -> Path:
        """A path of the place, as seen from here."""
        return self.root / Path(path).relative_to("/")

    def run(
        self, words: Sequence[str | Path], *, status: int = 0, timeout_s: float = 240, **variables: str
    ) -> str:
        """Runs a command in the home; what it printed, standard error after standard output."""
        environment = {
            "HOME": str(self.home),
            "PATH": "/usr/bin:/bin",
            "LC_ALL": "C.UTF-8",
            **self.environment,
            **variables,
        }
        command = [str(word) for word in words]
        if os.getuid() == 0:
            command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *command]
        command = ["sh", "-c", 'cd "$HOME" && exec "$@"', "sh", *command]
        if self.root != Path("/"):
            command = ["unshare", "--mount", "sh", "-c", _ENTER, str(self.root), *command]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=timeout_s, check=False
        )
        assert done.returncode == status, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done.stdout + done.stderr

    def put(self, source: Path, name: str) -> Path:
        """A copy of a file in the home."""
        target = self.home / name
        shutil.copy(source, self.outside(target))
        self.own(target)
        return target

    def own(self, path: Path) -> None:
        if os.getuid() == 0:
            os.chown(self.outside(path), NOBODY, NOBODY)


def make_home(root: Path, home: str) -> Place:
    """An empty home."""
    place = Place(Path(home), root)
    place.outside(home).mkdir(parents=True, mode=0o755)
    place.own(Path(home))
    return place
