// SPDX-License-Identifier: BSD-3-Clause
// How long its queues are, as the MPI itself says (MPI_T). Open MPI does, where its ob1 carries the messages.
#pragma once

#include <cstdint>

#include "adapter/recording/event_recorder.h"

namespace unisono::adapter::recording {

// True: there is something to be asked.
bool begin_samples();
// When it may be asked again: that takes a hundredth of the time at most. UINT64_MAX: never.
std::uint64_t next_sample_ticks();
// Writes down how long the queues of this communicator are. The lock of the recorder is held.
void take_sample(Recorder* recorder, const Known& known, MPI_Comm comm, std::uint64_t now);
// Of a communicator that ends; null: of all.
void end_samples(const Known* known);

}  // namespace unisono::adapter::recording
