// SPDX-License-Identifier: BSD-3-Clause
// What a node consists of, and in which part each rank is: sockets, NUMA domains, cores behind one cache.
// Pure arithmetic, the same on all ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

namespace unisono::patterns {

enum class DomainKind : std::uint8_t { socket, numa, cache };
std::string_view name(DomainKind kind);
std::optional<DomainKind> kind_from_name(std::string_view name);

inline constexpr int most_domain_levels = 8;

struct DomainLevel {
  DomainKind kind = DomainKind::numa;
  std::vector<int> domain_of;  // rank -> domain; all nodes' are numbered in the order of their lowest rank
  std::vector<std::vector<int>> ranks_of;  // domain -> its ranks, ascending

  int count() const { return static_cast<int>(ranks_of.size()); }
  bool operator==(const DomainLevel&) const = default;
};

// Outermost level first, at least one. A domain lies in one domain of the level before it; one of the first
// level in one node. Every level has some domain of several ranks that is not all of the one around it.
struct Domains {
  std::vector<DomainLevel> levels;

  int depth() const { return static_cast<int>(levels.size()); }
  bool operator==(const Domains&) const = default;
};

// One level as labels: ranks of one domain of the level before that have equal labels share a domain.
struct DomainLabels {
  DomainKind kind = DomainKind::numa;
  std::vector<int> labels;  // by rank
};
// Levels whose domains have one rank each, or are all of those around them, are left out. Null: none is left.
std::shared_ptr<const Domains> domains_from_labels(const std::vector<int>& node_of,
                                                   const std::vector<DomainLabels>& levels);

// What so many levels are where nothing says so: the innermost of several caches, that around it NUMA
// domains.
std::vector<DomainKind> usual_kinds(int levels);

}  // namespace unisono::patterns
