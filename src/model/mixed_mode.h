// SPDX-License-Identifier: BSD-3-Clause
// Section 4.5 of A7's source: a broadcast along a chain of nodes in segments. Some bytes of each segment go
// through the node's shared memory beside the messages. What remains of all segments goes through it in the
// end.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/machine.h"
#include "model/predict.h"
#include "patterns/layout.h"

namespace unisono::model {

// The terms, in microseconds, and the equations of them.
struct MixedMode {
  double inter_node_us = 0;  // the broadcast along the chain of nodes alone (L in script)
  double latency_us = 0;     // L
  double gap_us = 0;         // g(m_i)
  double send_us = 0;        // os(m_i)
  double overlapped_us = 0;  // smcc(m_s)
  double remaining_us = 0;   // smcc(m_r)
  double penalty_us = 0;     // ovp(m_s)
  std::int64_t segment_bytes = 0, overlapped_bytes = 0, remaining_bytes = 0;  // m_i, m_s, m_r
  std::int64_t segments = 1;                                                  // k
  int nodes = 1;                                                              // p

  // One segment between two nodes, without and with penalty.
  double one_segment_us() const;            // equation 4.1
  double one_penalized_segment_us() const;  // equation 4.2
  double overlapping_us() const;  // equation 4.3, where smcc(m_s) is longer than what it hides behind
  double complete_overlapping_us() const;  // equation 4.4: the lower bound
  double penalty_mode_us() const;          // equation 4.5
  double penalty_bound_us() const;         // equation 4.6: the upper bound, ovp(m_s) = smcc(m_s)

  // Of the equations 4.3 to 4.5 the one that takes longest gives the mode that this is in. 4.3 is above the
  // lower bound where a copy is too long to hide. 4.5 is above it where a copy delays messages.
  double expected_us() const;
  std::string_view mode() const;  // "complete overlapping", "overlapping", "penalty"
};

// On a machine: messages between nodes by parameterized LogP, and shared memory by its broadcast on the node
// that has most ranks, in virtual time. A segment of 0 bytes: the message is not cut.
// Nothing where that would take more steps than the options allow.
std::optional<MixedMode> mixed_mode(const Machine& machine, const patterns::Layout& layout,
                                    std::int64_t bytes, std::int64_t segment_bytes,
                                    std::int64_t overlap_bytes, const PredictOptions& options = {});

}  // namespace unisono::model
