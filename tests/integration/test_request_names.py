# SPDX-License-Identifier: BSD-3-Clause
"""Functions with requests or messages: each one of an MPI's header is Unisono's, or it never meets a request of Unisono's."""

from __future__ import annotations

import re
from pathlib import Path

import job
import mpis
from mpis import Mpi

NAMES = Path(__file__).resolve().parents[2] / "src/preload/names.h"

# Functions that Unisono leaves to the MPI, and why none of its requests comes there.
OF_THE_MPI = {
    "makes requests of the MPI's own": {
        "Comm_idup",
        *(f"File_i{kind}{place}{large}" for kind in ("read", "write") for place in ("", "_at", "_all", "_at_all") for large in ("", "_c")),
        *(f"File_i{kind}_shared{large}" for kind in ("read", "write") for large in ("", "_c")),
        *(f"R{what}{large}" for what in ("put", "get", "accumulate", "get_accumulate") for large in ("", "_c")),
        "Grequest_start",
        # Buffers of communicators and sessions: Unisono's copies need no room there.
        "Comm_iflush_buffer",
        "Session_iflush_buffer",
    },
    "takes generalized requests alone": {"Grequest_complete", "Grequest_class_allocate"},
    "is of partitioned communication, which is the MPI's": {
        *("Psend_init", "Precv_init", "Pready", "Pready_range", "Pready_list", "Parrived"),
    },
    "is an extension of one MPI, on its own streams and windows": {
        *(f"I{what}_enqueue{large}" for what in ("send", "recv") for large in ("", "_c")),
        *(f"Stream_i{what}{large}" for what in ("send", "recv") for large in ("", "_c")),
        *("Wait_enqueue", "Waitall_enqueue", "Win_get_notify_request"),
        # MPIX_Request_is_complete of MPICH: not in MPI.
        "Request_is_complete",
    },
}  # fmt: skip


def functions_with_requests(mpi: Mpi, folder: Path) -> set[str]:
    """The names, without prefix, of all functions in the MPI's header that take or return requests or messages."""
    source = folder / "header.c"
    source.write_text("#include <mpi.h>\n")
    command = [mpi.compilers["c"], "-E", source]
    text = job.run(command, mpis.launcher_environment(mpi), timeout=60).check().output
    text = re.sub(r"(?m)^#.*$", "", text)
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", text.replace("\n", " "))
    text = re.sub(r"\btypedef\b[^;]*;", "", text)
    declared = re.findall(r"(\w+)\s+\**\s*P?MPIX?_(\w+)\s*\(([^();]*)\)[^;{]{0,60};", text)
    assert len(declared) > 500, f"{mpi.name}: {len(declared)} functions found"
    kinds = ("MPI_Request", "MPI_Message")
    return {
        name
        for returned, name, parameters in declared
        if any(kind in f"{returned} {parameters}" for kind in kinds)
    }


def test_every_function_with_requests_is_taken_or_the_mpis(mpi: Mpi, tmp_path: Path):
    taken = set(re.findall(r"X\((\w+)\)", NAMES.read_text()))
    of_the_mpi = set().union(*OF_THE_MPI.values())
    assert not taken & of_the_mpi
    found = functions_with_requests(mpi, tmp_path)
    assert {"Isend", "Wait", "Waitsome", "Mprobe", "Imrecv", "Cancel", "Request_free"} <= found
    missing = sorted(found - taken - of_the_mpi)
    assert not missing, f"{mpi.name}: neither in {NAMES.name} nor in OF_THE_MPI: {', '.join(missing)}"


def test_no_exception_is_out_of_date(tmp_path: Path):
    found: set[str] = set()
    for mpi in mpis.ALL:
        if mpi.is_installed:
            found |= functions_with_requests(mpi, tmp_path)
    assert set().union(*OF_THE_MPI.values()) <= found
