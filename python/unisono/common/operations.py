# SPDX-License-Identifier: BSD-3-Clause
"""The operations that are measured and tuned, and what is special about some of them."""

from __future__ import annotations

OF_NEIGHBORS = (
    "neighbor_allgather",
    "neighbor_allgatherv",
    "neighbor_alltoall",
    "neighbor_alltoallv",
    "neighbor_alltoallw",
)
OPERATIONS = (
    "barrier",
    "bcast",
    "reduce",
    "allreduce",
    "gather",
    "scatter",
    "allgather",
    "alltoall",
    "reduce_scatter_block",
    "scan",
    "exscan",
    "allgatherv",
    "reduce_scatter",
    "alltoallv",
    "alltoallw",
    "gatherv",
    "scatterv",
    *OF_NEIGHBORS,
)
# Their size is that of one vector on each rank, not of one block of several.
ON_ONE_VECTOR = ("bcast", "reduce", "allreduce", "scan", "exscan")
# What a decision may not depend on the size of: ranks have no length in common.
WITHOUT_SIZE = (
    "alltoallv",
    "alltoallw",
    "gatherv",
    "scatterv",
    *OF_NEIGHBORS,
)
REDUCTIONS = ("reduce", "allreduce", "reduce_scatter_block", "reduce_scatter", "scan", "exscan")
BY_AGENTS = ("allreduce", "reduce", "bcast", "barrier")  # that agents make
_FORMS = {"blocking": ("", ""), "non-blocking": ("i", ""), "persistent": ("", "_init")}


def called_as(operation: str, form: str) -> str:
    """`bcast`, `ibcast`, `bcast_init`: as programs call it."""
    before, behind = _FORMS[form]
    return before + operation + behind


def operation_and_form(name: str) -> tuple[str, str] | None:
    """The reverse; None: it is the name of none."""
    known = {called_as(operation, form): (operation, form) for operation in OPERATIONS for form in _FORMS}
    return known.get(name.lower().removeprefix("mpi_"))
