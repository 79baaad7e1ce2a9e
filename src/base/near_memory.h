// SPDX-License-Identifier: BSD-3-Clause
// Memory on the NUMA domain of whoever writes it.
#pragma once

#include <cstddef>
#include <string>

namespace unisono {

// The system's number of the NUMA domain that holds all cores which this thread may use. It is -1 where they
// are in several, where there is one domain alone, or where the system does not say. `nodes` is the folder
// that says it.
int own_numa_domain(const std::string& nodes = "/sys/devices/system/node");

// From now on the kernel takes pages of [memory, memory + bytes) from that domain where nobody has touched
// them yet, as long as there are some. Whole pages alone. False where it refuses (containers may).
bool prefer_numa_domain(void* memory, std::size_t bytes, int domain);

}  // namespace unisono
