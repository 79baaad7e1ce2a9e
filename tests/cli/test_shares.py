# SPDX-License-Identifier: BSD-3-Clause
"""How runs share the tests (tests/shared/shares.py): all shares together have everything, and each has something of it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from conftest import ROOT

TESTS = """
import pytest

def test_one():
    pass

@pytest.mark.parametrize("number", range(10))
def test_many(number):
    pass

@pytest.mark.parametrize("number", range(2))
def test_two(number):
    pass

@pytest.mark.dear
def test_long():
    pass

@pytest.mark.dear
@pytest.mark.parametrize("number", range(3))
def test_long_of_three(number):
    pass

@pytest.mark.dear("group")
@pytest.mark.parametrize("number", range(3))
def test_group(number):
    pass

@pytest.mark.dear("group")
def test_of_the_group():
    pass
"""


def selected(folder: Path, *options: str) -> list[str]:
    (folder / "test_made_up.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-p", "shares", "--strict-markers"]
    done = subprocess.run(
        [*command, *options, "test_made_up.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests/shared")},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return [line.partition("::")[2] for line in done.stdout.splitlines() if "::" in line]


def test_all_shares_have_everything(tmp_path: Path):
    everything = selected(tmp_path)
    assert len(everything) == 1 + 10 + 2 + 1 + 3 + 3 + 1
    times: Counter[str] = Counter()
    for number in range(1, 5):
        own = selected(tmp_path, "--share", f"{number}/4")
        times.update(own)
        of_tests = Counter(name.split("[")[0] for name in own)
        assert of_tests["test_many"] in (2, 3), "a quarter of its combinations"
        assert of_tests["test_two"] == of_tests["test_one"] == 1, "at least one"
        assert (of_tests["test_group"], of_tests["test_of_the_group"]) in ((0, 0), (3, 1))
        assert (
            1 <= of_tests["test_long"] + of_tests["test_long_of_three"] + of_tests["test_of_the_group"] <= 2
        )
    assert set(times) == set(everything)
    dear = [times[name] for name in everything if "long" in name or "group" in name]
    assert dear == [1] * len(dear), "one share has it"


@pytest.mark.parametrize("share", ["5/4", "0/4", "1", "a/b"])
def test_what_is_no_share_is_refused(tmp_path: Path, share: str):
    with pytest.raises(AssertionError, match="share"):
        selected(tmp_path, "--share", share)
