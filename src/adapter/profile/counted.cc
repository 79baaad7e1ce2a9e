// SPDX-License-Identifier: BSD-3-Clause
#include "adapter/profile/counted.h"

namespace unisono::adapter::profile {

CountedCall::CountedCall(ThreadTable* table, std::size_t function, std::int64_t elements)
    : table_(table), sampler_(&table->sampler(function, tuning::size_class(elements))), function_(function) {
  const bool is_timed = sampler_->left == 0;
  if (!is_timed) --sampler_->left;
  table->is_inside = true;
  if (is_timed) started_ = ticks();
}

void CountedCall::stop() {
  if (started_ != 0) weighted_ = take_in(sampler_, started_, ticks(), table_->random());
  table_->is_inside = false;
}

void CountedCall::add(const Movement& moved) {
  Cell& cell = table_->cell(function_, moved.distance, moved.bytes);
  cell.calls.add(1);
  cell.bytes.add(static_cast<std::uint64_t>(moved.bytes));
  if (weighted_ != 0) cell.ticks.add(weighted_);
}

void CountedCall::stop_and_add_nothing_moved() {
  stop();
  add({});
}

}  // namespace unisono::adapter::profile
