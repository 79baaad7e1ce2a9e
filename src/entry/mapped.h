// SPDX-License-Identifier: BSD-3-Clause
// Which MPI libraries the process has mapped.
#pragma once

#include <limits.h>

enum UnisonoFamily { unisono_openmpi, unisono_mpich, unisono_mpiabi };

struct UnisonoMappedMpi {
  enum UnisonoFamily family;
  char path[PATH_MAX];
};

// "openmpi", "mpich", "mpiabi": also the adapter's name.
const char* unisono_family_name(enum UnisonoFamily family);

// Looks at the DT_SONAME of every mapped object (file names say nothing: programs open libmpi.so). Describes
// the first `room` MPIs found and returns how many there are.
int unisono_find_mapped_mpis(struct UnisonoMappedMpi* found, int room);
