// SPDX-License-Identifier: BSD-3-Clause
#include "tool/graph_time.h"

#include <algorithm>

namespace unisono::tool {

double time_us(const patterns::Traffic& traffic, const GraphCosts& costs, std::int64_t block_bytes) {
  const auto bytes = static_cast<double>(block_bytes);
  double us = 0;
  for (const patterns::Phase& phase : traffic.phases()) {
    const auto times = [](std::int64_t count, double cost) { return static_cast<double>(count) * cost; };
    us += phase.barriers * costs.barrier_us;
    us += times(phase.copies, costs.copy_us) + times(phase.blocks_copied, bytes * costs.copy_us_per_byte);
    // A core deals with one message after the other, while earlier ones are on their way.
    const double ends = phase.messages > 0 ? 2 * costs.message_us : 0;
    double messages = times(phase.messages, costs.message_us);
    if (phase.blocks_inside > 0)
      messages = std::max(messages, ends + costs.inside_latency_us +
                                        times(phase.blocks_inside, bytes * costs.inside_us_per_byte) / 2);
    if (phase.blocks_between > 0)
      messages = std::max(messages, ends + costs.between_latency_us +
                                        times(phase.blocks_between, bytes * costs.between_us_per_byte));
    us += messages;
  }
  return us;
}

}  // namespace unisono::tool
