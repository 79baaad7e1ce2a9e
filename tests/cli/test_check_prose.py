# SPDX-License-Identifier: BSD-3-Clause
"""What tools/check_prose.py finds: lines, sentences and cells that are too long."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

LONG = "This sentence goes on " + "and on " * 15 + "until its end."
SHORT = "This one ends soon."


def check(tree: Path, files: dict[str, str], *words: str) -> list[str]:
    tools = {
        f"tools/{name}": (ROOT / "tools" / name).read_text()
        for name in ("check_prose.py", "check_sources.py")
    }
    for name, text in {**files, **tools}.items():
        file = tree / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    subprocess.run(["git", "init", "-q", tree], check=True)
    command = [sys.executable, tree / "tools/check_prose.py", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.returncode == bool(done.stdout), done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("docs/a.md", f"# Title\n\n{SHORT}\n{LONG}\n".replace(" and", "\nand"), "docs/a.md:3: 37 words"),
        ("docs/a.md", f"- {SHORT}\n\n  {'word ' * 24}longer\n", "docs/a.md:3: 128 columns"),
        ("docs/a.md", f"| a |\n| --- |\n| {'word ' * 50} |\n", "docs/a.md:3: a cell of 249 characters"),
        ("docs/a.md", f"    {LONG}\n\n```\n{LONG}\n```\n", None),
        ("docs/a.md", f"`{LONG}`: {SHORT}\n", None),
        ("docs/a.md", f"<!-- Written by a tool -->\n\n| a |\n| --- |\n| {'word ' * 50} |\n", None),
        ("docs/a.md", "[" + "One two three. " * 12 + f"](https://there/{'x' * 20})\n", "columns"),
        ("src/a.h", f"int a;  // {SHORT}\n// {LONG}\n".replace(" and", "\n// and"), "src/a.h:2: 37 words"),
        ("src/a.h", f"/* {SHORT}\n *\n * {LONG}\n */\n", "src/a.h:3: 37 words"),
        ("src/a.h", f'const char* a = "// {LONG}";\n', None),
        ("src/a.h", "// " + "\n// ".join(["- an item of nine words, all of them short"] * 9) + "\n", None),
        ("src/a.h", "int a;  // one of nine words, and all of them short\n" * 9, None),
        ("src/a.h", f"int a;  // {LONG}\n".replace(" until", "\n        // until"), "src/a.h:1: 37 words"),
        ("src/a.h", f"// SPDX-License-Identifier: a\n// {'word ' * 30}\n", None),
        ("src/a.h", f"// SPDX-License-Identifier: a\n// {'word ' * 31}\n", "src/a.h:2: 31 words"),
        ("a.py", f'def a():\n    """{SHORT}\n\n    \\b\n      {LONG}\n\n    {SHORT}\n    """\n', None),
        ("a.py", f'"""{SHORT}\n\n{LONG}\n"""\n', "a.py:3: 37 words"),
        ("a.py", f"a = 1  # {LONG}\n", "a.py:1: 37 words"),
        ("a.py", f'a = "{LONG}"\n', None),
    ],
)
def test_what_is_too_long_is_found(name: str, text: str, said: str | None, tmp_path: Path) -> None:
    lines = check(tmp_path, {name: text})
    assert any(said in line for line in lines) if said else lines == []


def test_files_that_are_named_are_the_only_ones(tmp_path: Path) -> None:
    long = f"{LONG}\n".replace(" and", "\nand")
    check(tmp_path, {"docs/a.md": long, "docs/b.md": long})
    (line,) = check(tmp_path, {}, str(tmp_path / "docs/b.md"))
    assert line.startswith("docs/b.md:1: 37 words")
