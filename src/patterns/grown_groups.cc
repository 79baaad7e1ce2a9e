// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/grown_groups.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <numeric>
#include <utility>

#include "patterns/index.h"
#include "patterns/mixed_bits.h"

namespace unisono::patterns {
namespace {

constexpr int least_in_common = 2;  // a pair with more saves something

std::int64_t saved_by(std::int64_t members, std::int64_t in_common) {
  return (members - 1) * (in_common - members);
}

// Of each rank those that have two hashes in common with it, ascending.
class HashedCandidates {
 public:
  // Other hashes in each step.
  HashedCandidates(const Destinations& destinations, const Layout& layout, Scope scope, std::size_t step)
      : of_(destinations.size()), step_(step) {
    constexpr int bands = 16;
    for (int band = 0; band < bands; ++band) {
      std::vector<std::pair<std::uint64_t, int>> keys;
      for (int rank = 0; rank < std::ssize(destinations); ++rank) {
        const auto& own = destinations[at(rank)];
        if (own.size() <= at(least_in_common)) continue;
        const auto first = least_hash(own, 2 * band), second = least_hash(own, 2 * band + 1);
        const int node = scope == Scope::node ? layout.node_of[at(rank)] : 0;
        keys.emplace_back(mixed_bits(mixed_bits(first + static_cast<std::uint64_t>(node)) ^ second), rank);
      }
      std::ranges::sort(keys);
      add(keys);
    }
    for (auto& own : of_) {
      std::ranges::sort(own);
      own.erase(std::ranges::unique(own).begin(), own.end());
    }
  }
  const std::vector<int>& of(int rank) const { return of_[at(rank)]; }

 private:
  std::uint64_t least_hash(const std::vector<int>& destinations, int number) const {
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t seed = mixed_bits((step_ << 32) + static_cast<std::uint64_t>(number) + 1);
    for (const int to : destinations)
      least = std::min(least, mixed_bits(seed + static_cast<std::uint64_t>(to)));
    return least;
  }
  void add(const std::vector<std::pair<std::uint64_t, int>>& keys) {
    constexpr std::size_t most_of_bucket = 32;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const std::size_t end = std::min(keys.size(), i + most_of_bucket);
      for (std::size_t j = i + 1; j < end && keys[j].first == keys[i].first; ++j) {
        of_[at(keys[i].second)].push_back(keys[j].second);
        of_[at(keys[j].second)].push_back(keys[i].second);
      }
    }
  }

  std::vector<std::vector<int>> of_;
  std::uint64_t step_;
};

// Rows of a rank's table that make a group with it.
struct Grown {
  std::vector<int> rows;
  std::vector<std::uint64_t> common;
  std::int64_t saved = 0;
};

// Without the rows that `is_out` has.
Grown grown_from(const FriendTable& table, std::vector<bool> is_out, int most_members) {
  Grown best;
  std::vector<int> rows;
  std::vector<std::uint64_t> common(at(table.words()), ~std::uint64_t{0}), narrowed(common), widest(common);
  while (std::ssize(rows) + 1 < most_members) {
    int most = 0, found = -1;
    for (int row = 0; row < table.size() && table.weight(row) > most; ++row) {
      if (is_out[at(row)]) continue;
      const int count = intersect(common.data(), table.bits(row), table.words(), narrowed.data());
      if (count <= most) continue;
      most = count, found = row;
      std::swap(narrowed, widest);
    }
    const std::int64_t members = std::ssize(rows) + 2;
    if (found < 0 || most <= members) break;  // larger groups save nothing
    rows.push_back(found);
    is_out[at(found)] = true;
    common = widest;
    if (const std::int64_t saved = saved_by(members, most); saved > best.saved) best = {rows, common, saved};
  }
  return best;
}

class Growth {
 public:
  Growth(Destinations destinations, const Layout& layout, const GrowthOptions& options)
      : active_(std::move(destinations)),
        layout_(layout),
        options_(options),
        senders_(active_, layout, options.scope),
        rows_(active_.size(), -1),
        has_finished_(active_.size(), false) {}

  Grouping run() {
    std::vector<int> order(active_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::sort(order, {}, [](int rank) { return mixed_bits(static_cast<std::uint64_t>(rank) + 1); });
    edges_ = edges();
    while (true) {
      std::vector<Group> groups = next_step(order);
      if (groups.empty()) break;
      grouping_.steps.push_back(std::move(groups));
      if (options_.progress)
        options_.progress(1 - static_cast<double>(edges()) / static_cast<double>(edges_));
      std::erase_if(order, [this](int rank) { return has_finished_[at(rank)]; });
    }
    grouping_.left = std::move(active_);
    return std::move(grouping_);
  }

 private:
  std::size_t edges() const {
    std::size_t count = 0;
    for (const auto& own : active_) count += own.size();
    return count;
  }

  // Each rank that no other has taken forms a group.
  std::vector<Group> next_step(const std::vector<int>& order) {
    std::unique_ptr<HashedCandidates> candidates;
    if (options_.candidates == Candidates::hashed)
      candidates =
          std::make_unique<HashedCandidates>(active_, layout_, options_.scope, grouping_.steps.size());
    std::vector<bool> is_taken(active_.size(), false);
    std::vector<Group> groups;
    for (const int rank : order) {
      if (is_taken[at(rank)]) continue;
      Group group = group_with(rank, is_taken, candidates.get());
      if (group.members.empty()) continue;
      for (const int member : group.members) {
        is_taken[at(member)] = true;
        std::vector<int> left;
        std::ranges::set_difference(active_[at(member)], group.destinations, std::back_inserter(left));
        active_[at(member)] = std::move(left);
        for (const int to : group.destinations) senders_.forget(to, member);
      }
      groups.push_back(std::move(group));
    }
    return groups;
  }

  Group group_with(int rank, const std::vector<bool>& is_taken, const HashedCandidates* candidates) {
    const std::vector<int>& own = active_[at(rank)];
    const FriendTable table(rank, own, senders_, least_in_common, &rows_,
                            candidates != nullptr ? &candidates->of(rank) : nullptr);
    grouping_.bytes = std::max(grouping_.bytes, table.bytes());
    std::vector<bool> is_out(at(table.size()), false);
    bool are_all_free = true;
    for (int row = 0; row < table.size(); ++row) {
      is_out[at(row)] = is_taken[at(table.rank(row))];
      if (is_out[at(row)]) are_all_free = false;
    }
    const Grown grown = grown_from(table, std::move(is_out), options_.most_members);
    if (grown.saved <= 0) {
      // What friends have in common never grows.
      if (are_all_free && candidates == nullptr) has_finished_[at(rank)] = true;
      return {};
    }
    Group group{{rank}, {}};
    for (const int row : grown.rows) group.members.push_back(table.rank(row));
    std::ranges::sort(group.members);
    for (int index = 0; index < std::ssize(own); ++index) {
      if (grown.common[at(index / bits_of_word)] >> index % bits_of_word & 1)
        group.destinations.push_back(own[at(index)]);
    }
    return group;
  }

  Destinations active_;
  const Layout& layout_;
  const GrowthOptions& options_;
  Senders senders_;
  std::vector<int> rows_;
  std::vector<bool> has_finished_;  // no group with this rank saves anything
  std::size_t edges_ = 0;
  Grouping grouping_;
};

}  // namespace

Grouping grown_groups(Destinations destinations, const Layout& layout, const GrowthOptions& options) {
  return Growth(std::move(destinations), layout, options).run();
}

}  // namespace unisono::patterns
