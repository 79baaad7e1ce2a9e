// SPDX-License-Identifier: BSD-3-Clause
// What is fuzzed: each reader of files, and queues of messages, with valid inputs to begin with. A target
// gets any bytes; it must come back, and what it accepts must survive being written and read again.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace unisono::fuzz {

struct Target {
  const char* name;
  void (*run)(std::string_view input);
  std::vector<std::string> seeds;
};
const std::vector<Target>& targets();

}  // namespace unisono::fuzz
