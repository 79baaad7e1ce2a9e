// SPDX-License-Identifier: BSD-3-Clause
// What a machine's costs are to the closed forms of trees (N6), and which degree they choose.
#pragma once

#include <cstdint>

#include "model/fnomial.h"
#include "model/predict.h"

namespace unisono::tool {

// L, r, c and C of hosts or agents, for so many bytes.
model::FNomial tree_model_of(const model::Machine& machine, std::int64_t bytes, bool is_of_agents);

// What is run where nobody names an algorithm: of trees the degree that the closed form finds best, else the
// textbooks' for short vectors.
model::Candidate standard_candidate(Operation operation, const schedule::Problem& problem,
                                    const model::Machine& machine, std::int64_t bytes, bool is_of_agents,
                                    bool is_tree);

}  // namespace unisono::tool
