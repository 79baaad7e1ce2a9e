// SPDX-License-Identifier: BSD-3-Clause
// What the report says of learning (docs/report.md, `learning`).
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "runtime/communicators/learned_class.h"
#include "tuning/tables/leaning.h"

namespace unisono::runtime {

// "8 ranks on 1 node".
std::string shape_of(const Communicator& c);
// "segment=65536 window=2", and that as JSON.
std::string parameter_text(const algorithms::Parameters& parameters);
nlohmann::ordered_json parameter_json(const std::string& text);

// One kind of calls, as all ranks of the communicator have it.
nlohmann::ordered_json learning_json(const Communicator& c, Operation operation, int size_class,
                                     const LearnedClass& learned);
// Kinds of calls that a rank tells of, and that a report has.
constexpr std::size_t most_learned = 200;
// The kinds of calls that took most time, these first.
void keep_most_important(std::vector<nlohmann::ordered_json>* learned);
// What Records::learning_text of all ranks (rank order) has, the kinds of calls that took most time first.
std::vector<nlohmann::ordered_json> learned_in(const std::vector<std::string>& texts);
// Which kept rules they say that the job went by.
std::vector<tuning::Lean> leans_in(const std::vector<std::string>& texts);
// Has the job measured that what kept rules say of these calls is right?
tuning::Confirmation confirmation_of(const LearnedClass& learned);
// A line for people, of one kind of calls.
std::string learning_line(const nlohmann::ordered_json& learned);

}  // namespace unisono::runtime
