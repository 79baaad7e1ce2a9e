# SPDX-License-Identifier: BSD-3-Clause
"""What a suite is: where it runs, what its parts are, and how one job runs some of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from cells import Outcomes
from jobs import Jobs
from mpis import Mpi


class Suite(Protocol):
    """One suite. `variants` are native and those of UNDER_UNISONO; `parts_per_job` says how many parts one job may run."""

    name: str
    title: str
    about: str
    mpis: Sequence[str]
    variants: Sequence[str]
    parts_per_job: int

    def ranks(self, mpi: Mpi) -> Sequence[int]:
        """Return with how many ranks it runs."""

    def version(self) -> str:
        """Return the version of the suite."""

    def parts(self, mpi: Mpi) -> list[str]:
        """Return the names of its parts on this MPI."""

    def run(
        self, jobs: Jobs, mpi: Mpi, ranks: int, variant: str, parts: Sequence[str], directory: Path
    ) -> dict[str, Outcomes]:
        """Run these parts and return the outcome of each of their cases; `directory` is empty and its own."""
