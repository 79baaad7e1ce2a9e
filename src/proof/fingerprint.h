// SPDX-License-Identifier: BSD-3-Clause
// What decides how a checked call runs.
#pragma once

#include <cstdint>

#include "proof/check_program.h"

namespace unisono::proof {

// What decides how a call runs, but for its count and how it is cut. Two shapes with equal numbers run alike:
// say, two layouts where no step uses a node's memory.
class Fingerprint {
 public:
  explicit Fingerprint(const CheckedCall& call) {
    bool has_node_steps = false;
    for (const CheckedProgram& program : call.programs) {
      for (const schedule::Stage& stage : program.stages) {
        mix(stage.segment_bytes != 0, stage.shared, stage.ticks, stage.buffers, stage.lanes);
      }
      for (const CheckedStep& step : program.steps) {
        mix(step);
        has_node_steps = has_node_steps || step.is_node;
      }
      mix(program.steps.size());
      if (program.blocks != nullptr) mix(*program.blocks);
    }
    for (const int node : call.problem.layout->node_of) {
      if (has_node_steps) mix(node);
    }
  }
  std::uint64_t value() const { return hash_; }

 private:
  template <typename... Values>
  void mix(Values... values) {
    const auto one = [this](std::uint64_t value) {
      hash_ = (hash_ ^ value) * 0x9e3779b97f4a7c15u;
      hash_ ^= hash_ >> 29;
    };
    (one(static_cast<std::uint64_t>(values)), ...);
  }
  void mix(const schedule::Ref& ref) {
    mix(ref.place, ref.first, ref.last, ref.parts, ref.sub_first, ref.sub_last, ref.sub_parts, ref.owner,
        ref.lane, ref.lane_first);
  }
  void mix(const schedule::BlockTable& table) {
    mix(table.limits.bundle_up_to, table.limits.share_up_to, table.told_by_rank, table.outs);
    for (const schedule::NumberedBlock& block : table.blocks)
      mix(block.told, block.kept, block.index, block.is_output);
  }
  void mix(const CheckedStep& step) {
    mix(step.stage, step.round, step.step.kind, step.step.peer, step.step.tick);
    for (const schedule::Ref* ref : {&step.step.into, &step.step.left, &step.step.right}) mix(*ref);
    if (step.step.along == nullptr) return;
    for (const int parent : step.step.along->parent) mix(parent);
  }

  std::uint64_t hash_ = 0;
};

}  // namespace unisono::proof
