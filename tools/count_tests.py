#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Counts the test cases in JUnit files and prints `N passed, N failed`; skipped ones stand before it, by their reasons.

A file that is missing or unreadable counts as one failure: a suite that did not get as far as writing its
results has not passed. `--check NAME=STATUS` adds a check that is not a test suite (the linters), by its
exit status.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree


def count(path: Path, reasons: Counter[str]) -> tuple[int, int, int]:
    """Passed, failed and skipped cases of one JUnit file; adds why some were skipped."""
    try:
        cases = list(ElementTree.parse(path).getroot().iter("testcase"))
    except (OSError, ElementTree.ParseError) as error:
        print(f"{path}: {error}: the suite did not finish")
        return 0, 1, 0
    failed = skipped = 0
    for case in cases:
        if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
            failed += 1
        elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
            skipped += 1
            reason = case.find("skipped")
            reasons[(reason.get("message") if reason is not None else None) or "not run"] += 1
    return len(cases) - failed - skipped, failed, skipped


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", type=Path, help="JUnit files")
    parser.add_argument("--check", action="append", default=[], metavar="NAME=STATUS", help="a further check")
    arguments = parser.parse_args()
    passed = failed = 0
    reasons: Counter[str] = Counter()
    for path in arguments.files:
        file_passed, file_failed, file_skipped = count(path, reasons)
        print(f"{path.stem}: {file_passed} passed, {file_failed} failed, {file_skipped} skipped")
        passed += file_passed
        failed += file_failed
    for check in arguments.check:
        name, _, status = check.partition("=")
        print(f"{name}: {'passed' if status == '0' else 'failed'}")
        passed += status == "0"
        failed += status != "0"
    for reason, number in sorted(reasons.items()):
        print(f"skipped {number}: {reason}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
