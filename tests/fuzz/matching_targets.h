// SPDX-License-Identifier: BSD-3-Clause
// Queues of receives and messages (src/matching): any bytes are calls of one structure, which must answer as
// the reference does. Then the text of profiles.
#pragma once

#include "targets.h"

namespace unisono::fuzz {

std::vector<Target> matching_targets();

}  // namespace unisono::fuzz
