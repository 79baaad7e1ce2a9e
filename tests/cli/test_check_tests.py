# SPDX-License-Identifier: BSD-3-Clause
"""What tools/check_tests.py finds: private names, changed environments, and options that no test sets."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import said_by_check

# In pieces, since this file is looked at as well.
PRIVATE = "_" + "inner"


def found(tmp_path: Path, files: dict[str, str]) -> list[str]:
    """What is said of a tree of these files."""
    return said_by_check("check_tests.py", tmp_path, files)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        (
            "tests/cli/test_a.py",
            f"from unisono.page.colours import {PRIVATE}\n",
            f"line 1: {PRIVATE} is private",
        ),
        (
            "tests/cli/test_a.py",
            f"import unisono\nfrom unisono import page\npage.{PRIVATE}()\n",
            f"line 3: page.{PRIVATE} is private",
        ),
        ("tests/cli/test_a.py", f'patch("unisono.page.{PRIVATE}")\n', f"unisono.page.{PRIVATE} is private"),
        ("tests/cli/test_a.py", f"class A:\n    def f(self):\n        self.{PRIVATE}()\n", None),
        ("tests/cli/test_a.py", "from unisono.page import colours\ncolours.__doc__\n", None),
        ("tests/unit/a_test.cc", "#define private public\n", "line 1: opens what is private to a test"),
        ("src/base/a.h", "class A {\n  friend class ATest;\n};\n", "line 2: opens what is private to a test"),
        ("src/base/a.h", "class A {\n  friend class B;\n};\n", None),
        ("tests/unit/a_test.cc", '::setenv("A", "1", 1);\n', "changes the test's own environment"),
        ("tests/integration/programs/a.cc", 'setenv("A", "1", 1);\n', None),
        ("tests/unit/a_test.cc", "fesetenv(FE_DFL_ENV);\n", None),
    ],
)
def test_what_is_found(tmp_path: Path, name: str, text: str, said: str | None) -> None:
    lines = found(tmp_path, {name: text})
    assert len(lines) == (said is not None), lines
    assert said is None or (lines[0].startswith(name) and said in lines[0])


OPTION = 'flag("a_b", "UNISONO_A_B", "general",\n     "What.", &Options::is_a_b),\n'


@pytest.mark.parametrize(
    ("name", "text", "is_set"),
    [
        ("tests/unit/a_test.cc", "options_.is_a_b = true;\n", True),
        ("tests/integration/test_a.py", 'run("--a-b")\n', True),
        ("tests/integration/test_a.py", 'run({"UNISONO_A_B": "1"})\n', True),
        ("tests/integration/test_a.py", 'run({"UNISONO_A_BC": "1"})\n', False),
        ("tests/unit/base/options_test.cc", "options.is_a_b = true;\n", False),
    ],
)
def test_options_are_set_by_tests(tmp_path: Path, name: str, text: str, is_set: bool) -> None:
    said = ["src/base/option_list.cc: option a_b is set by no test"]
    assert found(tmp_path, {"src/base/option_list.cc": OPTION, name: text}) == ([] if is_set else said)
