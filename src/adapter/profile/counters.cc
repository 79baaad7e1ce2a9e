// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/profile/counters.h"

#include <algorithm>

#include "adapter/profile/call_profile.h"

namespace unisono::adapter::profile {

// So few short calls are timed that both looks at the clock cost little, and so many that the sum is right.
std::uint64_t take_in(Sampler* sampler, std::uint64_t started, std::uint64_t ended, std::uint32_t random) {
  constexpr std::uint64_t calls_at_first = 32;
  constexpr std::uint32_t one_in = 16, all_after_long = 1000;
  constexpr double short_ns = 2000, long_ns = 20000;
  const std::uint64_t taken = ended - started;
  // Calls that were not timed have not taken longer than what has passed: a call that waits, of many that do
  // not, would else be counted many times.
  const std::uint64_t passed = started > sampler->ended ? started - sampler->ended : 0;
  const std::uint64_t ticks = taken + std::min(taken * (sampler->stands_for - 1), passed);
  sampler->ended = ended;
  sampler->calls += sampler->stands_for;
  sampler->ticks += ticks;
  const double mean_ns =
      static_cast<double>(sampler->ticks) / static_cast<double>(sampler->calls) * tick_ns();
  // Where one waits others do soon.
  if (static_cast<double>(taken) * tick_ns() > long_ns) {
    sampler->all_for = all_after_long;
  } else if (sampler->all_for > 0) {
    --sampler->all_for;
  }
  const bool is_short = sampler->calls >= calls_at_first && sampler->all_for == 0 && mean_ns < short_ns;
  sampler->left = is_short ? random % (2 * one_in - 1) : 0;  // one_in - 1 on average
  sampler->stands_for = sampler->left + 1;
  sampler->has_skipped = sampler->has_skipped || sampler->left != 0;
  return ticks;
}

bool ThreadTable::is_estimated(std::size_t function) const {
  const Sampler* samplers = samplers_[function].get();
  return samplers != nullptr && std::any_of(samplers, samplers + tuning::size_class_count,
                                            [](const Sampler& one) { return one.has_skipped; });
}

Row* ThreadTable::make(std::atomic<Row*>* row) {
  auto* made = reinterpret_cast<Row*>(new Cell[tuning::size_class_count]);
  row->store(made, std::memory_order_release);
  return made;
}

}  // namespace unisono::adapter::profile
