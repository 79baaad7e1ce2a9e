# SPDX-License-Identifier: BSD-3-Clause
"""What tools/count_tests.py counts: cases of JUnit files, and what GoogleTest and unittest skipped within one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from xml.sax.saxutils import escape

import pytest
from conftest import ROOT

PASSED = '<testcase name="t" classname="t" status="run">'
GOOGLETEST = """[ RUN      ] Pool.Shares
[       OK ] Pool.Shares (0 ms)
[ RUN      ] Pool.StaysApart
/a/pool_test.cc:164: Skipped
namespaces are not
permitted here

[  SKIPPED ] Pool.StaysApart (0 ms)
[==========] 2 tests from 1 test suite ran. (0 ms total)
[  PASSED  ] {passed}.
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Pool.StaysApart
"""
WITHOUT_A_REASON = """[ RUN      ] Pool.Shares
/a/pool_test.cc:164: Skipped


[  SKIPPED ] Pool.Shares (0 ms)
[  PASSED  ] 7 tests.
"""
UNITTEST = """test_a (__main__.C.test_a) ... ok
test_b (__main__.C.test_b) ... skipped 'needs root'
test_c (__main__.C.test_c)
What it looks at. ... skipped "needs a user's home"
{hidden}
----------------------------------------------------------------------
Ran {ran} tests in 1.5s

{outcome}
"""


def told(tmp_path: Path, cases: str, *arguments: str) -> tuple[int, list[str]]:
    """The exit status and the lines for a file unit.xml with these cases."""
    file = tmp_path / "unit.xml"
    file.write_text(f'<?xml version="1.0" encoding="UTF-8"?>\n<testsuite>{cases}</testsuite>\n')
    command = [sys.executable, str(ROOT / "tools/count_tests.py"), str(file), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


def printed(text: str) -> str:
    """A case that passed, which printed this."""
    return f"{PASSED}<system-out>{escape(text)}</system-out></testcase>"


def test_the_last_line_counts_cases_and_checks(tmp_path: Path) -> None:
    cases = f"{2 * (PASSED + '</testcase>')}<testcase name='f' classname='f'><failure message=''/></testcase>"
    assert told(tmp_path, cases, "--check", "lint=0", "--check", "other=1") == (
        1,
        [
            "unit: 2 passed, 1 failed, 0 skipped",
            "lint: passed",
            "other: failed",
            "0 skipped in all",
            "3 passed, 2 failed",
        ],
    )


def test_what_pytest_and_ctest_skipped_is_named(tmp_path: Path) -> None:
    cases = (
        '<testcase name="test_b[mpich4]" classname="test_a"><skipped type="pytest.skip" message="needs root"/></testcase>'
        '<testcase name="c" classname="c" status="disabled"/>'
    )
    assert told(tmp_path, cases)[1] == [
        "unit: 0 passed, 0 failed, 2 skipped",
        "skipped 1: needs root",
        "  test_a.py::test_b[mpich4]",
        "skipped 1: not run",
        "  c",
        "2 skipped in all",
        "0 passed, 0 failed",
    ]


@pytest.mark.parametrize(
    ("text", "passed", "said"),
    [
        (
            GOOGLETEST.format(passed="1 test"),
            1,
            ["skipped 1: namespaces are not permitted here", "  t: Pool.StaysApart"],
        ),
        (
            GOOGLETEST.format(passed="0 tests"),
            0,
            ["skipped 1: namespaces are not permitted here", "  t: Pool.StaysApart"],
        ),
        (WITHOUT_A_REASON, 1, ["skipped 1: no reason given", "  t: Pool.Shares"]),
        (
            UNITTEST.format(hidden="", ran=3, outcome="OK (skipped=2)"),
            1,
            ["skipped 1: needs a user's home", "  t: test_c", "skipped 1: needs root", "  t: test_b"],
        ),
        (
            UNITTEST.format(hidden="other output", ran=3, outcome="OK (skipped=3, expected failures=1)"),
            0,
            [
                "skipped 1: needs a user's home",
                "  t: test_c",
                "skipped 1: needs root",
                "  t: test_b",
                "skipped 1: no reason given",
                "  t: a test",
            ],
        ),
    ],
)
def test_what_is_skipped_within_a_case_is_counted(
    tmp_path: Path, text: str, passed: int, said: list[str]
) -> None:
    skipped = len(said) // 2
    assert told(tmp_path, printed(text))[1] == [
        f"unit: {passed} passed, 0 failed, {skipped} skipped",
        *said,
        f"{skipped} skipped in all",
        f"{passed} passed, 0 failed",
    ]


def test_a_case_that_failed_tells_what_it_skipped(tmp_path: Path) -> None:
    text = UNITTEST.format(hidden="", ran=3, outcome="FAILED (failures=1, skipped=2)")
    failed = printed(text).replace("</testcase>", '<failure message=""/></testcase>')
    assert told(tmp_path, failed)[1][0] == "unit: 0 passed, 1 failed, 2 skipped"


def test_a_suite_that_left_no_results_has_failed(tmp_path: Path) -> None:
    status, lines = told(tmp_path, "<")
    assert (status, lines[-1]) == (1, "0 passed, 1 failed")
    assert lines[0].endswith("the suite did not finish")
