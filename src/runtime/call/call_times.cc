// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/call/call_times.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace unisono::runtime {
namespace {

// Of the timed calls one in so many, the longest, counts as long as those just below it.
constexpr std::uint64_t calls_per_outlier = 20;

// The exponent of a double and the first digit behind it: two buckets for each power of two.
int bucket_of(double seconds, int bucket_count) {
  constexpr int digits_left_out = 51;
  constexpr double shortest_s = 15e-9;
  const auto halves = [](double value) {
    return static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(value) >> digits_left_out);
  };
  if (!(seconds > shortest_s)) return 0;
  return static_cast<int>(std::min<std::int64_t>(halves(seconds) - halves(shortest_s), bucket_count - 1));
}

}  // namespace

void CallTimes::add(double seconds, double waited_s) {
  ++count_;
  timed_s_ += seconds;
  if (buckets_ == nullptr) buckets_ = std::make_unique<Buckets>();
  const double short_s = std::max(seconds - waited_s, 0.0);
  Bucket& bucket = (*buckets_)[static_cast<std::size_t>(bucket_of(short_s, bucket_count))];
  ++bucket.count;
  bucket.seconds += short_s;
}

double CallTimes::winsorised_mean_s() const {
  // A few calls have no outliers that could be told from the others.
  std::uint64_t longest = std::max<std::uint64_t>(count_ / calls_per_outlier, count_ < 4 ? 0 : 1);
  double sum_s = 0, limit_s = 0;
  std::uint64_t above = 0;
  for (auto bucket = buckets_->rbegin(); bucket != buckets_->rend(); ++bucket) {
    if (bucket->count == 0) continue;
    if (longest >= bucket->count) {
      longest -= bucket->count;
      above += bucket->count;
      continue;
    }
    if (limit_s == 0) limit_s = bucket->mean_s();
    longest = 0;
    sum_s += bucket->seconds;
  }
  return (sum_s + limit_s * static_cast<double>(above)) / static_cast<double>(count_);
}

CallTimes::Sum CallTimes::of(std::uint64_t calls) const {
  if (count_ == 0) return {};
  Sum sum{.measured_s = timed_s_ + untimed_waits_s_};
  if (calls <= count_) return sum;
  const auto timed = static_cast<double>(count_), others = static_cast<double>(calls - count_);
  double mean_s = 0, squares = 0;
  for (const Bucket& bucket : *buckets_) mean_s += bucket.seconds / timed;
  for (const Bucket& bucket : *buckets_) {
    if (bucket.count != 0) squares += bucket.count * (bucket.mean_s() - mean_s) * (bucket.mean_s() - mean_s);
  }
  const double typical_s = winsorised_mean_s();
  // The mean's own error; and the calls of which none is like what was seen seldom, or all are.
  const double of_mean_s = std::sqrt(squares) / timed;
  sum.estimated_s = others * typical_s;
  const double of_others_s = mean_s - typical_s;
  sum.error_s = others * std::sqrt(of_mean_s * of_mean_s + of_others_s * of_others_s);
  return sum;
}

}  // namespace unisono::runtime
