# SPDX-License-Identifier: BSD-3-Clause
"""The kernel lets ranks read each other's memory at the start, and refuses later: no result differs."""

from __future__ import annotations

import json

import pytest
from harness import Runner, compile_program
from mpis import Mpi

OPERATIONS = ("bcast", "reduce", "allreduce", "scatter", "gather", "allgather", "alltoall")
WORDS = "the kernel refuses to let ranks read each other's memory, though it did not at the start"
# The MPIs' own reads fail then, natively too: what is left to them must do without.
WITHOUT_READS = {
    "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
    "OMPI_MCA_smsc": "^cma",
    "UCX_TLS": "posix,self",
    "FI_SHM_DISABLE_CMA": "1",
    "I_MPI_SHM_CMA": "0",
    "MPIR_CVAR_CH4_CMA_ENABLE": "0",
}


@pytest.mark.in_turns(3, 1)
@pytest.mark.parametrize("way", ["calls", "thread"])
def test_reads_that_are_refused_later_are_made_by_the_memory_s_owners(
    mpi: Mpi, runner: Runner, way: str
) -> None:
    """In blocking calls once: those after it do without single copy. In others as often as they are made."""
    report = runner.scratch / "report.json"
    environment = {
        **WITHOUT_READS,
        "UNISONO_ALGORITHM": ",".join(f"{name}:single_copy" for name in OPERATIONS),
        "UNISONO_REPORT": str(report),
    }
    result = runner.unisono(mpi, 3, [compile_program(mpi, "refused.c"), way], environment)
    assert result.check().output == "OK\n", str(result)
    written = json.loads(report.read_text())
    served = {
        (entry["form"], entry["operation"])
        for entry in written["classes"]
        if entry["algorithm"].startswith("single_copy")
    }
    forms = ("blocking", "non-blocking", "persistent")
    assert served == {(form, operation) for form in forms for operation in OPERATIONS}, written["classes"]
    assert any(WORDS in warning for warning in written["warnings"]), written["warnings"]
