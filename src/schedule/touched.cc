// SPDX-License-Identifier: BSD-3-Clause
#include "schedule/touched.h"

#include <algorithm>
#include <numeric>

namespace unisono::schedule {

static_assert(static_cast<int>(Place::input) == 0 && static_cast<int>(Place::scratch) == 2);

bool Touched::Fraction::operator<(const Fraction& other) const {
  return static_cast<__int128>(numerator) * other.denominator <
         static_cast<__int128>(other.numerator) * denominator;
}

Touched::Fraction Touched::fraction(std::int64_t numerator, std::int64_t denominator) {
  const std::int64_t divisor = std::gcd(numerator, denominator);
  return {numerator / divisor, denominator / divisor};
}

Touched::Touched(const std::vector<FlatStep>& steps) {
  for (const FlatStep& step : steps) {
    if (step.is_token) continue;
    const Operands named = operands(step.step);
    for (const Ref* ref : {named.reads[0], named.reads[1], named.write}) {
      if (ref != nullptr && is_private(ref->place)) note_boundaries(*ref);
    }
  }
  for (PlaceMap& map : maps_) {
    std::sort(map.boundaries.begin(), map.boundaries.end());
    map.boundaries.erase(std::unique(map.boundaries.begin(), map.boundaries.end()), map.boundaries.end());
    map.intervals.resize(map.boundaries.size());
  }
}

void Touched::note_boundaries(const Ref& ref) {
  std::vector<Fraction>& boundaries = maps_[static_cast<int>(ref.place)].boundaries;
  boundaries.push_back(fraction(ref.first, ref.parts));
  boundaries.push_back(fraction(ref.last, ref.parts));
}

std::int32_t Touched::position(const PlaceMap& map, std::int64_t numerator, std::int64_t denominator) const {
  const auto found =
      std::lower_bound(map.boundaries.begin(), map.boundaries.end(), fraction(numerator, denominator));
  return static_cast<std::int32_t>(found - map.boundaries.begin());
}

Touched::Access Touched::make_access(int index, int stage, const Ref& ref, const PlaceMap& map) const {
  return {.step = index,
          .stage = stage,
          .low = position(map, ref.first, ref.parts),
          .high = position(map, ref.last, ref.parts),
          .sub_first = ref.sub_first,
          .sub_last = ref.sub_last,
          .sub_parts = ref.sub_parts};
}

// Parts of the same pieces that do not meet. Pieces are known to be the same within a stage only.
bool Touched::is_apart(const Access& a, const Access& b) {
  if (a.stage != b.stage || a.low != b.low || a.high != b.high) return false;
  const auto ends_before = [](const Access& x, const Access& y) {
    return static_cast<std::int64_t>(x.sub_last) * y.sub_parts <=
           static_cast<std::int64_t>(y.sub_first) * x.sub_parts;
  };
  return ends_before(a, b) || ends_before(b, a);
}

}  // namespace unisono::schedule
