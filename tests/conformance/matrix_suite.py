# SPDX-License-Identifier: BSD-3-Clause
"""Every algorithm of the registry, forced, with every kind of arguments: the project's own, judged by what its program computes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import harness
import job
from cells import DIED, FAILED, HUNG, NATIVE, PASSED, SKIPPED, Outcomes
from forced import forced_choices
from jobs import Jobs
from mpis import ALL, Mpi

SECTIONS = (
    *("barrier", "counts", "roots", "in_place", "empty_blocks", "derived", "large_counts", "predefined"),
    *("types", "pairs", "user_operators", "random"),
)
# Pretended nodes by the number of ranks: with fewer ranks no node has two of them beside another node.
NODES = {
    3: "2,1",
    4: "2,2",
    5: "2,1,2",
    6: "3x2",
    7: "3,2,2",
    8: "4x2/cyclic",
    9: "3x3",
    16: "4x4",
}
ONE_NODE, TWO_LEVELS = "one_node", "two_levels"
LEVELS = {ONE_NODE: (1,), TWO_LEVELS: (2,)}
JOB_SECONDS = 300.0


def read_sections(result: job.Result) -> Outcomes:
    """Return the outcome of each section: what ended is printed with its time, what is wrong with its name."""
    ended = re.findall(r"^(\w+) +[\d.]+ s$", result.output, re.MULTILINE)
    wrong = re.findall(r"rank \d+ of \d+: section (\w+):", result.errors)
    outcomes: Outcomes = dict.fromkeys(ended, PASSED) | dict.fromkeys(wrong, FAILED)
    if re.search(r"^OK \d+ checks$", result.output, re.MULTILINE) and result.status == 0:
        return outcomes
    under_way = next((section for section in SECTIONS if section not in outcomes), "end")
    if FAILED not in outcomes.values():
        outcomes[under_way] = HUNG if result.is_timed_out else DIED
    return outcomes


class MatrixSuite:
    """A part forces one algorithm of each operation, on one node or on pretended ones; a case is a section of the program."""

    name = "matrix"
    title = "Every algorithm, forced"
    about = (
        "`tests/integration/programs/collectives` (the project's own), which computes what each call must give. It makes all operations with counts from 0 on, "
        "all roots, in place, derived, large, all predefined and pair datatypes. Operators are all predefined ones, and users' ones that do not commute. "
        "A part forces one algorithm of each operation, with small segments, on one node, or those of two levels on pretended nodes. "
        "All parts together have all of the registry; where an algorithm is not legal the rules decide. A case is a section of the program; natively it is run once for all parts of a run of the suite."
    )
    mpis = tuple(mpi.name for mpi in ALL if mpi.name != "mpich5_abi")
    variants = (NATIVE, "unisono")
    parts_per_job = 8

    def __init__(self) -> None:
        self._native: dict[tuple[str, int], Outcomes] = {}

    def ranks(self, mpi: Mpi) -> Sequence[int]:
        return (*range(1, 10), 16)

    def version(self) -> str:
        return f"{len(harness.registry())} algorithms"

    def parts(self, mpi: Mpi) -> list[str]:
        return list(self.choices())

    def choices(self) -> dict[str, str]:
        return {
            f"{where}_{turn:02d}": choice
            for where, levels in LEVELS.items()
            for turn, choice in enumerate(forced_choices(levels))
        }

    def run(
        self, jobs: Jobs, mpi: Mpi, ranks: int, variant: str, parts: Sequence[str], directory: Path
    ) -> dict[str, Outcomes]:
        choices = self.choices()
        outcomes: dict[str, Outcomes] = {}
        for part in parts:
            if part.startswith(TWO_LEVELS) and ranks not in NODES:
                outcomes[part] = dict.fromkeys(SECTIONS, SKIPPED)
                continue
            if variant != NATIVE:
                settings = {"UNISONO_ALGORITHM": choices[part]}
                if part.startswith(TWO_LEVELS):
                    settings["UNISONO_NODES"] = NODES[ranks]
                outcomes[part] = self._job(jobs, mpi, ranks, variant, settings, directory / part)
                continue
            if (mpi.name, ranks) not in self._native:
                self._native[mpi.name, ranks] = self._job(jobs, mpi, ranks, variant, {}, directory / part)
            outcomes[part] = self._native[mpi.name, ranks]
        return outcomes

    def _job(
        self, jobs: Jobs, mpi: Mpi, ranks: int, variant: str, settings: dict[str, str], directory: Path
    ) -> Outcomes:
        directory.mkdir()
        program = harness.compile_program(mpi, "collectives")
        environment = {"COLLECTIVES_NATIVE": "1", "COLLECTIVES_TIMES": "1"} | settings
        result = jobs.run(
            mpi, ranks, variant, [program, *SECTIONS], directory, environment, timeout=JOB_SECONDS
        )
        (directory / "job").write_text(str(result))
        return read_sections(result)
