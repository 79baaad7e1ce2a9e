// SPDX-License-Identifier: BSD-3-Clause
// Machines and problems that the tests of the models share.
#pragma once

#include <memory>
#include <string>

#include "algorithms/catalogue/descriptor.h"
#include "model/machine.h"
#include "model/virtual_time.h"
#include "patterns/graphs.h"

namespace unisono::model {

// Nothing but messages between nodes costs anything, each alone on a link of its own.
inline Machine messages_alone() {
  Machine machine;
  machine.name = "messages alone";
  machine.cores_per_node = 1 << 20;
  machine.network.hockney = {10, 0.01};
  machine.network.loggp = {8, 1.5, 3.5, 0.01, 8};
  machine.network.plogp = {7, Curve({{0, 1.0}, {65536, 30.0}}), Curve({{0, 1.5}, {65536, 40.0}}),
                           Curve({{0, 3.0}, {1024, 9.0}, {65536, 500.0}})};
  machine.node = machine.network;
  machine.shared.channel_bytes = 4 << 20;
  return machine;
}

inline schedule::Problem problem_on(Operation operation, const std::string& layout, int root = 0) {
  schedule::Problem problem{.operation = operation};
  problem.layout = std::make_shared<const patterns::Layout>(*patterns::Layout::parse(layout));
  problem.size = problem.layout->size();
  problem.root = root;
  if (is_neighborhood(operation))
    problem.neighborhood =
        std::make_shared<const patterns::Neighborhood>(*patterns::parse_graph("moore:2,1", problem.size));
  return problem;
}

inline algorithms::Parameters parameters(std::initializer_list<std::pair<const char*, std::int64_t>> values) {
  algorithms::Parameters made;
  for (const auto& [name, value] : values) made.set(name, value);
  return made;
}

}  // namespace unisono::model
