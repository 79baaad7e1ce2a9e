// SPDX-License-Identifier: BSD-3-Clause
#include "tool/tree_model.h"

#include <algorithm>
#include <cstdlib>
#include <string>

#include "tool/question.h"

namespace unisono::tool {

using model::FNomial;
using model::Machine;

TreeOf tree_of(const patterns::Layout& layout, bool is_of_agents) {
  if (is_of_agents) return TreeOf::agents;
  return layout.nodes() > 1 ? TreeOf::network : TreeOf::node;
}

// C of an agent is what its host and itself need before and after. L is until a message is there, r what its
// receiver needs for it.
FNomial tree_model_of(const Machine& machine, std::int64_t bytes, TreeOf whose) {
  const bool is_of_agents = whose == TreeOf::agents;
  const model::Link& link = is_of_agents ? machine.agent->link : machine.link(whose == TreeOf::network);
  const model::MessageCost cost = link.message(model::MessageModel::plogp, bytes);
  const double interval = std::max(cost.occupancy_us, cost.receive_us);
  FNomial tree{.constant_us = machine.call_us,
               .latency_us = cost.whole_us() - interval,
               .receive_us = interval,
               .combine_us = machine.shared.combine_us.at(bytes)};
  if (is_of_agents) {
    tree.constant_us = machine.agent->ring_us + machine.agent->start_us + machine.agent->completion_us;
    tree.combine_us = machine.agent->combine_us.at(bytes);
  }
  return tree;
}

const model::SerialReductions* serial_of(const Machine& machine, std::int64_t bytes, TreeOf whose) {
  const model::SerialReductions* nearest = nullptr;
  for (const model::SerialReductions& one : machine.serial) {
    if (whose == TreeOf::agents || one.is_between_nodes != (whose == TreeOf::network)) continue;
    if (nearest == nullptr || std::abs(one.bytes - bytes) < std::abs(nearest->bytes - bytes)) nearest = &one;
  }
  return nearest;
}

model::Candidate standard_candidate(Operation operation, const schedule::Problem& problem,
                                    const Machine& machine, std::int64_t bytes, bool is_of_agents,
                                    bool is_tree) {
  const auto named = [&](const char* name) {
    const algorithms::Descriptor* algorithm = algorithms::find(operation, name);
    return model::Candidate{algorithm,
                            algorithm == nullptr ? algorithms::Parameters() : with_standards(*algorithm)};
  };
  const bool is_reducing = operation == Operation::reduce || operation == Operation::allreduce;
  if (is_reducing && is_tree && (!is_of_agents || machine.agent)) {
    model::Candidate tree = named(operation == Operation::reduce ? "k_nomial" : "reduce_bcast");
    const int nodes = is_of_agents ? problem.layout->nodes() : problem.size;
    const TreeOf whose = tree_of(*problem.layout, is_of_agents);
    tree.parameters.set("degree", nodes < 3 ? 2 : tree_model_of(machine, bytes, whose).best_degree(nodes));
    return tree;
  }
  for (const char* name :
       {"recursive_doubling", "binomial", "dissemination", "recursive_halving", "bruck", "flat", "linear"}) {
    const model::Candidate found = named(name);
    if (found.algorithm == nullptr) continue;
    if (why_illegal(*found.algorithm, problem, bytes, true, true).empty()) return found;
  }
  throw UsageError("say which --algorithm of " + std::string(name(operation)));
}

}  // namespace unisono::tool
