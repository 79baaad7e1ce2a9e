// SPDX-License-Identifier: BSD-3-Clause
// From the host's MPI_Init to its MPI_Finalize.
#pragma once

namespace unisono::adapter {

// The wrappers of MPI_Init, MPI_Init_thread and MPI_Finalize.
int init(int* argc, char*** argv);
int init_thread(int* argc, char*** argv, int required, int* provided);
int finalize();

// The MPI below, over MPI_COMM_WORLD; between its start and its end.
class MpiHost;
MpiHost& host_of_job();
// Lets the host look for messages; between its start and its end.
void make_host_progress();

// Communicators over several worlds have come, or gone.
void look_again_whether_open();

// Started, and not ended.
bool is_alive();
// The program switches Unisono on and off, also before it starts. Returns what was set before.
bool enable(bool is_enabled);

}  // namespace unisono::adapter
