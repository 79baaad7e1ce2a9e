// SPDX-License-Identifier: BSD-3-Clause
// What a machine's costs are to the closed forms of trees (N6), and which degree they choose.
#pragma once

#include <cstdint>

#include "model/fnomial.h"
#include "model/predict.h"

namespace unisono::tool {

// Whose tree it is: agents', or hosts' on one node or several.
enum class TreeOf : std::uint8_t { node, network, agents };
TreeOf tree_of(const patterns::Layout& layout, bool is_of_agents);

// L, r, c and C, for so many bytes.
model::FNomial tree_model_of(const model::Machine& machine, std::int64_t bytes, TreeOf whose);

// The machine's serial reductions of such hosts, of about so many bytes; null: it has none.
const model::SerialReductions* serial_of(const model::Machine& machine, std::int64_t bytes, TreeOf whose);

// What is run where nobody names an algorithm: of trees the degree that the closed form finds best, else the
// textbooks' for short vectors.
model::Candidate standard_candidate(Operation operation, const schedule::Problem& problem,
                                    const model::Machine& machine, std::int64_t bytes, bool is_of_agents,
                                    bool is_tree);

}  // namespace unisono::tool
