#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the test cases in JUnit files and prints `N passed, N failed`; how many were skipped, which and why stands before it.

A file that is missing or unreadable counts as one failure: a suite that did not get as far as writing its
results has not passed. `--check NAME=STATUS` adds a check that is not a test suite (the linters), by its
exit status.

CTest runs a file of tests as one case. What GoogleTest or unittest skipped in it is read from what the file printed,
and counts beside the file. A file that skipped all of its tests has not passed.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

RUN_OF_GOOGLETEST = re.compile(r"^\[ RUN      \] (\S+)$", re.MULTILINE)
SKIPPED_BY_GOOGLETEST = re.compile(r"^\[  SKIPPED \] (\S+) \(\d+ ms\)$", re.MULTILINE)
REASON_OF_GOOGLETEST = re.compile(r"^\S+:\d+: Skipped\n(.*?)\n*\Z", re.MULTILINE | re.DOTALL)
NONE_PASSED = re.compile(r"^\[  PASSED  \] 0 tests\.$", re.MULTILINE)
# What a test says of itself stands in a second line.
SKIPPED_BY_UNITTEST = re.compile(
    r"^(test\w*) \([^)]*\)(?:\n[^\n]*)? \.\.\. skipped ['\"](.*)['\"]$", re.MULTILINE
)
TESTS_OF_UNITTEST = re.compile(r"^Ran (\d+) tests? in .*\n\n\w+ \(.*\bskipped=(\d+)[,)]", re.MULTILINE)
UNTOLD = "no reason given"


def of_googletest(printed: str) -> Iterator[tuple[str, str]]:
    """What was skipped, and why."""
    for skipped in SKIPPED_BY_GOOGLETEST.finditer(printed):
        before = printed[: skipped.start()]
        runs = list(RUN_OF_GOOGLETEST.finditer(before))
        reason = REASON_OF_GOOGLETEST.search(before, runs[-1].end() if runs else 0)
        yield skipped[1], (" ".join(reason[1].split()) if reason else "") or UNTOLD


def of_unittest(printed: str) -> list[tuple[str, str]]:
    """The same, of `unittest -v`; its last lines count those that other output hid."""
    found = [(name, reason or UNTOLD) for name, reason in SKIPPED_BY_UNITTEST.findall(printed)]
    counted = sum(int(count) for _, count in TESTS_OF_UNITTEST.findall(printed))
    return found + [("a test", UNTOLD)] * (counted - len(found))


def skipped_inside(case: ElementTree.Element) -> tuple[list[tuple[str, str]], bool]:
    """What a case skipped of the tests in it, and whether it skipped all."""
    printed = case.findtext("system-out") or ""
    file = case.get("name", "?")
    skipped = [
        (f"{file}: {name}", reason) for name, reason in (*of_googletest(printed), *of_unittest(printed))
    ]
    of_all = TESTS_OF_UNITTEST.search(printed)
    are_all = NONE_PASSED.search(printed) is not None or (of_all is not None and of_all[1] == of_all[2])
    return skipped, bool(skipped) and are_all


def name_of(case: ElementTree.Element) -> str:
    """A case as pytest selects it, or as CTest names it, which gives its name as its class too."""
    name, of_class = case.get("name", "?"), case.get("classname", "")
    return name if of_class in ("", name) else f"{of_class.replace('.', '/')}.py::{name}"


def count(path: Path, reasons: dict[str, list[str]]) -> tuple[int, int, int]:
    """Passed, failed and skipped cases of one JUnit file; adds which were skipped, by why."""
    try:
        cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError) as error:
        print(f"{path}: {error}: the suite did not finish")
        return 0, 1, 0
    passed = failed = 0
    skipped: list[tuple[str, str]] = []
    for case in cases:
        inside, is_skipped = skipped_inside(case)
        skipped += inside
        if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
            failed += 1
        elif (reason := case.find("skipped")) is not None or case.get("status") in ("notrun", "disabled"):
            why = reason.get("message") if reason is not None else None
            skipped.append((name_of(case), why or "not run"))
        elif not is_skipped:
            passed += 1
    for name, why in skipped:
        reasons[why].append(name)
    return passed, failed, len(skipped)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path, help="JUnit files")
    parser.add_argument("--check", action="append", default=[], metavar="NAME=STATUS", help="a further check")
    arguments = parser.parse_args()
    passed = failed = skipped = 0
    reasons: dict[str, list[str]] = defaultdict(list)
    for path in arguments.files:
        file_passed, file_failed, file_skipped = count(path, reasons)
        print(f"{path.stem}: {file_passed} passed, {file_failed} failed, {file_skipped} skipped")
        passed += file_passed
        failed += file_failed
        skipped += file_skipped
    for check in arguments.check:
        name, _, status = check.partition("=")
        print(f"{name}: {'passed' if status == '0' else 'failed'}")
        passed += status == "0"
        failed += status != "0"
    for reason, names in sorted(reasons.items()):
        print(f"skipped {len(names)}: {reason}")
        print("".join(f"  {name}\n" for name in names), end="")
    print(f"{skipped} skipped in all")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
