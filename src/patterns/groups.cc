// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/groups.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <tuple>
#include <utility>

#include "patterns/index.h"
#include "patterns/mixed_bits.h"

namespace unisono::patterns {
namespace {

std::uint64_t hash_of(const std::vector<int>& members) {
  std::uint64_t hash = 0;
  for (const int member : members) hash = mixed_bits(hash + static_cast<std::uint64_t>(member) + 1);
  return hash;
}

// A group that a rank could be in.
struct Choice {
  int weight = 0;  // 0: none
  std::uint64_t hash = 0;
  std::vector<int> members;
  bool is_before(const Choice& other) const {
    return std::tie(other.weight, hash, members) < std::tie(weight, other.hash, other.members);
  }
};

// Depth first through the combinations of a rank's friends, as far as they have enough in common.
class Combinations {
 public:
  Combinations(const FriendTable& table, int size, int threshold, std::int64_t* steps_left)
      : table_(table),
        size_(size),
        threshold_(threshold),
        steps_left_(steps_left),
        common_(at(size) * at(table.words())) {}

  // The first in the order of groups, without the ranks that `is_taken` names.
  Choice best(int rank, const std::vector<bool>& is_taken) {
    chosen_.assign(1, rank);
    is_taken_ = &is_taken;
    best_ = {};
    look_for_best(0, nullptr);
    return best_;
  }
  // Those in which `rank` is the lowest.
  std::int64_t count_above(int rank) {
    chosen_.assign(1, rank);
    return count(0, nullptr);
  }
  bool has_finished() const { return *steps_left_ > 0; }

 private:
  int meet(int row, const std::uint64_t* before) {
    --*steps_left_;
    if (before == nullptr) {
      std::copy_n(table_.bits(row), table_.words(), level());
      return table_.weight(row);
    }
    return intersect(before, table_.bits(row), table_.words(), level());
  }
  std::uint64_t* level() { return common_.data() + (chosen_.size() - 1) * at(table_.words()); }

  void look_for_best(int first, const std::uint64_t* before) {
    for (int row = first; row < table_.size() && *steps_left_ > 0; ++row) {
      const int bound = std::max(threshold_ + 1, best_.weight);
      if (table_.weight(row) < bound) return;  // nor has any row behind it more
      if ((*is_taken_)[at(table_.rank(row))]) continue;
      const int weight = meet(row, before);
      if (weight < bound) continue;
      const std::uint64_t* here = level();
      chosen_.push_back(table_.rank(row));
      if (std::ssize(chosen_) == size_) {
        Choice choice{weight, 0, chosen_};
        std::ranges::sort(choice.members);
        choice.hash = hash_of(choice.members);
        if (best_.weight == 0 || choice.is_before(best_)) best_ = std::move(choice);
      } else {
        look_for_best(row + 1, here);
      }
      chosen_.pop_back();
    }
  }

  std::int64_t count(int first, const std::uint64_t* before) {
    std::int64_t groups = 0;
    for (int row = first; row < table_.size() && *steps_left_ > 0; ++row) {
      if (table_.rank(row) < chosen_.front()) continue;
      if (meet(row, before) <= threshold_) continue;
      const std::uint64_t* here = level();
      chosen_.push_back(table_.rank(row));
      groups += std::ssize(chosen_) == size_ ? 1 : count(row + 1, here);
      chosen_.pop_back();
    }
    return groups;
  }

  const FriendTable& table_;
  int size_, threshold_;
  std::int64_t* steps_left_;
  std::vector<std::uint64_t> common_;  // of the ranks chosen so far, one line for each of them
  std::vector<int> chosen_;
  const std::vector<bool>* is_taken_ = nullptr;
  Choice best_;
};

std::vector<int> in_both(const std::vector<int>& left, const std::vector<int>& right) {
  std::vector<int> both;
  std::ranges::set_intersection(left, right, std::back_inserter(both));
  return both;
}

// One run of algorithm 7.1.
class Matching {
 public:
  Matching(Destinations destinations, const Layout& layout, const GroupOptions& options)
      : active_(std::move(destinations)),
        options_(options),
        threshold_(threshold_of(options)),
        steps_left_(options.most_steps),
        senders_(active_, layout, options.scope),
        rows_(active_.size(), -1) {
    for (const auto& own : active_) edges_ += own.size();
  }

  Grouping run() {
    while (true) {
      if (!find_tables()) break;
      std::vector<Group> groups = match();
      if (groups.empty() || !grouping_.problem.empty()) break;
      for (const Group& group : groups) take_out(group);
      grouping_.steps.push_back(std::move(groups));
      if (options_.progress) options_.progress(share_done());
    }
    grouping_.left = std::move(active_);
    return std::move(grouping_);
  }

 private:
  int ranks() const { return static_cast<int>(active_.size()); }
  double share_done() const {
    std::size_t left = 0;
    for (const auto& own : active_) left += own.size();
    return edges_ == 0 ? 1 : 1 - static_cast<double>(left) / static_cast<double>(edges_);
  }

  bool find_tables() {
    tables_.clear();
    std::size_t bytes = 0;
    for (int rank = 0; rank < ranks(); ++rank) {
      tables_.emplace_back(rank, active_[at(rank)], senders_, threshold_, &rows_);
      bytes += tables_.back().bytes();
      if (bytes > options_.most_bytes) {
        grouping_.problem =
            "the tables of friends take more than " + std::to_string(options_.most_bytes >> 20) + " MiB";
        return false;
      }
    }
    grouping_.bytes = std::max(grouping_.bytes, bytes);
    return true;
  }

  Choice choice_of(int rank, const std::vector<bool>& is_taken) {
    return Combinations(tables_[at(rank)], options_.size, threshold_, &steps_left_).best(rank, is_taken);
  }

  // Algorithm 7.3: who has seen that a friend is taken asks others, until nobody has whom to ask.
  std::vector<Group> match() {
    std::vector<bool> is_taken(active_.size(), false);
    std::vector<Choice> choices(active_.size());
    for (int rank = 0; rank < ranks(); ++rank) choices[at(rank)] = choice_of(rank, is_taken);
    std::vector<Group> groups;
    for (int round = 1;; ++round) {
      if (steps_left_ <= 0) {
        grouping_.problem = "there are too many combinations of friends to look at";
        return {};
      }
      const std::size_t before = groups.size();
      form(choices, &is_taken, &groups);
      if (groups.size() == before) return groups;
      grouping_.request_rounds = std::max(grouping_.request_rounds, round);
      for (int rank = 0; rank < ranks(); ++rank) {
        Choice& own = choices[at(rank)];
        if (own.weight == 0) continue;
        if (is_taken[at(rank)]) own = {};
        const auto is_gone = [&](int member) { return is_taken[at(member)]; };
        if (std::ranges::any_of(own.members, is_gone)) own = choice_of(rank, is_taken);
      }
    }
  }

  void form(const std::vector<Choice>& choices, std::vector<bool>* is_taken, std::vector<Group>* groups) {
    for (int rank = 0; rank < ranks(); ++rank) {
      const Choice& own = choices[at(rank)];
      if (own.weight == 0 || own.members.front() != rank) continue;
      const auto agrees = [&](int member) {
        return choices[at(member)].weight > 0 && choices[at(member)].members == own.members;
      };
      if (!std::ranges::all_of(own.members, agrees)) continue;
      Group group{own.members, active_[at(rank)]};
      for (const int member : group.members) {
        (*is_taken)[at(member)] = true;
        group.destinations = in_both(group.destinations, active_[at(member)]);
      }
      groups->push_back(std::move(group));
    }
  }

  // What a group deals with no longer is what its members look for friends for.
  void take_out(const Group& group) {
    for (int index = 0; index < std::ssize(group.members); ++index) {
      const int member = group.members[at(index)];
      std::vector<int> gone = group.destinations;
      if (options_.combining == Combining::cumulative) {
        const std::vector<int> own = part_of(group, index);
        gone.clear();
        std::ranges::set_difference(group.destinations, own, std::back_inserter(gone));
      }
      std::vector<int> left;
      std::ranges::set_difference(active_[at(member)], gone, std::back_inserter(left));
      active_[at(member)] = std::move(left);
      for (const int destination : gone) senders_.forget(destination, member);
    }
  }

  Destinations active_;
  const GroupOptions& options_;
  int threshold_;
  std::int64_t steps_left_;
  std::size_t edges_ = 0;
  Senders senders_;
  std::vector<int> rows_;
  std::vector<FriendTable> tables_;
  Grouping grouping_;
};

}  // namespace

std::vector<int> part_of(const Group& group, int index) {
  const auto members = static_cast<int>(group.members.size());
  const auto count = static_cast<int>(group.destinations.size());
  const int each = count / members, more = count % members;
  const auto begin = group.destinations.begin() + index * each + std::min(index, more);
  return {begin, begin + each + (index < more ? 1 : 0)};
}

int threshold_of(const GroupOptions& options) {
  if (options.threshold >= 0) return options.threshold;
  return options.scope == Scope::all ? options.size * (options.size - 1) : options.size;
}

Grouping friend_groups(Destinations destinations, const Layout& layout, const GroupOptions& options) {
  return Matching(std::move(destinations), layout, options).run();
}

HyperedgeCount count_hyperedges(const Destinations& destinations, const Layout& layout,
                                const GroupOptions& options) {
  const Senders senders(destinations, layout, options.scope);
  const int threshold = threshold_of(options);
  std::int64_t steps_left = options.most_steps, groups = 0;
  std::vector<int> rows(destinations.size(), -1);
  const auto ranks = static_cast<int>(destinations.size());
  for (int rank = 0; rank < ranks && steps_left > 0; ++rank) {
    const FriendTable table(rank, destinations[at(rank)], senders, threshold, &rows);
    groups += Combinations(table, options.size, threshold, &steps_left).count_above(rank);
    if (options.progress) options.progress(static_cast<double>(rank + 1) / ranks);
  }
  return {static_cast<double>(groups) * options.size / std::max(ranks, 1), steps_left > 0};
}

}  // namespace unisono::patterns
