# SPDX-License-Identifier: BSD-3-Clause
"""What tools/check_locks.py finds: what a mutex guards is used without it, or a lock is not what a function needs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

HEADER = """
#pragma once
#include "base/mutex.h"
namespace unisono {
class Counter {
 public:
  void count();
  void count_held() UNISONO_REQUIRES(mutex_);
  int pause() UNISONO_EXCLUDES(mutex_);

 private:
  Mutex mutex_;
  int value_ UNISONO_GUARDED_BY(mutex_) = 0;
};
}  // namespace unisono
"""
SOURCE = """
#include "base/counter.h"
namespace unisono {
void Counter::count_held() { ++value_; }
void Counter::count() { COUNT }
int Counter::pause() { PAUSE }
}  // namespace unisono
"""
COUNT = "const LockGuard lock(mutex_); count_held();"
PAUSE = """
  if (!mutex_.try_lock()) return 0;
  const LockGuard lock(mutex_, std::adopt_lock);
  { const GivenUp given_up(mutex_); }
  return value_;"""


def check(
    tmp_path: Path, count: str, pause: str, path: str | None = None
) -> subprocess.CompletedProcess[str]:
    files = {
        "tools/check_locks.py": (ROOT / "tools/check_locks.py").read_text(),
        "src/base/mutex.h": (ROOT / "src/base/mutex.h").read_text(),
        "src/base/counter.h": HEADER,
        "src/base/counter.cc": SOURCE.replace("COUNT", count).replace("PAUSE", pause),
        "src/base/other.cc": "int no_lock_here = 1\n",  # not looked at: reaches no annotations
    }
    for name, text in files.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    environment = None if path is None else {"PATH": path}
    command = [sys.executable, str(tmp_path / "tools/check_locks.py")]
    return subprocess.run(command, capture_output=True, text=True, timeout=50, check=False, env=environment)


@pytest.mark.skipif(shutil.which("clang++") is None, reason="there is no clang++ here")
@pytest.mark.parametrize(
    ("count", "pause", "said"),
    [
        (COUNT, PAUSE, None),
        ("++value_;", PAUSE, "writing variable 'value_' requires holding mutex 'mutex_' exclusively"),
        ("count_held();", PAUSE, "calling function 'count_held' requires holding mutex 'mutex_'"),
        (COUNT + " pause();", PAUSE, "cannot call function 'pause' while mutex 'mutex_' is held"),
        ("UniqueLock lock(mutex_); lock.unlock(); count_held();", PAUSE, "calling function 'count_held'"),
        (
            COUNT,
            "const LockGuard lock(mutex_); const GivenUp given_up(mutex_); return value_;",
            "reading variable",
        ),
        (COUNT, "mutex_.lock(); return value_;", "mutex 'mutex_' is still held at the end of function"),
    ],
)
def test_what_is_found(tmp_path: Path, count: str, pause: str, said: str | None) -> None:
    done = check(tmp_path, count, pause)
    assert done.returncode == (said is not None), done.stdout + done.stderr
    assert (said or "") in done.stdout
    assert bool(done.stdout) == (said is not None), done.stdout


def test_without_clang_a_line_says_that_nothing_is_checked(tmp_path: Path) -> None:
    done = check(tmp_path, "++value_;", PAUSE, path=str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "lint: locks: not checked, no clang\n")
