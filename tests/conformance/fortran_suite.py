# SPDX-License-Identifier: BSD-3-Clause
"""A Fortran program for each binding, on each MPI that has it; tests/integration runs them as well."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import harness
import packages
from cells import DIED, FAILED, HUNG, NATIVE, PASSED, Outcomes
from jobs import Jobs
from mpis import ALL, Mpi


class FortranSuite:
    name = "fortran"
    title = "Fortran"
    about = (
        "`tests/integration/programs/fortran_*.f90`: every blocking collective with the sentinels that Fortran passes, through `mpif.h`, `use mpi` "
        "and `use mpi_f08`, on each MPI that has the binding for this compiler. A case is one call."
    )
    mpis = tuple(mpi.name for mpi in ALL if mpi.fortran_bindings)
    variants = (NATIVE, "unisono", "point_to_point", "point_to_point_all")
    parts_per_job = 1

    def ranks(self, mpi: Mpi) -> Sequence[int]:
        return (1, 2, 3, 5, 8)

    def version(self) -> str:
        return f"gfortran {packages.version('gfortran')}"

    def parts(self, mpi: Mpi) -> list[str]:
        return list(mpi.fortran_bindings)

    def run(
        self, jobs: Jobs, mpi: Mpi, ranks: int, variant: str, parts: Sequence[str], directory: Path
    ) -> dict[str, Outcomes]:
        outcomes = {}
        for part in parts:
            program = harness.compile_program(mpi, f"fortran_{part}.f90")
            result = jobs.run(mpi, ranks, variant, [program], directory, timeout=120)
            (directory / "job").write_text(str(result))
            words = [line.split() for line in result.output.splitlines()]
            cases = {line[1]: PASSED if line[0] == "right" else FAILED for line in words if len(line) == 2}
            is_right = result.status == 0 and words[-1:] == [["OK"]] and len(cases) > 1
            cases["(the program's end)"] = HUNG if result.is_timed_out else PASSED if is_right else DIED
            outcomes[part] = cases
        return outcomes
