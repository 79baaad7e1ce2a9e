// SPDX-License-Identifier: BSD-3-Clause
// What `predict --model layers` says: the sum of each layer's time (model/layers.h) beside the run in virtual
// time.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "model/predict.h"

namespace unisono::tool {

// Throws UsageError where no two-level algorithm has layers that are known.
void check_layers(const schedule::Problem& problem, const std::vector<model::Candidate>& asked);

// The two-level algorithms of the operation, with nothing overlapped.
std::vector<model::Candidate> layered_candidates(Operation operation, std::int64_t bytes);

// Adds to the prediction's JSON the layers and their sum. The time of the run in virtual time goes to
// `virtual_us`.
void add_layers(const model::Prediction& run, const schedule::Problem& problem, std::int64_t bytes,
                const model::Machine& machine, const model::PredictOptions& options,
                nlohmann::ordered_json* json);

}  // namespace unisono::tool
