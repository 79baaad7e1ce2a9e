// SPDX-License-Identifier: BSD-3-Clause
// Programs that an MPI is linked into.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// Does the program at `path` define PMPI_Init itself, as with libmpich.a? Then its calls never come to a
// library. Asks its symbol tables: of a stripped program one cannot tell.
int unisono_has_own_mpi(const char* path);

#ifdef __cplusplus
}
#endif
