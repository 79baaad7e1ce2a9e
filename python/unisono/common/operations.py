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
