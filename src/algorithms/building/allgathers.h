// SPDX-License-Identifier: BSD-3-Clause
// Allgathers by name: of blocks, and of the parts of a vector where a reduction has left each rank one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "algorithms/building/compose.h"
#include "algorithms/building/exchanges.h"
#include "algorithms/catalogue/descriptor.h"

namespace unisono::algorithms {

struct AllgatherFamily {
  std::string name;
  std::string_view group;
  std::string sentence;
  std::string source;
  std::vector<ParameterSpec> parameters;
  Legality legality = {};
  bool is_for_leaders = true;             // see Descriptor
  bool is_free_of_contention = false;     // the same
  Descriptor::RingOrder ring_order = {};  // the same
  // Rank i has item i in its place; the stages that bring all items to all ranks.
  std::function<void(Composition* to, const schedule::Problem& problem, const Parameters& parameters,
                     const Items& items)>
      add;
};
const std::vector<AllgatherFamily>& allgather_families();
const AllgatherFamily& allgather_family(std::string_view name);  // which there is

// All ranks in their order: a ring that knows no topology.
std::vector<int> ranks_in_order(const patterns::Layout& layout);

}  // namespace unisono::algorithms
