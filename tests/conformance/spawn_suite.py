# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py's tests of spawning, and of processes that meet otherwise, on MPIs that spawn."""

from __future__ import annotations

from collections.abc import Sequence

from cells import NATIVE
from mpi4py_suite import Mpi4pySuite
from mpis import Mpi


class SpawnSuite(Mpi4pySuite):
    """Two modules of mpi4py's suite, with all that they need to run on each MPI."""

    name = "spawn"
    title = "Spawned processes: mpi4py's tests"
    about = (
        "`test_spawn` and `test_dynproc` of mpi4py, as above. Children run under Unisono, too (option `spawn`). "
        "Intel MPI is told that it may spawn (`I_MPI_SPAWN`), and mpi4py to receive without MPI_Mprobe there, since it leaves these tests out else."
    )
    mpis = ("openmpi5", "mpich5", "intel", "openmpi4")
    variants = (NATIVE, "unisono")

    def ranks(self, mpi: Mpi) -> Sequence[int]:
        return (1, 2, 3)

    def parts(self, mpi: Mpi) -> list[str]:
        return ["test_dynproc", "test_spawn"]

    def environment(self, mpi: Mpi) -> dict[str, str]:
        if mpi.family != "intel":
            return {}
        return {"I_MPI_SPAWN": "on", "MPI4PY_RC_RECV_MPROBE": "false"}
