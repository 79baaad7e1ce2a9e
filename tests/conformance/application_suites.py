# SPDX-License-Identifier: BSD-3-Clause
"""HPCC and LAMMPS, as Debian packages them: what they check themselves, and what they print."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

import packages
from cells import DIED, FAILED, HUNG, NATIVE, PASSED, Outcomes
from jobs import Jobs
from mpis import ROOT, Mpi

INPUTS = ROOT / "tests/integration/inputs"
EXAMPLES = Path("/usr/share/lammps/examples")
JOB_SECONDS = 300.0


def read_hpcc(text: str) -> Outcomes:
    """Return what HPCC's output file says of each of its checks."""
    cases: Outcomes = {}

    def check(name: str, is_right: bool) -> None:
        cases[name] = PASSED if is_right else FAILED

    section = ""
    errors = 0
    for line in text.splitlines():
        if begin := re.match(r"Begin of (\w+) section", line):
            section, errors = begin[1], 0
        elif found := re.match(r"Found (\d+) errors in \d+ locations \((\w+)\)", line):
            errors += 1
            check(f"{section} {errors}", found[1] == "0" and found[2] == "passed")
        elif found := re.match(r" *(\d+) tests completed and failed residual checks", line):
            check(f"{section} residuals", found[1] == "0")
        elif found := re.match(r"Node\(s\) with error (\d+)", line):
            check(f"{section} nodes", found[1] == "0" and cases.get(f"{section} nodes") != FAILED)
    values = dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))
    check("Success", values.get("Success") == "1")
    # A part that could not run leaves -1.
    for name in ("PTRANS_residual", "HPL_RnormI", "MPIFFT_maxErr"):
        check(name, 0 <= float(values.get(name, "-1")) < 1e-3)
    return cases


class HpccSuite:
    name = "hpcc"
    title = "HPCC"
    about = (
        "Debian's `hpcc` with `tests/integration/inputs/hpccinf.txt`; the cases are the checks in its output file: residuals of HPL and "
        "PTRANS, errors of RandomAccess and FFT, nodes with errors, and its final `Success`."
    )
    mpis = ("openmpi4",)
    variants = (NATIVE, "unisono", "learning", "point_to_point", "point_to_point_all")
    parts_per_job = 1

    def ranks(self, mpi: Mpi) -> Sequence[int]:
        return (4, 5, 8)  # its input asks for at least 2 x 2

    def version(self) -> str:
        return packages.version("hpcc")

    def parts(self, mpi: Mpi) -> list[str]:
        return ["hpcc"]

    def run(
        self, jobs: Jobs, mpi: Mpi, ranks: int, variant: str, parts: Sequence[str], directory: Path
    ) -> dict[str, Outcomes]:
        shutil.copy(INPUTS / "hpccinf.txt", directory / "hpccinf.txt")
        result = jobs.run(mpi, ranks, variant, [packages.program("hpcc")], directory, timeout=JOB_SECONDS)
        (directory / "job").write_text(str(result))
        output = directory / "hpccoutf.txt"
        cases = read_hpcc(output.read_text() if output.exists() else "")
        if result.is_timed_out or result.status != 0:
            cases["(the program's end)"] = HUNG if result.is_timed_out else DIED
        return {"hpcc": cases}


def thermodynamics(text: str) -> list[str]:
    """Return the rows of all tables that LAMMPS prints between a header and a loop time. With them comes what
    it prints of steps in several lines (`thermo_style multi`), without the time that a step took."""
    tables = re.findall(r"^ *Step .*?(?=^Loop time)", text, re.MULTILINE | re.DOTALL)
    steps = re.findall(r"^-+ +(Step +\d+) -.*\n((?:\w+ += .*\n)+)", text, re.MULTILINE)
    rows = [f"{step}: {' '.join(values.split())}" for step, values in steps]
    return [row for table in tables for row in table.splitlines()] + rows


class LammpsSuite:
    name = "lammps"
    title = "LAMMPS"
    about = (
        "Debian's `lammps` with inputs of its `lammps-examples` and the melt of `tests/integration/inputs`. A case is one row of its thermodynamic "
        "output, which is to be the same, digit for digit, as in a native run beside it (natively: in another one)."
    )
    mpis = ("openmpi4",)
    variants = (NATIVE, "unisono", "learning", "point_to_point", "point_to_point_all")
    parts_per_job = 1
    # Where sums act on the motion (a thermostat, say), their order, which MPI leaves open, shows after some thousand steps.
    examples = ("melt/in.melt", "crack/in.crack", "min/in.min", "peptide/in.peptide")

    def ranks(self, mpi: Mpi) -> Sequence[int]:
        return (2, 4, 8)

    def version(self) -> str:
        return packages.version("lammps")

    def parts(self, mpi: Mpi) -> list[str]:
        return ["melt.lammps", *self.examples]

    def run(
        self, jobs: Jobs, mpi: Mpi, ranks: int, variant: str, parts: Sequence[str], directory: Path
    ) -> dict[str, Outcomes]:
        return {part: self._run(jobs, mpi, ranks, variant, part, directory) for part in parts}

    def _run(self, jobs: Jobs, mpi: Mpi, ranks: int, variant: str, part: str, directory: Path) -> Outcomes:
        source = INPUTS / part if part == "melt.lammps" else EXAMPLES / part
        if not source.exists():
            raise SystemExit("lammps-examples is not installed: run tools/setup.sh conformance")
        tables = []
        for turn in (NATIVE, variant):
            own = directory / f"{len(tables)}-{turn}"
            shutil.copytree(source.parent, own)
            command = [packages.program("lmp"), "-in", source.name, "-log", "none"]
            result = jobs.run(mpi, ranks, turn, command, own, timeout=JOB_SECONDS)
            (own / "job").write_text(str(result))
            tables.append(thermodynamics(result.output))
        expected, rows = tables
        cases = {
            f"row {number}": PASSED if rows[number : number + 1] == [row] else FAILED
            for number, row in enumerate(expected)
        }
        is_right = result.status == 0 and len(rows) == len(expected) > 1
        cases["(the program's end)"] = HUNG if result.is_timed_out else PASSED if is_right else DIED
        return cases
