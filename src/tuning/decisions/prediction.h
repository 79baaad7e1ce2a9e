// SPDX-License-Identifier: BSD-3-Clause
// What the model says of an answer to a question (A7, B7).
#pragma once

#include <cstdint>
#include <optional>

#include "model/predict.h"
#include "tuning/decisions/decision.h"

namespace unisono::tuning {

// Microseconds; empty where it is not legal or takes more than `most_steps` steps to run in virtual time.
std::optional<double> predicted_us(const Question& question, const model::Candidate& candidate,
                                   const model::Machine& machine, std::int64_t most_steps);

}  // namespace unisono::tuning
