// SPDX-License-Identifier: BSD-3-Clause
// How answers come to who has asked: what is no UTF-8 is replaced.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace unisono::tool {

// One line, at once: of an answer that comes in parts.
void print_line(const nlohmann::ordered_json& line);
// As several lines.
void print(const nlohmann::ordered_json& answer);

}  // namespace unisono::tool
