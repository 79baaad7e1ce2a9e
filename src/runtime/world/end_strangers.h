// SPDX-License-Identifier: BSD-3-Clause
// Ends ranks that run without Unisono, where the launcher does not do so by itself when another rank has
// ended.
#pragma once

#include <chrono>
#include <vector>

namespace unisono::runtime {

// Starts a process that outlives this one, holds nothing of it, and ends `processes` if they are still there
// after `patience`: first by SIGTERM, as long again later by SIGKILL. It ends as soon as they are gone.
void end_later(const std::vector<int>& processes, std::chrono::milliseconds patience);

}  // namespace unisono::runtime
