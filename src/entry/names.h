// SPDX-License-Identifier: BSD-3-Clause
// The one list of MPI functions that Unisono stands in for. The exported symbols (MPI_X and PMPI_X), the jump
// table, the adapters' tables and the tests are all made from it. Read by C, C++ and the assembler: macros
// only.
#pragma once

// Order matters to nobody but must be the same everywhere: an index into this list is a slot number.
#define UNISONO_NAMES(X)    \
  X(Init)                   \
  X(Init_thread)            \
  X(Finalize)               \
  X(Barrier)                \
  X(Bcast)                  \
  X(Reduce)                 \
  X(Allreduce)              \
  X(Gather)                 \
  X(Scatter)                \
  X(Allgather)              \
  X(Alltoall)               \
  X(Reduce_scatter_block)   \
  X(Scan)                   \
  X(Exscan)                 \
  X(Allgatherv)             \
  X(Reduce_scatter)         \
  X(Alltoallv)              \
  X(Alltoallw)              \
  X(Gatherv)                \
  X(Scatterv)               \
  X(Bcast_c)                \
  X(Reduce_c)               \
  X(Allreduce_c)            \
  X(Gather_c)               \
  X(Scatter_c)              \
  X(Allgather_c)            \
  X(Alltoall_c)             \
  X(Reduce_scatter_block_c) \
  X(Scan_c)                 \
  X(Exscan_c)               \
  X(Allgatherv_c)           \
  X(Reduce_scatter_c)       \
  X(Alltoallv_c)            \
  X(Alltoallw_c)            \
  X(Gatherv_c)              \
  X(Scatterv_c)
