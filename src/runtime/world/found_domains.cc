// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/world/found_domains.h"

#include <algorithm>
#include <map>

#include "patterns/layout_text.h"
#include "runtime/world/world.h"

namespace unisono::runtime {
namespace {

using patterns::DomainLabels;
using patterns::Layout;

constexpr std::string_view found = "auto", surely_found = "on", none = "off";

std::vector<DomainLabels> labels_of(const Layout& layout) {
  std::vector<DomainLabels> levels;
  if (layout.domains == nullptr) return levels;
  for (const patterns::DomainLevel& level : layout.domains->levels)
    levels.push_back({.kind = level.kind, .labels = level.domain_of});
  return levels;
}

// The same form for each node; *problem says why it cannot be.
std::vector<DomainLabels> labels_of_form(const World& world, std::string* problem) {
  const auto form = patterns::parse_node(world.options.domains);
  const Layout nodes = Layout::from_labels(world.node_labels);
  if (!form) *problem = patterns::why_no_node(world.options.domains);
  for (const auto& ranks : nodes.ranks_of) {
    if (form && std::ssize(ranks) != form->size())
      *problem =
          "holds " + std::to_string(form->size()) + " ranks, a node has " + std::to_string(ranks.size());
  }
  if (!problem->empty()) return {};
  std::vector<DomainLabels> levels = labels_of(*form);
  for (DomainLabels& level : levels) {
    const std::vector<int> of_node = std::move(level.labels);
    level.labels.clear();
    for (const int local : nodes.local_rank_of)
      level.labels.push_back(of_node[static_cast<std::size_t>(local)]);
  }
  return levels;
}

}  // namespace

shm::AsksHardware asks_hardware(std::string_view option) {
  if (option == found) return shm::AsksHardware::where_it_may_help;
  return option == surely_found ? shm::AsksHardware::always : shm::AsksHardware::never;
}

std::vector<DomainLabels> domains_of_parts(const std::vector<shm::PartNumbers>& parts,
                                           const std::vector<int>& node_labels) {
  std::map<int, std::size_t> depth;  // of each node
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    const auto end = std::ranges::find_if(parts[rank], [](int number) { return number < 0; });
    const auto own = static_cast<std::size_t>(end - parts[rank].begin());
    const auto [known, is_new] = depth.try_emplace(node_labels[rank], own);
    if (!is_new) known->second = std::min(known->second, own);
  }
  std::vector<DomainLabels> levels;
  for (std::size_t level = 0; level < shm::domain_kinds; ++level) {
    DomainLabels labels{.kind = static_cast<patterns::DomainKind>(level), .labels = {}};
    for (std::size_t rank = 0; rank < parts.size(); ++rank)
      labels.labels.push_back(level < depth[node_labels[rank]] ? parts[rank][level] : 0);
    levels.push_back(std::move(labels));
  }
  return levels;
}

std::vector<DomainLabels> find_domains(const World& world, const std::optional<Layout>& pretended) {
  const std::string& option = world.options.domains;
  if (option == none) return {};
  if (option != found && option != surely_found) {
    std::string problem;
    std::vector<DomainLabels> levels = labels_of_form(world, &problem);
    if (problem.empty()) return levels;
    world.notices().warn("option domains '" + option + "' is ignored: it " + problem);
    return {};
  }
  if (pretended && pretended->domains != nullptr) return labels_of(*pretended);
  if (!world.pool->why_no_parts().empty())
    world.notices().note("nothing is known of sockets, NUMA domains and caches inside nodes: " +
                         world.pool->why_no_parts());
  return domains_of_parts(world.pool->parts(), world.pool->node_labels());
}

}  // namespace unisono::runtime
