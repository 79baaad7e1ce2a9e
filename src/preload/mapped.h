// SPDX-License-Identifier: BSD-3-Clause
// Which MPI libraries the process has mapped.
#pragma once

#include <limits.h>

enum UnisonoFamily { unisono_openmpi, unisono_mpich, unisono_mpiabi, unisono_unknown_family };

struct UnisonoMappedMpi {
  enum UnisonoFamily family;
  char path[PATH_MAX];
};

// "openmpi", "mpich", "mpiabi": also the adapter's name.
const char* unisono_family_name(enum UnisonoFamily family);

// Finds the MPIs of known families, by the DT_SONAME of every mapped object. File names say nothing, since
// programs open libmpi.so. Where there is no such MPI, it finds every object that defines PMPI_Init, but for
// `except` (an address in it). Describes the first `room` and returns how many there are.
int unisono_find_mapped_mpis(struct UnisonoMappedMpi* found, int room, const void* except);
