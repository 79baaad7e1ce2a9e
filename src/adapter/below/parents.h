// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace unisono::adapter {

// Was this process started by MPI_Comm_spawn? Behind the host's MPI_Init.
bool is_spawned();

}  // namespace unisono::adapter
