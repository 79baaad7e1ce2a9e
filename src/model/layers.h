// SPDX-License-Identifier: BSD-3-Clause
// Where a two-level algorithm's layers do not overlap, its time is the sum of theirs. A14, section 4.3.3 and
// figure 4.6.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/machine.h"
#include "model/predict.h"

namespace unisono::model {

// A collective inside each node, or one between the nodes' leaders, by itself.
struct Layer {
  Operation operation = Operation::bcast;
  std::string algorithm;
  bool is_between_nodes = false;
  std::int64_t bytes = 0;  // as size classes count them
  double us = 0;
};

// Is it one whose layers are known?
bool has_layers(const algorithms::Descriptor& algorithm);

// In the order in which they come. Nothing where the algorithm has none that are known, or one of them is not
// legal or would take more steps than the options allow. Of the candidate's parameters each layer takes its
// own.
std::optional<std::vector<Layer>> layers_of(const Candidate& candidate, const schedule::Problem& problem,
                                            std::int64_t bytes, const Machine& machine,
                                            const PredictOptions& options = {});

}  // namespace unisono::model
