// SPDX-License-Identifier: BSD-3-Clause
// What the program sends and asks for, written down beside its MPI (option record_messages; B8). The
// functions lead here only where it is on.
#pragma once

#include "adapter/host_interface/mpi_host.h"
#include "preload/adapter_library.h"

namespace unisono::adapter::recording {

// Does this process ask for it?
bool is_wanted();
// Puts what records in front of the functions in the slots.
void begin(UnisonoFunction* functions);
// When the job is set up; collective over the world.
void begin_run(MpiHost& host);
// When it ends: writes the file; collective over the world.
void end_run(MpiHost& host);

}  // namespace unisono::adapter::recording
