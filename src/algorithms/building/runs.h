// SPDX-License-Identifier: BSD-3-Clause
// Runs of blocks as references: where what ranks own stands, among all blocks and alone.
#pragma once

#include <cstdint>

#include "schedule/program.h"

namespace unisono::algorithms {

class Runs {
 public:
  explicit Runs(const schedule::Problem& problem);

  std::int64_t total() const { return all_.last(size_ - 1); }
  std::int64_t length(int rank) const { return all_.last(rank) - all_.first(rank); }
  std::int64_t longest() const;  // of one rank's runs, blocks

  // What the ranks [first, last) own, where all ranks' blocks stand side by side.
  schedule::Ref of(schedule::Place place, int first, int last) const {
    return blocks(place, all_.first(first), all_.last(last - 1));
  }
  schedule::Ref of(schedule::Place place, int rank) const { return of(place, rank, rank + 1); }
  schedule::Ref all(schedule::Place place) const { return of(place, 0, size_); }
  // What this rank owns, in memory that holds nothing else.
  schedule::Ref own(schedule::Place place) const {
    return is_uneven_ ? of(place, rank_) : blocks(place, 0, length(rank_));
  }
  // The same for the `number`-th such area of scratch space; `scratch` holds so many of them.
  schedule::Ref own_area(int number) const { return own(schedule::Place::scratch).shifted(number * area()); }
  std::int64_t scratch(int areas) const { return areas * area(); }

 private:
  std::int64_t area() const { return is_uneven_ ? total() : length(rank_); }

  bool is_uneven_;  // blocks keep their numbers everywhere
  schedule::Blocks all_;
  int size_;
  int rank_;
};

}  // namespace unisono::algorithms
