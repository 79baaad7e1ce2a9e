// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/domains.h"

#include <algorithm>
#include <map>
#include <utility>

namespace unisono::patterns {

std::string_view name(DomainKind kind) {
  switch (kind) {
    case DomainKind::socket:
      return "socket";
    case DomainKind::numa:
      return "numa";
    case DomainKind::cache:
      break;
  }
  return "cache";
}

std::optional<DomainKind> kind_from_name(std::string_view text) {
  for (const DomainKind kind : {DomainKind::socket, DomainKind::numa, DomainKind::cache})
    if (name(kind) == text) return kind;
  return std::nullopt;
}

namespace {

DomainLevel level_below(const std::vector<int>& outer, const DomainLabels& of_ranks) {
  DomainLevel level{.kind = of_ranks.kind, .domain_of = {}, .ranks_of = {}};
  std::map<std::pair<int, int>, int> number_of;
  for (std::size_t rank = 0; rank < outer.size(); ++rank) {
    const auto [known, is_new] = number_of.try_emplace({outer[rank], of_ranks.labels[rank]}, level.count());
    if (is_new) level.ranks_of.emplace_back();
    level.domain_of.push_back(known->second);
    level.ranks_of[static_cast<std::size_t>(known->second)].push_back(static_cast<int>(rank));
  }
  return level;
}

// Does it hold several ranks together, and not all that the level around it does?
bool divides(const DomainLevel& level, const std::vector<int>& outer) {
  std::vector<std::size_t> sizes(outer.size());
  for (const int domain : outer) ++sizes[static_cast<std::size_t>(domain)];
  return std::ranges::any_of(level.ranks_of, [&](const std::vector<int>& ranks) {
    const int around = outer[static_cast<std::size_t>(ranks.front())];
    return ranks.size() > 1 && ranks.size() < sizes[static_cast<std::size_t>(around)];
  });
}

}  // namespace

std::shared_ptr<const Domains> domains_from_labels(const std::vector<int>& node_of,
                                                   const std::vector<DomainLabels>& levels) {
  Domains domains;
  for (const DomainLabels& labels : levels) {
    const std::vector<int>& outer = domains.levels.empty() ? node_of : domains.levels.back().domain_of;
    DomainLevel level = level_below(outer, labels);
    if (divides(level, outer)) domains.levels.push_back(std::move(level));
  }
  if (domains.levels.empty()) return nullptr;
  return std::make_shared<const Domains>(std::move(domains));
}

std::vector<DomainKind> usual_kinds(int levels) {
  std::vector<DomainKind> kinds(static_cast<std::size_t>(levels), DomainKind::socket);
  if (levels > 1) kinds.back() = DomainKind::cache;
  if (levels > 0) kinds[static_cast<std::size_t>(std::max(levels - 2, 0))] = DomainKind::numa;
  return kinds;
}

}  // namespace unisono::patterns
