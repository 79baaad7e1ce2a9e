// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/layout.h"

#include <algorithm>
#include <map>

#include "patterns/numbers.h"

namespace unisono::patterns {

bool Layout::is_consecutive() const {
  for (const auto& ranks : ranks_of) {
    if (ranks.back() - ranks.front() + 1 != std::ssize(ranks)) return false;
  }
  return true;
}

bool Layout::is_aligned() const {
  return is_uniform() && is_consecutive() && is_power_of_two(static_cast<int>(ranks_of.front().size()));
}

bool Layout::is_uniform() const {
  for (const auto& ranks : ranks_of) {
    if (ranks.size() != ranks_of.front().size()) return false;
  }
  return true;
}

bool Layout::has_domains_in_order() const {
  if (domains == nullptr) return true;
  for (const DomainLevel& level : domains->levels) {
    for (const auto& ranks : level.ranks_of) {
      if (local_rank_of[ranks.back()] - local_rank_of[ranks.front()] + 1 != std::ssize(ranks)) return false;
    }
  }
  return true;
}

std::vector<int> Layout::factors() const {
  std::vector<int> found{nodes()};
  const std::vector<std::vector<int>>* outer = &ranks_of;
  for (int i = 0; domains != nullptr && i < domains->depth(); ++i) {
    const DomainLevel& level = domains->levels[static_cast<std::size_t>(i)];
    std::vector<int> inner(outer->size());
    const std::vector<int>& outer_of =
        i == 0 ? node_of : domains->levels[static_cast<std::size_t>(i) - 1].domain_of;
    for (const auto& ranks : level.ranks_of) ++inner[static_cast<std::size_t>(outer_of[ranks.front()])];
    if (std::ranges::adjacent_find(inner, std::not_equal_to()) != inner.end()) return {};
    found.push_back(inner.front());
    outer = &level.ranks_of;
  }
  for (const auto& ranks : *outer) {
    if (ranks.size() != outer->front().size()) return {};
  }
  found.push_back(static_cast<int>(outer->front().size()));
  return found;
}

Layout Layout::from_labels(const std::vector<int>& labels) {
  Layout layout;
  std::map<int, int> node_of_label;
  for (int rank = 0; rank < static_cast<int>(labels.size()); ++rank) {
    const auto [position, is_new] = node_of_label.try_emplace(labels[rank], layout.nodes());
    if (is_new) layout.ranks_of.emplace_back();
    auto& ranks = layout.ranks_of[position->second];
    layout.node_of.push_back(position->second);
    layout.local_rank_of.push_back(static_cast<int>(ranks.size()));
    ranks.push_back(rank);
  }
  return layout;
}

Layout Layout::one_node(int size) {
  return from_labels(std::vector<int>(static_cast<std::size_t>(size), 0));
}

namespace {

// What the levels from `first` on say of some ranks.
std::vector<DomainLabels> labels_of(const Domains& domains, std::size_t first,
                                    const std::vector<int>& ranks) {
  std::vector<DomainLabels> levels;
  for (std::size_t i = first; i < domains.levels.size(); ++i) {
    DomainLabels& level = levels.emplace_back(DomainLabels{.kind = domains.levels[i].kind, .labels = {}});
    for (const int rank : ranks) level.labels.push_back(domains.levels[i].domain_of[rank]);
  }
  return levels;
}

}  // namespace

Layout Layout::of_ranks(const std::vector<int>& ranks) const {
  std::vector<int> labels;
  for (const int rank : ranks) labels.push_back(node_of[rank]);
  Layout some = from_labels(labels);
  some.switches = switches;
  for (const auto& of_node : some.ranks_of) {
    if (!switch_of.empty()) some.switch_of.push_back(switch_of[node_of[ranks[of_node.front()]]]);
  }
  if (domains != nullptr) some.divide(labels_of(*domains, 0, ranks));
  return some;
}

Layout Layout::inside(int node) const {
  const std::vector<int>& ranks = ranks_of[node];
  for (std::size_t i = 0; domains != nullptr && i < domains->levels.size(); ++i) {
    std::vector<int> labels;
    for (const int rank : ranks) labels.push_back(domains->levels[i].domain_of[rank]);
    Layout divided = from_labels(labels);
    if (divided.nodes() == 1) continue;
    divided.divide(labels_of(*domains, i + 1, ranks));
    return divided;
  }
  return one_node(static_cast<int>(ranks.size()));
}

std::vector<int> node_order(const Layout& layout) {
  std::vector<int> order;
  for (const auto& ranks : layout.ranks_of) order.insert(order.end(), ranks.begin(), ranks.end());
  return order;
}

}  // namespace unisono::patterns
