# SPDX-License-Identifier: BSD-3-Clause
"""What tools/check_packages.py finds: imports upwards, circles, and what has grown too long."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import said_by_check


def found(tmp_path: Path, files: dict[str, str]) -> list[str]:
    """What is said of a package unisono of these files."""
    modules = {"__init__.py": "", "regions.py": "", **files}
    tree = {f"python/unisono/{name}": text for name, text in modules.items()}
    return said_by_check("check_packages.py", tmp_path, tree)


def fields(count: int) -> str:
    return "".join(f"    a{i}: int = 0\n" for i in range(count))


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"commands/a.py": "from unisono.common import b\n", "common/b.py": "import os\n"}, None),
        (
            {"common/b.py": "def f():\n    from unisono.commands import a\n", "commands/a.py": ""},
            "unisono/common/b.py: imports unisono.commands.a: commands stands above common",
        ),
        ({"common/b.py": "import unisono.page.c\n", "page/c.py": ""}, "page stands above common"),
        ({"common/b.py": "from unisono.main import main\n", "main.py": ""}, "which lies in no package"),
        ({"other/b.py": ""}, "lies in no package that tools/check_packages.py knows"),
        (
            {
                "common/a.py": "from unisono.common import b\n",
                "common/b.py": "from unisono.common.a import x\n",
            },
            "circle of imports: unisono.common.a -> unisono.common.b -> unisono.common.a",
        ),
        ({"common/a.py": "def f():\n" + 60 * "    pass\n"}, "function f has 61 lines, more than 60"),
        ({"common/a.py": "class A:\n" + fields(25) + "    def f(self):\n        print(self.b)\n"}, None),
        ({"common/a.py": "class A:\n" + fields(26)}, "class A has 26 members, more than 25"),
        (
            {"common/a.py": "class A:\n" + fields(25) + "    def f(self):\n        self.a0, self.b = 1, 2\n"},
            "class A has 26 members, more than 25",
        ),
        ({"common/a.py": 401 * "\n"}, "has 401 lines, more than 400"),
    ],
)
def test_what_is_found(tmp_path: Path, files: dict[str, str], said: str | None) -> None:
    lines = found(tmp_path, files)
    assert len(lines) == (said is not None), lines
    assert said is None or said in lines[0]
