// SPDX-License-Identifier: BSD-3-Clause
// JSON that others have written. It is bounded in depth and number, so that neither reading it nor what is
// done with it can exhaust the stack or the memory. No key may stand in it twice.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace unisono {

struct ReadJson {
  nlohmann::ordered_json json;
  std::string problem;  // as a clause about the text: "is no JSON: line 3 cannot be understood"; empty: none
};
ReadJson json_from(std::string_view text);

// As one line or, with `indent`, as several. What is no UTF-8 is replaced.
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace unisono
