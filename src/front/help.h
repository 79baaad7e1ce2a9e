// SPDX-License-Identifier: BSD-3-Clause
// What `unisono run --help` prints.
#pragma once

#include <string>

namespace unisono::front {

// The options that most people need, and where the others are.
std::string run_help(int columns);

}  // namespace unisono::front
