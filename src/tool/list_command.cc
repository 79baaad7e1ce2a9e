// SPDX-License-Identifier: BSD-3-Clause
// The lists: algorithms of the registry, options of the code.
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "algorithms/catalogue/descriptor.h"
#include "algorithms/catalogue/names_in_sources.h"
#include "base/options.h"
#include "tool/answer.h"
#include "tool/commands.h"
#include "tool/question.h"

namespace unisono::tool {
namespace {

using algorithms::Descriptor;
using algorithms::Legality;
using nlohmann::ordered_json;

std::vector<std::string> clauses(const Legality& legality) {
  std::vector<std::string> list;
  const auto add = [&list](bool is_needed, const std::string& clause) {
    if (is_needed) list.push_back(clause);
  };
  add(legality.needs_power_of_two,
      legality.needs_several_nodes ? "a power of two nodes" : "a power of two ranks");
  add(legality.needs_even,
      legality.needs_several_nodes ? "an even number of nodes" : "an even number of ranks");
  add(legality.needs_commutative, "a commutative operator");
  add(legality.needs_one_node, "one node");
  add(legality.needs_domains, "caches, NUMA domains or sockets that divide the node");
  add(legality.needs_several_nodes, "several nodes, one with more than one rank");
  add(legality.needs_consecutive, "consecutive ranks on every node");
  add(legality.needs_consecutive_unless_commutative,
      "a commutative operator, or consecutive ranks on every node");
  add(legality.needs_shared_memory && !legality.needs_one_node, "shared memory");
  add(legality.needs_single_copy, "single copy");
  add(legality.needs_whole_graph, "a graph that is small enough to be told to all ranks");
  add(legality.needs_topology, "no topology, or one of this job");
  add(legality.max_ranks > 0, "at most " + std::to_string(legality.max_ranks) + " ranks");
  add(legality.max_phases > 0, "at most " + std::to_string(legality.max_phases) + " phases on its switches");
  add(legality.max_bytes > 0, "at most " + bytes_to_text(legality.max_bytes) + " bytes");
  add(legality.max_total_bytes > 0,
      "at most " + bytes_to_text(legality.max_total_bytes) + " bytes in all blocks together");
  return list;
}

ordered_json to_json(const Descriptor& descriptor) {
  ordered_json parameters = ordered_json::array();
  for (const algorithms::ParameterSpec& spec : descriptor.parameters) {
    parameters.push_back({{"name", spec.name},
                          {"unit", spec.unit},
                          {"low", spec.low},
                          {"high", spec.high},
                          {"default", spec.standard},
                          {"help", spec.help}});
  }
  ordered_json names = ordered_json::array();
  for (const algorithms::NameInSource& named :
       algorithms::names_in_sources(descriptor.operation, descriptor.name))
    names.push_back({{"row", named.row}, {"name", named.name}});
  const Legality& legality = descriptor.legality;
  return {{"operation", name(descriptor.operation)},
          {"name", descriptor.name},
          {"group", descriptor.group},
          {"sentence", descriptor.sentence},
          {"source", descriptor.source},
          {"names_in_sources", names},
          {"legality", clauses(legality)},
          {"most_bytes", legality.max_bytes},
          {"most_total_bytes", legality.max_total_bytes},
          {"parameters", parameters},
          {"shared_memory", legality.needs_shared_memory},
          {"reproducible", legality.keeps_one_order},
          {"levels", legality.needs_several_nodes ? 2 : 1}};
}

}  // namespace

int list_algorithms(const std::vector<std::string>& words) {
  const Arguments arguments(words, {"operation"}, {});
  ordered_json list = ordered_json::array();
  for (const Descriptor& descriptor : algorithms::registry()) {
    if (arguments.has("operation") && descriptor.operation != arguments.operation("operation")) continue;
    list.push_back(to_json(descriptor));
  }
  print(list);
  return 0;
}

int list_options(const std::vector<std::string>& words) {
  const Arguments none(words, {}, {});
  ordered_json list = ordered_json::array();
  for (const OptionSpec& spec : option_list()) {
    std::string long_option = "--" + std::string(spec.name);
    for (char& letter : long_option) letter = letter == '_' ? '-' : letter;
    list.push_back({{"name", spec.name},
                    {"environment", spec.environment},
                    {"config_key", spec.name},
                    {"cli", long_option},
                    {"type", spec.type},
                    {"default", spec.get(Options())},
                    {"help", spec.help},
                    {"group", spec.group}});
  }
  print(list);
  return 0;
}

}  // namespace unisono::tool
