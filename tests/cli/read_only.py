# SPDX-License-Identifier: BSD-3-Clause
"""Run in a mount namespace of its own, in its working directory. It makes the folder `kept` read-only, and
then runs commands, each a line of JSON on standard input. It prints what each command has said, and its
status."""

from __future__ import annotations

import contextlib
import io
import json
import subprocess
import sys
import traceback
from pathlib import Path

from unisono.commands.group import cli


def run(words: list[str]) -> dict[str, str | int]:
    if words[0] == "run":  # would become the compiled command
        command = [Path(sys.executable).parent / "unisono", *words]
        answer = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        return {"said": answer.stderr + answer.stdout, "status": answer.returncode}
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            cli(words, prog_name="unisono")
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        except BaseException:
            traceback.print_exc()
            status = -1
    return {"said": said.getvalue(), "status": status}


if __name__ == "__main__":
    folder = str(Path("kept").absolute())
    for options in (["--bind", folder, folder], ["-o", "remount,bind,ro", folder]):
        subprocess.run(["mount", *options], check=True)
    print(json.dumps([run(json.loads(line)) for line in sys.stdin]))
