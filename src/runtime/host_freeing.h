// SPDX-License-Identifier: BSD-3-Clause
// Around the host's freeing of a communicator for the program, as the adapter sees it.
#pragma once

#include <cstdint>
#include <optional>

#include "host/host.h"

namespace unisono::runtime {

// Before and after the host frees it, on one thread: its calls under way end, and until the host has returned
// it serves that thread's callbacks. Where the host has refused it lives on. Collective.
// `marks`: what the adapter has in an attribute, since attributes cannot be asked meanwhile.
void begin_freeing(host::Comm comm, std::uintptr_t marks);
void end_freeing(host::Comm comm, bool is_freed);
// What begin_freeing() was told, where the host is freeing the communicator for this thread. Also without a
// job.
std::optional<std::uintptr_t> marks_while_freeing(host::Comm comm);

}  // namespace unisono::runtime
