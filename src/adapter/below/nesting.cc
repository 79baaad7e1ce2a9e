// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/below/nesting.h"

namespace unisono::adapter {

__thread int nesting = 0;
std::atomic<bool> is_open{false};

}  // namespace unisono::adapter
