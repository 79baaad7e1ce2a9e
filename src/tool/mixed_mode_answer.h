// SPDX-License-Identifier: BSD-3-Clause
// What `predict --model mixed` says: equations 4.1 to 4.6 (model/mixed_mode.h) beside the run in virtual
// time.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "model/predict.h"

namespace unisono::tool {

// Throws UsageError for another operation than the broadcast, for one node, and for other algorithms than the
// chain that the equations are of.
void check_mixed_mode(const schedule::Problem& problem, const std::vector<model::Candidate>& asked);

// Segments and overlaps that are worth a look for so many bytes.
std::vector<model::Candidate> mixed_mode_candidates(std::int64_t bytes);

// Adds to the prediction's JSON the terms, the equations, the mode, and the time by them. The time of the run
// in virtual time goes to `virtual_us`, or the reason why there is none to `virtual_problem`.
void add_mixed_mode(const model::Prediction& run, const schedule::Problem& problem, std::int64_t bytes,
                    const model::Machine& machine, const model::PredictOptions& options,
                    nlohmann::ordered_json* json);

}  // namespace unisono::tool
