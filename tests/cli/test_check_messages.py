# SPDX-License-Identifier: BSD-3-Clause
"""What tools/check_messages.py finds: messages that no page explains, and places of messages that are gone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT, said_by_check

GENERATED = "docs/reference/messages.md"
PAGE = "docs/troubleshooting.md"


def said(tmp_path: Path, files: dict[str, str]) -> list[str]:
    """What is said of a tree of these files, but that it has no generated page."""
    return [line for line in said_by_check("check_messages.py", tmp_path, files) if GENERATED not in line]


def test_each_message_stands_on_a_page() -> None:
    command = [sys.executable, str(ROOT / "tools/check_messages.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert not done.stdout
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (
            "src/runtime/a.cc",
            'void f(int x) {\n  log::warning("the moon is " + to_text(x) + " km away now");\n}\n',
        ),
        (
            "src/shim/a.c",
            'void f(void) {\n  unisono_say("%s: the moon is "\n              "too near", name);\n}\n',
        ),
        ("src/shm/a.cc", 'const char* f() {\n  return "the moon is away";\n}\n'),
        ("src/shm/a.cc", 'constexpr std::string_view why = "the moon is away";\n'),
        ("python/unisono/a.py", 'raise UnisonoError(f"{name}: the moon is away")\n'),
        ("python/unisono/a.py", 'raise UnisonoError("the moon is away" if x else "it")\n'),
        ("python/unisono/a.py", 'printing.echo(f"unisono: the moon is {distance} away", err=True)\n'),
        ("python/unisono/a.py", 'print(f"unisono: the moon is {distance} away", file=sys.stderr)\n'),
    ],
)
def test_a_new_message_is_missed(tmp_path: Path, name: str, text: str) -> None:
    (line,) = said(tmp_path, {name: text})
    assert line.startswith(name)
    assert "the moon is" in line
    assert PAGE in line
    known = "The moon is ... km away now, `the moon is too near`, the\nmoon is away: the moon is ... away.\n"
    assert said(tmp_path, {PAGE: known.replace("The", "the")}) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("src/runtime/a.cc", '// "the moon is away"\n'),
        ("src/base/a.cc", 'const char* help = "The moon is a thing of which the help tells.";\n'),
        ("src/algorithms/a.cc", 'const char* why = "the moon is away";\n'),
        ("src/runtime/a.cc", '#include "the moon is/away.h"\n'),
        ("src/launch/a.cc", 'constexpr std::string_view names = "f host "\n    "machine-file";\n'),
        ("python/unisono/a.py", '"""The moon is away."""\nprint("the moon is away")\n'),
    ],
)
def test_what_is_no_message_is_let_be(tmp_path: Path, name: str, text: str) -> None:
    assert said(tmp_path, {name: text}) == []


def test_messages_about_what_was_asked_have_a_page_of_their_own(tmp_path: Path) -> None:
    source = {"python/unisono/a.py": 'raise UsageError(f"{size}: the moon is no size")\n'}
    lines = said_by_check("check_messages.py", tmp_path, source)
    assert "tools/check_messages.py --write" in lines[0]
    command = [sys.executable, str(tmp_path / "tools/check_messages.py"), "--write"]
    subprocess.run(command, check=True, timeout=50)
    assert "\n...: the moon is no size\n" in (tmp_path / GENERATED).read_text()
    assert said_by_check("check_messages.py", tmp_path, {}) == []
    source = {"python/unisono/a.py": 'raise UsageError(f"{size}: the sun is no size")\n'}
    assert any("differs" in line for line in said_by_check("check_messages.py", tmp_path, source))


def test_places_of_messages_that_are_gone_are_found(tmp_path: Path) -> None:
    page = "| message | what it means |\n| --- | --- |\n| `...: the sea is full`, `...: no ship ever comes` | wait |\n"
    source = 'void f() {\n  log::warning(x + ": the sea is full");\n}\n'
    assert said(tmp_path, {PAGE: page, "src/runtime/a.cc": source}) == [
        f"{PAGE}: no message has 'no ship ever comes' any more"
    ]
