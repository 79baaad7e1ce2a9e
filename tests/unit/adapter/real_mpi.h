// SPDX-License-Identifier: BSD-3-Clause
// The real MPI that these tests run over, as a job of one process (real_mpi.cc has main).
#pragma once

#include <dlfcn.h>

#include "adapter/below/functions.h"

extern void* mpi_library;

// A function of the host MPI that the adapter itself does not use.
#define HOST(name) (reinterpret_cast<decltype(&PMPI_##name)>(dlsym(mpi_library, "PMPI_" #name)))
