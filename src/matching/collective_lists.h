// SPDX-License-Identifier: BSD-3-Clause
// M4, section 5.2, figure 5.3, algorithms 5.1 and 5.2: lists for each collective operation.
//
// Entries of a collective's first call with certain parameters show how many lists it needs: as many as the
// elements that a search looks at on average. Then it gets them, as a new level, where it has fewer. New
// entries go to the last level, to the list of rank mod lists. Searches look at the profiling list, then at
// the levels in order.
//
// What the source leaves open, or says twice:
// - Ranges of message and communicator sizes: powers of two (Kind).
// - 'Total plus new < k sqrt(n)' would leave rank 0 with 31 lists where the results have 32: a level gets
// what
//   is left of the bound.
// - Algorithm 5.2 searches all levels: here the first hit ends it.
// - Entries go to the last level, and those of a first call to the profiling list. Where a level exists both
//   cannot hold, as a later entry would be found first. So the profiling list is of operations without a
//   level. Searches in a level of q lists count q times, for what one list would have cost.
// - A caller says by Kind::call which entries are of the same call.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "matching/dynamic_partners.h"
#include "matching/envelope.h"

namespace unisono::matching {

class CollectiveLists {
 public:
  // `most_lists` is k sqrt(n).
  CollectiveLists(std::uint32_t most_lists, ListNumbers* numbers)
      : most_lists_(most_lists), profiling_(numbers->more(1)) {}

  template <class Visit>
  void route(const Envelope& envelope, Visit visit) const {
    if (visit(profiling_)) return;
    for (const Level& level : levels_[envelope.kind.operation])
      if (visit(level.list_of(envelope.source))) return;
  }
  template <class Visit>
  void every(const Envelope& envelope, Visit visit) const {
    visit(profiling_);
    for (const Level& level : levels_[envelope.kind.operation])
      for (std::uint32_t i = 0; i < level.count; ++i) visit(level.first + i);
  }
  std::uint32_t target(const Envelope& envelope) const {
    const std::vector<Level>& levels = levels_[envelope.kind.operation];
    return levels.empty() ? profiling_ : levels.back().list_of(envelope.source);
  }
  void searched(const Envelope& envelope, std::uint64_t looked_at, ListNumbers* numbers);

  std::uint32_t dedicated() const { return dedicated_; }
  std::size_t bytes() const;

 private:
  struct Level {
    std::uint32_t first, count;
    std::uint32_t list_of(std::int32_t source) const {
      return first + static_cast<std::uint32_t>(source) % count;
    }
  };
  // Of an operation with certain parameters.
  struct Profiled {
    std::uint8_t first_call;
    bool is_over = false;  // the first call
    std::uint64_t searches = 0;
    double looked_at = 0;
  };

  void add_level(std::uint8_t operation, const Profiled& profiled, ListNumbers* numbers);

  std::uint32_t most_lists_;
  std::uint32_t profiling_;
  std::uint32_t dedicated_ = 0;  // T
  std::map<std::tuple<std::uint8_t, std::uint8_t, std::uint8_t>, Profiled> profiled_;
  std::vector<std::vector<Level>> levels_ = std::vector<std::vector<Level>>(256);  // by operation
};

}  // namespace unisono::matching
