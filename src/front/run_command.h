// SPDX-License-Identifier: BSD-3-Clause
// `unisono run`: an MPI program under Unisono, without any Python but for reports that are shown.
#pragma once

#include <string>

#include "launch/words.h"

namespace unisono::front {

// `words` stand behind `run`; `called` is the name by which this program was called. The exit status.
int run(const launch::Words& words, const std::string& called);

}  // namespace unisono::front
