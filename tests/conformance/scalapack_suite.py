# SPDX-License-Identifier: BSD-3-Clause
"""The tests of ScaLAPACK, PBLAS and BLACS, from Debian's package: a part is a program, a case one of the checks that it prints."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import packages
from cells import DIED, FAILED, HUNG, NATIVE, PASSED, SKIPPED, Outcomes
from jobs import Jobs
from mpis import Mpi

FOLDERS = {"openmpi4": "openmpi-tests", "mpich4": "mpich-tests"}
JOB_SECONDS = 300.0
END = "(the program's end)"

# A table's row ends in a word of this kind; explanations hold it in a sentence.
_ROW = re.compile(r"^(?!THRESH)(?!.*\bflagged\b)(?=.*\b(PASSED|FAILED|FAILURE)\b).*$", re.MULTILINE)
_BLACS = re.compile(
    r"^(\w[\w ]* TESTS): +\d+ TESTS; +(\d+) PASSED, +\d+ SKIPPED, +(\d+) FAILED\.$", re.MULTILINE
)
# What BLACS says of single tests, "PASSED  BLACS_GRIDMAP TEST".
_NAMED = re.compile(r"^ *(PASSED|FAILED|SKIPPED) +(\w.*?) *$", re.MULTILINE)
_SUMMARY_FAILURES = re.compile(r"^ *(\d+) tests completed and failed", re.MULTILINE)


def read_output(text: str) -> Outcomes:
    """Return what a program's output says of each of its checks, by number: some rows are alike but for their times."""
    cases: Outcomes = {}
    for name, passed, failed in _BLACS.findall(text):
        cases[f"{name} ({passed} passed)"] = FAILED if int(failed) else PASSED
    for word, name in _NAMED.findall(text):
        cases[name] = {"PASSED": PASSED, "SKIPPED": SKIPPED}.get(word, FAILED)
    rows = [row for row in _ROW.finditer(text) if not _BLACS.match(row[0]) and not _NAMED.match(row[0])]
    checks = [row for row in rows if not ("PASSED" in row[0] and "FAILED" in row[0])]
    for number, row in enumerate(checks, 1):
        cases[f"check {number}"] = PASSED if row[1] == "PASSED" else FAILED
    for count in _SUMMARY_FAILURES.findall(text):
        cases["(the summary)"] = FAILED if int(count) else PASSED
    return cases


class ScalapackSuite:
    name = "scalapack"
    title = "ScaLAPACK's tests"
    about = (
        "The test programs of Debian's package `scalapack-mpi-test` with their own inputs: BLACS, PBLAS and ScaLAPACK in four "
        "precisions. Each is built for Open MPI and for MPICH, and runs with 4 ranks, as their own CTest files have it. "
        "A case is one check that a program prints as passed or failed."
    )
    mpis = ("openmpi4", "mpich4")
    variants = (NATIVE, "unisono", "point_to_point", "point_to_point_all")
    parts_per_job = 1

    def ranks(self, mpi: Mpi) -> Sequence[int]:
        return (4,)

    def version(self) -> str:
        return packages.version("scalapack-mpi-test")

    def _folder(self, mpi: Mpi) -> Path:
        return packages.LIBRARIES / "scalapack" / FOLDERS[mpi.name]

    def parts(self, mpi: Mpi) -> list[str]:
        folder = self._folder(mpi)
        if not folder.exists():
            raise SystemExit("scalapack-mpi-test is not installed: run tools/setup.sh conformance")
        programs = [path for pattern in ("x*", "PBLAS/*tst", "BLACS/x*") for path in folder.glob(pattern)]
        # BLACS' own are links to two that lie among the others.
        return sorted(
            str(path.relative_to(folder))
            for path in programs
            if path.name[2:] != "btest" or path.is_symlink()
        )

    def run(
        self, jobs: Jobs, mpi: Mpi, ranks: int, variant: str, parts: Sequence[str], directory: Path
    ) -> dict[str, Outcomes]:
        return {part: self._run(jobs, mpi, ranks, variant, part, directory) for part in parts}

    def _run(self, jobs: Jobs, mpi: Mpi, ranks: int, variant: str, part: str, directory: Path) -> Outcomes:
        program = self._folder(mpi) / part
        for data in program.parent.glob("*.dat"):
            (directory / data.name).symlink_to(data.resolve())
        result = jobs.run(mpi, ranks, variant, [program], directory, timeout=JOB_SECONDS)
        (directory / "job").write_text(str(result))
        (directory / "output").write_text(result.output)
        cases = read_output(result.output)
        # BLACS' programs end with a test of MPI_Abort, all others well.
        is_abort = "The final auxiliary test is for BLACS_ABORT" in result.output
        if result.is_timed_out:
            cases[END] = HUNG
        else:
            cases[END] = PASSED if (result.status != 0) == is_abort and cases else DIED
        return cases
