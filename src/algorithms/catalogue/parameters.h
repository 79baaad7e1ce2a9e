// SPDX-License-Identifier: BSD-3-Clause
// The parameters that many algorithms share, and their ranges.
#pragma once

#include <cstdint>

#include "algorithms/catalogue/descriptor.h"

namespace unisono::algorithms {

// Messages that the fused operations take: some dozen lines of the fused ring.
inline constexpr std::int64_t fused_max_bytes = 4096;

inline ParameterSpec segment_parameter(std::int64_t standard = 0) {
  return {"segment", "bytes",  0,
          1 << 30,   standard, "size of the pieces that messages are cut into; 0: not cut"};
}
inline ParameterSpec window_parameter() {
  return {"window", "pieces", 1, 4, 2, "pieces of one message that may be under way at a time"};
}
inline ParameterSpec rounds_parameter(std::int64_t standard = 8) {
  return {"rounds", "",
          0,        64,
          standard, "rounds whose messages may be under way at a time; 0: all, 1: as with blocking calls"};
}
inline ParameterSpec blocking_parameter() {
  return {"blocking", "", 0, 1, 0, "1: one message at a time, as with blocking calls; 0: all that may be"};
}
// A14, section 4.5.4. Of algorithms in which a rank sends to many others at once.
inline ParameterSpec pace_parameter() {
  return {"pace", "", 0, 64, 0, "sends to other ranks that may be under way at a time; 0: all"};
}
inline ParameterSpec domains_parameter() {
  return {"domains", "", 0,
          1,         0,  "1: inside nodes along caches, NUMA domains and sockets, where they divide a node"};
}
inline ParameterSpec degree_parameter(std::int64_t standard = 4) {
  return {"degree", "", 2, 1024, standard, "parts that a group is cut into at each level of the tree"};
}
// A4, section 2.5.3. The slots together are one rank's area: a large ring, since data that is still in the
// writer's cache is slow to fetch.
inline ParameterSpec buffers_parameter() {
  return {"buffers", "", 2, 16, 4, "slots of shared memory that a node's pieces go through in turn"};
}
// Where a call is one piece.
inline ParameterSpec call_buffers_parameter() {
  return {"buffers", "", 2, 16, 2, "slots of shared memory that calls go through in turn"};
}
inline ParameterSpec piece_parameter() {
  return {"piece", "bytes", 0, 1 << 30, 0, "size of the pieces that go through shared memory; 0: a slot"};
}

// More lines take longer blocks, and fewer calls fit into the ring that ranks may be ahead by.
inline ParameterSpec lines_parameter() {
  return {"lines", "lines", 2, 64, 16, "cache lines of shared memory for a block; longer ones go apart"};
}

// A6, section 3.3: how much of the node's phase goes on beside the messages between nodes.
inline constexpr std::int64_t whole_segment = 1 << 30;
inline ParameterSpec overlap_parameter(std::int64_t standard = whole_segment) {
  return {"overlap", "bytes",
          0,         whole_segment,
          standard,  "how much of each segment goes through its node beside the messages of others; 0: none"};
}

}  // namespace unisono::algorithms
