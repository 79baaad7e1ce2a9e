// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

namespace unisono::runtime {

// The name of this host, for messages that the user reads on another one.
std::string name_of_this_host();

}  // namespace unisono::runtime
