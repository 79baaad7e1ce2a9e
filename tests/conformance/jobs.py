# SPDX-License-Identifier: BSD-3-Clause
"""Starts the jobs of suites, natively or by `unisono run`; all else is the same for both."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import again
import harness
import job
import mpis
from cells import NATIVE, options
from mpis import ROOT, Mpi


class Jobs:
    """Starts jobs; each writes into the directory that it is given."""

    def __init__(self, run_again: again.RunAgain = again.OF_THIS_PROCESS) -> None:
        self.again = run_again
        self._runner = harness.Runner(harness.build_yield_preload(), harness.COMPILED)

    def python(self, mpi: Mpi) -> dict[str, str]:
        """Return what ranks need to run this interpreter with mpi4py over this MPI."""
        return self._runner.python(mpi)

    def run(
        self,
        mpi: Mpi,
        ranks: int,
        variant: str,
        command: Sequence[str | Path],
        directory: Path,
        environment: Mapping[str, str] | None = None,
        timeout: float = 300,
        watch: job.Watch | None = None,
    ) -> job.Result:
        """Run one job; `variant` is native or one of UNDER_UNISONO. One that fails by a fault of its MPI's is run once more."""
        line = mpi.launch(ranks, command, self._runner.environment_for_ranks(mpi, ranks, environment))
        own = mpis.launcher_environment(mpi)
        if variant != NATIVE:
            line = [sys.executable, "-m", "unisono", "run", *options(variant, ranks), "--", *line]
            # Before what the environment holds: an installed Unisono is not the one under test.
            path = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH")]))
            own |= {"PYTHONPATH": path, "UNISONO_HOME": str(harness.BUILD)}
        result = job.run(line, own, timeout, directory, watch)
        if self.again.is_due(mpi, result):
            result = job.run(line, own, timeout, directory, watch)
        return result
