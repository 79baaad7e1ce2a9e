# SPDX-License-Identifier: BSD-3-Clause
"""What tools/check_sources.py finds in a tree that git knows: licences, markers, paths of one machine, other versions."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from conftest import said_by_check

LICENCE = "# SPDX-License-Identifier: BSD-3-Clause\n"
# In pieces, since this file is looked at as well.
HOME, MARKER = "/ho" + "me/", "TO" + "DO"
VERSION = "python/unisono/__init__.py"
OTHER = f"line 2: says 1.2.4, and {VERSION} 1.2.3"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("src/a.cc", LICENCE, None),
        ("src/a.cc", "int a;\n", "lacks 'SPDX-License-Identifier: BSD-3-Clause' in its first lines"),
        ("src/a.cc", LICENCE + 500 * "\n", "has 501 lines (at most 500)"),
        ("src/a.cc", f"{LICENCE}// {MARKER}\n", f"line 2: marker {MARKER}"),
        ("docs/a.md", f"In {HOME}somebody.\n", "names a path of one machine"),
        ("docs/a.md", "\npip install unisono-1.2.3.tar.gz, on Open MPI 5.0.11\n", None),
        ("docs/a.md", "\npip install unisono-1.2.4.tar.gz\n", OTHER),
        ("docs/a.md", "\nmodule load unisono/1.2.4-on\n", OTHER),
        ("docs/a.md", "\nUnisono 1.2.4 on Open MPI 5.0.11\n", OTHER),
        ("docs/a.md", '\n| `version` | `{"unisono": "1.2.4"}` |\n', OTHER),
        ("CITATION.cff", "cff-version: 1.2.0\nversion: 1.2.4\n", OTHER),
        ("include/a.h", f"/* {LICENCE} */\n/* Since Unisono 1.2.4. */\n", "line 3" + OTHER[6:]),
        ("CHANGELOG.md", "\n## Unisono 1.2.4\n", None),
        ("tests/cli/fixtures/a.json", '\n{"unisono": "1.2.4"}\n', None),
    ],
)
def test_what_is_found(tmp_path: Path, name: str, text: str, said: str | None) -> None:
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True)
    files = {VERSION: f'{LICENCE}__version__ = "1.2.3"\n', name: text}
    assert said_by_check("check_sources.py", tmp_path, files) == ([f"{name}: {said}"] if said else [])
