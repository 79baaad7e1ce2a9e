// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/engines/call_timing.h"

#include "runtime/communicators/learned_class.h"

namespace unisono::runtime {
namespace {

// Two clock reads cost as much as a small collective: once a class is known to be quick, one call in 64 is
// timed.
constexpr int samples_before_thinning = 32;
constexpr double quick_call_s = 5e-6;
constexpr std::uint32_t thin_mask = 63;

void record_time(CallClass& entry, double seconds, double waited_s) {
  entry.times.add(seconds, waited_s);
  // What is learned says itself which calls are timed.
  if (entry.times.count() == samples_before_thinning && entry.learner == nullptr &&
      entry.times.timed_s() < quick_call_s * samples_before_thinning) {
    entry.sample_mask = thin_mask;
  }
}

}  // namespace

void CallTiming::keep(CallClass& entry, double seconds, double waited_s, bool is_well) {
  record_time(entry, seconds, waited_s);
  if (entry.learner == nullptr) return;
  if (entry.plain_looks > 0) {
    --entry.plain_looks;
    entry.learner->look_plainly(is_well ? seconds : -1);
    return;
  }
  const double start_s = now_s();
  entry.learner->look(is_well ? seconds : -1);
  entry.learner->overhead_s += now_s() - start_s;
}

}  // namespace unisono::runtime
