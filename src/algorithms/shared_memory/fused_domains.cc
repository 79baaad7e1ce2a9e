// SPDX-License-Identifier: BSD-3-Clause
// Small messages of a node along its caches, NUMA domains and sockets: one line leaves or enters each domain.
#include <utility>

#include "algorithms/catalogue/parameters.h"
#include "algorithms/shared_memory/along_domains.h"
#include "algorithms/shared_memory/fused.h"

namespace unisono::algorithms {
namespace {

Descriptor descriptor(Operation operation, std::string sentence, Descriptor::Build build,
                      std::int64_t max_bytes) {
  return {.name = "fused_domains",
          .operation = operation,
          .group = "shared",
          .sentence = std::move(sentence),
          .source = "A1, A2, table 2.2; G2",
          .legality = {.needs_one_node = true,
                       .needs_domains = true,
                       .needs_shared_memory = true,
                       .waits_inside = true,
                       .keeps_one_order = is_reduction(operation),
                       .max_bytes = max_bytes},
          .parameters = {},
          .build = std::move(build)};
}

std::vector<Descriptor> make() {
  // A rank writes two messages into its share of the lines.
  constexpr std::int64_t most_of_two = fused_max_bytes / 2;
  return {
      descriptor(Operation::barrier, "One line goes up a tree of the node's domains, and one comes down.",
                 along_domains<fused_barrier>, 0),
      descriptor(Operation::bcast,
                 "Cache lines that carry data and flag go down a tree of the node's domains.",
                 along_domains<fused_bcast>, fused_max_bytes),
      descriptor(
          Operation::reduce,
          "Cache lines that carry data and flag go up a tree of the node's domains, joined on the way.",
          along_domains<fused_reduce>, fused_max_bytes),
      descriptor(
          Operation::allreduce,
          "Cache lines that carry data and flag go up a tree of the node's domains, joined on the way, "
          "and the result comes down.",
          along_domains<fused_allreduce>, most_of_two),
  };
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
