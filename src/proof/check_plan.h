// SPDX-License-Identifier: BSD-3-Clause
// A sequence of calls on all ranks with their counts, as a graph of instances that can be run in many orders.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "proof/check_order.h"

namespace unisono::proof {

class CheckPlan {
 public:
  // Call i moves elements[i] elements; `load` has the rest.
  CheckPlan(std::vector<const CheckedCall*> calls, const std::vector<std::int64_t>& elements,
            const CheckLoad& load);

  // What is wrong without running anything; with such failures the plan cannot be run.
  const std::vector<std::string>& failures() const { return failures_; }

  int calls() const { return static_cast<int>(calls_.size()); }
  int ranks() const { return calls_.front()->problem.size; }
  const patterns::Layout& layout() const { return *calls_.front()->problem.layout; }
  const CheckedCall& call(int call) const { return *calls_[call]; }
  std::int64_t elements(int call) const { return elements_[call]; }
  const CheckLoad& load() const { return load_; }
  const LoadedProgram& program(int call, int rank) const { return programs_[call][rank]; }
  const std::vector<LoadedProgram>& programs(int call) const { return programs_[call]; }
  const std::vector<std::vector<InstanceEdge>>& edges(int call) const { return edges_[call]; }  // by rank
  int channels() const { return channels_; }
  bool has_node_steps() const { return has_node_steps_; }

  // Instances of all calls and ranks are numbered through.
  int instances() const { return static_cast<int>(rank_of_.size()); }
  int first_instance(int call, int rank) const { return offsets_[call][rank]; }
  int rank_of(int instance) const { return rank_of_[instance]; }
  int call_of(int instance) const { return call_of_[instance]; }
  const LoadedProgram& program_of(int instance) const {
    return programs_[call_of_[instance]][rank_of_[instance]];
  }
  int local(int instance) const { return instance - offsets_[call_of_[instance]][rank_of_[instance]]; }
  const CheckedStep& step_of(int instance) const {
    const LoadedProgram& program = program_of(instance);
    return program.program().steps[program.step_of(local(instance))];
  }
  int piece_of(int instance) const { return program_of(instance).piece_of(local(instance)); }
  // Messages: the instance of the other side.
  int partner_of(int instance) const;
  // "allgather/ring: rank 1, stage 0, round 2: recv ... (piece 0)"
  std::string describe(int instance) const;

  struct Successor {
    std::int32_t instance;
    bool is_start;
  };
  const Successor* successors_begin(int instance) const {
    return successors_.data() + first_successor_[instance];
  }
  const Successor* successors_end(int instance) const {
    return successors_.data() + first_successor_[instance + 1];
  }
  const std::vector<std::int32_t>& predecessor_counts() const { return predecessor_counts_; }

  // Single copy: do calls read other ranks' memory at all?
  bool has_remote() const { return has_remote_; }
  // Node thread of an instance (a channel, or channels() for fused steps elsewhere), -1 for none.
  int thread_of(int instance) const { return thread_of_[instance]; }
  // In `thread`, the place of the first node step of the rank that cannot come before `instance` is done.
  // Places are counted over calls from 1, as clocks count. int32 max: there is none in this call.
  std::int32_t release(int instance, int thread) const {
    return releases_[static_cast<std::size_t>(instance) * (channels_ + 1) + thread];
  }

 private:
  void check_messages(int call);
  void find_threads();
  void link();
  // Appends the rank's releases; `thread_steps` counts the node steps of its threads over calls.
  void find_releases(const LoadedProgram& program, int offset, const std::vector<InstanceEdge>& edges,
                     std::vector<std::int32_t>* thread_steps);

  std::vector<const CheckedCall*> calls_;
  std::vector<std::int64_t> elements_;
  CheckLoad load_;
  std::vector<std::vector<LoadedProgram>> programs_;
  std::vector<std::vector<std::vector<InstanceEdge>>> edges_;
  std::vector<std::vector<int>> offsets_;
  std::vector<std::int32_t> rank_of_, call_of_;
  std::vector<std::int8_t> thread_of_;
  std::vector<std::int32_t> first_successor_, predecessor_counts_;
  std::vector<Successor> successors_;
  std::vector<std::int32_t> releases_;
  std::vector<std::string> failures_;
  int channels_ = 0;
  bool has_node_steps_ = false;
  bool has_remote_ = false;
};

}  // namespace unisono::proof
