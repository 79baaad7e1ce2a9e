// SPDX-License-Identifier: BSD-3-Clause
// What follows from the switches between machines: ring, phases, and which algorithms' messages contend (S6).
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "algorithms/catalogue/descriptor.h"
#include "base/near_names.h"
#include "patterns/network.h"
#include "patterns/phases.h"
#include "proof/check_contention.h"
#include "tool/commands.h"
#include "tool/layouts.h"
#include "tool/question.h"

namespace unisono::tool {
namespace {

using algorithms::Descriptor;
using nlohmann::ordered_json;
using patterns::Network;
using patterns::Phase;

// What is sure to happen in time is found step by step: for more ranks that takes too long.
constexpr int most_ranks_over_time = 64;
constexpr std::int64_t most_phases_listed = 1024;

ordered_json switches_of(const patterns::Layout& layout, const patterns::Topology& topology) {
  ordered_json list = ordered_json::array();
  for (std::size_t i = 0; i < topology.switches.names.size(); ++i) {
    const int above = topology.switches.above[i];
    ordered_json machines = ordered_json::array();
    for (int node = 0; node < layout.nodes(); ++node) {
      if (layout.switch_of[node] != static_cast<int>(i)) continue;
      machines.push_back({{"name", topology.machines[node].name}, {"ranks", layout.ranks_of[node]}});
    }
    list.push_back({{"name", topology.switches.names[i]},
                    {"above", above < 0 ? ordered_json() : ordered_json(topology.switches.names[above])},
                    {"machines", machines}});
  }
  return list;
}

ordered_json to_json(const std::vector<Phase>& phases) {
  ordered_json list = ordered_json::array();
  for (const Phase& phase : phases) {
    ordered_json messages = ordered_json::array();
    for (const patterns::Message& message : phase) messages.push_back({message.from, message.to});
    list.push_back(messages);
  }
  return list;
}

ordered_json contention_of(const Descriptor& descriptor,
                           const std::shared_ptr<const patterns::Layout>& layout) {
  schedule::Problem problem{.operation = descriptor.operation, .size = layout->size(), .layout = layout};
  ordered_json answer = {{"operation", name(descriptor.operation)}, {"algorithm", descriptor.name}};
  const std::string why = why_illegal(descriptor, problem, 0, true, true);
  answer["illegal"] = why;
  if (!why.empty()) return answer;
  std::vector<std::string> failures;
  const auto build = [&descriptor](const schedule::Problem& of_rank) {
    return descriptor.build(of_rank, algorithms::with_standards(descriptor));
  };
  const proof::CheckedCall call = proof::spread_out(descriptor.name, problem, false, build, &failures);
  if (!failures.empty()) throw std::runtime_error(failures.front());
  const proof::RoundsOnLinks links = proof::rounds_on_links(call);
  answer["rounds"] = links.rounds;
  answer["most_on_a_link"] = links.most_on_a_link;
  answer["conflict"] = links.first_conflict;
  const bool is_looked_at = links.most_on_a_link <= 1 && layout->size() <= most_ranks_over_time;
  answer["conflict_over_time"] =
      is_looked_at ? ordered_json(proof::conflict_over_time(call)) : ordered_json();
  return answer;
}

ordered_json contentions(const Arguments& arguments, const std::shared_ptr<const patterns::Layout>& layout) {
  const Operation operation = arguments.operation("operation");
  ordered_json list = ordered_json::array();
  for (const Descriptor& descriptor : algorithms::registry()) {
    if (descriptor.operation != operation) continue;
    if (arguments.has("algorithm") && descriptor.name != arguments.text("algorithm")) continue;
    list.push_back(contention_of(descriptor, layout));
  }
  if (list.empty()) {
    std::vector<std::string> names;
    for (const Descriptor& descriptor : algorithms::registry()) {
      if (descriptor.operation == operation) names.push_back(descriptor.name);
    }
    throw UsageError("there is no algorithm '" + arguments.text("algorithm", "") + "' for " +
                     std::string(name(operation)) + did_you_mean(arguments.text("algorithm", ""), names) +
                     " (`unisono list` names them)");
  }
  return list;
}

}  // namespace

int describe_topology(const std::vector<std::string>& words) {
  const Arguments arguments(words, {"topology", "layout", "ranks", "operation", "algorithm"}, {"phases"});
  const patterns::Topology topology = topology_from(arguments.text("topology"));
  const auto layout = chosen_layout(arguments, 1);
  const Network network(*layout);
  ordered_json answer = {{"switches", switches_of(*layout, topology)},
                         {"machines", layout->nodes()},
                         {"ranks", layout->size()},
                         {"ring", network.ring_order()},
                         {"phases", network.least_phases()},
                         {"busiest_link", network.name_of_link(network.busiest_link())}};
  if (arguments.has("phases")) {
    if (network.least_phases() > most_phases_listed) {
      throw UsageError("there are " + std::to_string(network.least_phases()) + " phases; at most " +
                       std::to_string(most_phases_listed) + " are listed");
    }
    const std::vector<Phase> phases = patterns::contention_free_phases(network);
    answer["messages"] = to_json(phases);
    answer["tokens"] = to_json(patterns::separating_tokens(network, phases));
  }
  if (arguments.has("operation")) answer["algorithms"] = contentions(arguments, layout);
  std::puts(answer.dump(-1, ' ', true, ordered_json::error_handler_t::replace).c_str());
  return 0;
}

}  // namespace unisono::tool
