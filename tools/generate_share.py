#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes what an installation has below share/ and nobody writes by hand: manual pages, and completion for shells.

The sources are the commands themselves, the list of options and the algorithms that `unisono-tool` tells, and the header's comments.
UNISONO_HOME names the build that is asked.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# The tree's own package, whatever else is installed.
sys.path[:0] = [str(ROOT / "python")]

from man import commands, header, options  # noqa: E402
from unisono.commands.completion import script  # noqa: E402
from unisono.commands.group import cli  # noqa: E402
from unisono.common import files, places  # noqa: E402
from unisono.common.errors import UnisonoError  # noqa: E402

HEADER = ROOT / "include/unisono/unisono.h"
COMPLETIONS = {
    "bash": "bash-completion/completions/unisono",
    "zsh": "zsh/site-functions/_unisono",
    "fish": "fish/vendor_completions.d/unisono.fish",
}


def written() -> Iterator[tuple[str, str]]:
    """Each file below share/, and its text."""
    for page in commands.pages():
        yield f"man/{page.file}", page.text()
        yield from ((f"man/{file}", text) for file, text in commands.aliases(page))
    shim = subprocess.run([places.require("shim"), "--help"], capture_output=True, text=True, check=True)
    of_shim = commands.exec_page(shim.stdout)
    yield f"man/{of_shim.file}", of_shim.text()
    of_file = options.page()
    yield f"man/{of_file.file}", of_file.text()
    of_header = header.page(HEADER)
    yield f"man/{of_header.file}", of_header.text()
    yield from ((f"man/{file}", text) for file, text in header.aliases(of_header, HEADER))
    for shell, file in COMPLETIONS.items():
        yield file, script(shell, cli)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("share", type=Path, help="the folder to write into")
    share: Path = parser.parse_args().share
    for name, text in written():
        file = share / name
        file.parent.mkdir(parents=True, exist_ok=True)
        files.write_whole(file, text)


if __name__ == "__main__":
    try:
        main()
    except UnisonoError as error:
        error.show()
        sys.exit(error.exit_code)
