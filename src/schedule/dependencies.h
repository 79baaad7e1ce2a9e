// SPDX-License-Identifier: BSD-3-Clause
// Finds which steps must wait for which, from what they touch and from the rules of order.
// docs/inside/engines.md, "Programs".
#pragma once

#include <cstdint>
#include <vector>

#include "schedule/compiled.h"

namespace unisono::schedule {

struct FlatStep {
  Step step;  // in place already
  std::int32_t stage = 0;
  std::int32_t round = 0;
  std::int32_t tag = 0;
  std::int32_t rounds_under_way = 0;  // of its stage
  std::int32_t sends_under_way = 0;   // of its stage
  bool is_blocking = false;           // its stage
  bool begins_apart = false;          // its stage
  bool has_channel = false;           // its stage
  bool continues_channel = false;     // its stage
  bool is_token = false;
  bool is_node_step = false;
};

// For each step its predecessors, without those that another predecessor implies.
std::vector<std::vector<Predecessor>> find_predecessors(const std::vector<FlatStep>& steps);

constexpr bool is_private(Place place) {
  return place == Place::input || place == Place::output || place == Place::scratch;
}
// Another local rank's?
constexpr bool is_remote(Place place) {
  return place == Place::remote_input || place == Place::remote_output;
}

// The references that a step reads and writes, by its kind.
struct Operands {
  const Ref* reads[2] = {};
  const Ref* write = nullptr;
};
Operands operands(const Step& step);

}  // namespace unisono::schedule
