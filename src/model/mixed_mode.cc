// SPDX-License-Identifier: BSD-3-Clause
#include "model/mixed_mode.h"

#include <algorithm>
#include <memory>
#include <vector>

#include "algorithms/catalogue/descriptor.h"
#include "model/predict.h"

namespace unisono::model {
namespace {

// smcc(m): a broadcast on one node, as a part of a call.
std::optional<double> on_node_us(const Machine& machine, int ranks, std::int64_t bytes,
                                 const PredictOptions& options) {
  if (ranks < 2 || bytes == 0) return 0;
  const algorithms::Descriptor& shared = *algorithms::find(Operation::bcast, "shared");
  schedule::Problem problem{.operation = Operation::bcast};
  problem.layout = std::make_shared<const patterns::Layout>(patterns::Layout::one_node(ranks));
  problem.size = ranks;
  return predict_us(shared, with_standards(shared), problem, bytes, machine, options);
}

int most_ranks_of_a_node(const patterns::Layout& layout) {
  const auto most = std::ranges::max_element(layout.ranks_of, {},
                                             [](const std::vector<int>& of_node) { return of_node.size(); });
  return static_cast<int>(most->size());
}

}  // namespace

double MixedMode::one_segment_us() const {
  return latency_us + gap_us + overlapped_us + remaining_us;
}

double MixedMode::one_penalized_segment_us() const {
  return latency_us + gap_us + penalty_us + overlapped_us + remaining_us;
}

double MixedMode::overlapping_us() const {
  const auto intervals = static_cast<double>(segments - 1);
  return inter_node_us + (send_us + overlapped_us - gap_us) * intervals + overlapped_us + remaining_us;
}

double MixedMode::complete_overlapping_us() const {
  return inter_node_us + overlapped_us + remaining_us;
}

double MixedMode::penalty_mode_us() const {
  const auto penalties = static_cast<double>(segments + (segments - 1) + (nodes - 2));
  return inter_node_us + penalty_us * penalties + overlapped_us + remaining_us;
}

double MixedMode::penalty_bound_us() const {
  MixedMode worst = *this;
  worst.penalty_us = overlapped_us;
  return worst.penalty_mode_us();
}

double MixedMode::expected_us() const {
  return std::max({complete_overlapping_us(), overlapping_us(), penalty_mode_us()});
}

std::string_view MixedMode::mode() const {
  const double expected = expected_us();
  if (expected == complete_overlapping_us()) return "complete overlapping";
  return expected == overlapping_us() ? "overlapping" : "penalty";
}

std::optional<MixedMode> mixed_mode(const Machine& machine, const patterns::Layout& layout,
                                    std::int64_t bytes, std::int64_t segment_bytes,
                                    std::int64_t overlap_bytes, const PredictOptions& options) {
  MixedMode mode;
  mode.segment_bytes = segment_bytes == 0 ? bytes : std::min(segment_bytes, bytes);
  mode.segments = bytes == 0 ? 1 : (bytes + mode.segment_bytes - 1) / mode.segment_bytes;
  mode.overlapped_bytes = std::min(overlap_bytes, mode.segment_bytes);
  mode.remaining_bytes = std::max<std::int64_t>(0, bytes - mode.overlapped_bytes * mode.segments);
  mode.nodes = layout.nodes();
  const MessageCost cost = machine.network.message(MessageModel::plogp, mode.segment_bytes);
  mode.gap_us = cost.occupancy_us;
  mode.latency_us = cost.whole_us() - cost.occupancy_us;
  mode.send_us = cost.send_us;
  // (p - 1) hops; the other segments follow behind the first one. A node between two others receives and
  // sends.
  const double interval = std::max(cost.occupancy_us, cost.send_us + (mode.nodes > 2 ? cost.receive_us : 0));
  mode.inter_node_us = (mode.nodes - 1) * cost.whole_us() + static_cast<double>(mode.segments - 1) * interval;
  Machine on_node = machine;
  on_node.call_us = 0;
  const int ranks = most_ranks_of_a_node(layout);
  const auto overlapped = on_node_us(on_node, ranks, mode.overlapped_bytes, options);
  const auto remaining = on_node_us(on_node, ranks, mode.remaining_bytes, options);
  if (!overlapped || !remaining) return std::nullopt;
  mode.overlapped_us = *overlapped;
  mode.remaining_us = *remaining;
  if (!machine.overlap_penalty_us.empty() && mode.overlapped_bytes > 0)
    mode.penalty_us = std::min(machine.overlap_penalty_us.at(mode.overlapped_bytes), mode.overlapped_us);
  return mode;
}

}  // namespace unisono::model
