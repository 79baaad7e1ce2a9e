// SPDX-License-Identifier: BSD-3-Clause
// What the report says of learning (docs/report.md, `learning`).
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/learning.h"

namespace unisono::runtime {

// "8 ranks on 1 node".
std::string shape_of(const Communicator& c);
// "segment=65536 window=2", and that as JSON.
std::string parameter_text(const algorithms::Parameters& parameters);
nlohmann::ordered_json parameter_json(const std::string& text);

// One kind of calls, as all ranks of the communicator have it.
nlohmann::ordered_json learning_json(const Communicator& c, Operation operation, int size_class,
                                     const LearnedClass& learned);
// A line for people, of that.
std::string learning_line(const nlohmann::ordered_json& learned);

}  // namespace unisono::runtime
