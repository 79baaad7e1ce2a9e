// SPDX-License-Identifier: BSD-3-Clause
// What the adapter's recording needs to know of the job: options as rank 0 has them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace unisono::runtime {

// Empty: nothing is recorded, or nothing is running.
std::string record_messages_option();
std::int64_t record_bytes_option();
std::string messages_option();
// The node of each rank of the world, by a label; null where nothing is running.
const std::vector<int>* node_labels();

}  // namespace unisono::runtime
