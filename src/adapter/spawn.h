// SPDX-License-Identifier: BSD-3-Clause
// Processes that the program spawns. Launchers start them in an environment of their own, so the shim is put
// before their programs, as `unisono run` puts it before those of its command.
#pragma once

#include "adapter/below/family.h"

namespace unisono::adapter {

int comm_spawn(const char* command, char* arguments[], int most, MPI_Info info, int root, MPI_Comm comm,
               MPI_Comm* between, int errors[]);
int comm_spawn_multiple(int count, char* commands[], char** arguments[], const int most[],
                        const MPI_Info infos[], int root, MPI_Comm comm, MPI_Comm* between, int errors[]);

}  // namespace unisono::adapter
