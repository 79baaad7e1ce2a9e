// SPDX-License-Identifier: BSD-3-Clause
#include "tool/answer.h"

#include <cstdio>

#include "base/json_text.h"

namespace unisono::tool {

void print_line(const nlohmann::ordered_json& line) {
  std::puts(json_text(line).c_str());
  std::fflush(stdout);
}

void print(const nlohmann::ordered_json& answer) {
  std::puts(json_text(answer, 1).c_str());
}

}  // namespace unisono::tool
