// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/catalogue/agent_descriptors.h"

#include <array>

#include "agents/served.h"

namespace unisono::algorithms {

const Descriptor* by_agents(Operation operation) {
  static const auto all = [] {
    std::array<Descriptor, operation_count> made;
    for (std::size_t i = 0; i < made.size(); ++i) {
      made[i].name = agents_name;
      made[i].operation = static_cast<Operation>(i);
      made[i].group = agents_name;
      made[i].sentence = "The nodes' agents make the call, and its ranks wait for the answer.";
      made[i].engine = Engine::agents;
    }
    return made;
  }();
  return agents::is_served(operation) ? &all[static_cast<std::size_t>(operation)] : nullptr;
}

const Descriptor* find_with_agents(Operation operation, std::string_view name) {
  return name == agents_name ? by_agents(operation) : find(operation, name);
}

}  // namespace unisono::algorithms
