// SPDX-License-Identifier: BSD-3-Clause
// How long the calls of a class took. Small ones are timed by sampling: of most calls nothing is known but
// what others were seen to take. So what is said of them must not go by one call for which a rank came late.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

namespace unisono::runtime {

class CallTimes {
 public:
  // A call that was timed; so much of it was long waits, which are known of all calls (shm::long_waits_ns).
  void add(double seconds, double waited_s = 0);
  // The long waits of a call that was not.
  void add_waits(double seconds) { untimed_waits_s_ += seconds; }

  std::uint64_t count() const { return count_; }  // of timed calls
  double timed_s() const { return timed_s_; }

  // Of all calls, so many: what was measured, what the rest is estimated to have taken, and by how much that
  // may be wrong.
  struct Sum {
    double measured_s = 0, estimated_s = 0, error_s = 0;
  };
  Sum of(std::uint64_t calls) const;

 private:
  // By length, two buckets for each power of two, from 15 ns on.
  struct Bucket {
    std::uint32_t count = 0;
    double seconds = 0;
    double mean_s() const { return seconds / count; }
  };
  static constexpr int bucket_count = 64;
  using Buckets = std::array<Bucket, bucket_count>;
  double winsorised_mean_s() const;

  std::uint64_t count_ = 0;
  double timed_s_ = 0, untimed_waits_s_ = 0;
  std::unique_ptr<Buckets> buckets_;  // of timed calls without their long waits
};

}  // namespace unisono::runtime
