// SPDX-License-Identifier: BSD-3-Clause
// Which earlier steps touched what a step touches. The places of one rank are divided at every boundary that
// any reference names, so each access costs as many list entries as it covers intervals.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "schedule/dependencies.h"

namespace unisono::schedule {

class Touched {
 public:
  explicit Touched(const std::vector<FlatStep>& steps);

  // Records the accesses of step `index`; calls add(other step, how to wait) for every earlier step that it
  // conflicts with, possibly several times. Steps come in program order.
  template <typename Add>
  void visit(int index, const FlatStep& step, Add add) {
    if (step.is_token) return;
    const Operands named = operands(step.step);
    // Reads first: a step does not wait for itself, and what it overwrites it has read before.
    for (const Ref* ref : named.reads) {
      if (ref != nullptr && is_private(ref->place)) access(index, step.stage, *ref, false, add);
    }
    if (named.write != nullptr && is_private(named.write->place)) {
      access(index, step.stage, *named.write, true, add);
    }
  }

 private:
  // A boundary, in lowest terms.
  struct Fraction {
    std::int64_t numerator = 0;
    std::int64_t denominator = 1;
    bool operator==(const Fraction&) const = default;
    bool operator<(const Fraction& other) const;
  };
  struct Access {
    std::int32_t step, stage;
    std::int32_t low, high;  // intervals [low, high) of the place
    std::int32_t sub_first, sub_last, sub_parts;
  };
  // Accesses since (and with) the last whole write, as lists in noted_; -1: none.
  struct Interval {
    std::int32_t writers = -1, readers = -1;
  };
  struct Noted {
    std::int32_t access, next;
  };
  struct PlaceMap {
    std::vector<Fraction> boundaries;
    std::vector<Interval> intervals;
  };

  static Fraction fraction(std::int64_t numerator, std::int64_t denominator);
  void note_boundaries(const Ref& ref);
  std::int32_t position(const PlaceMap& map, std::int64_t numerator, std::int64_t denominator) const;
  Access make_access(int index, int stage, const Ref& ref, const PlaceMap& map) const;
  static bool is_apart(const Access& a, const Access& b);

  void note(std::int32_t access, std::int32_t* list) {
    noted_.push_back({access, *list});
    *list = static_cast<std::int32_t>(noted_.size()) - 1;
  }

  template <typename Add>
  void access(int index, int stage, const Ref& ref, bool is_write, Add add) {
    if (ref.first == ref.last) return;
    PlaceMap& map = maps_[static_cast<int>(ref.place)];
    const Access own = make_access(index, stage, ref, map);
    const auto own_id = static_cast<std::int32_t>(accesses_.size());
    accesses_.push_back(own);
    const auto conflict = [&](std::int32_t id) {
      const Access& other = accesses_[id];
      if (other.step == own.step || is_apart(own, other)) return;
      add(other.step, own.low == other.low && own.high == other.high ? Wait::pieces : Wait::all);
    };
    const bool covers_pieces = own.sub_last - own.sub_first == own.sub_parts;
    for (std::int32_t at = own.low; at < own.high; ++at) {
      Interval& interval = map.intervals[at];
      for (std::int32_t i = interval.writers; i >= 0; i = noted_[i].next) conflict(noted_[i].access);
      if (!is_write) {
        note(own_id, &interval.readers);
        continue;
      }
      for (std::int32_t i = interval.readers; i >= 0; i = noted_[i].next) conflict(noted_[i].access);
      if (covers_pieces) interval = {};
      note(own_id, &interval.writers);
    }
  }

  std::array<PlaceMap, 3> maps_;  // by Place: input, output, scratch
  std::vector<Access> accesses_;
  std::vector<Noted> noted_;
};

}  // namespace unisono::schedule
