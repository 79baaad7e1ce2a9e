// SPDX-License-Identifier: BSD-3-Clause
// Runs a plan on symbolic data in one order out of many, and watches.
//
// Two things are proved for every order. Nobody waits for ever, under the sternest reading: a send finishes
// only when it meets its receive, every fused operation is a barrier, and pieces wait for the window. No two
// accesses to the node's memory race (check_node.h). What is then shown in the order at hand are the values.
#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "proof/check_node.h"
#include "proof/check_plan.h"
#include "proof/check_values.h"

namespace unisono::proof {

struct CheckPolicy {
  enum class Pick : std::uint8_t { oldest, newest, random, fast_rank, slow_rank };
  Pick pick = Pick::oldest;
  bool is_stern = true;  // see above; otherwise sends are eager and fused operations wait for what they need
  int rank = 0;          // fast_rank, slow_rank
  std::uint32_t seed = 1;
};
std::string describe(const CheckPolicy& policy);

class CheckRun {
 public:
  CheckRun(const CheckPlan& plan, const CheckPolicy& policy);
  // What went wrong; empty when all is well.
  std::vector<std::string> run();

 private:
  struct RankState {
    int call = -1;
    int unfinished = 0;
    std::int64_t fused = 0;               // fused operations that it came to
    Clock start;                          // of the call
    bool is_blocked = false;              // inside a fused operation
    std::vector<std::int32_t> held_back;  // events until it is out
    std::vector<Cell> input, output, scratch;
    // Single copy: who touched an element last, parallel to input and output.
    struct Mark {
      std::int32_t writer = -1;  // instance
      std::vector<NodeMemory::Touch> readers;
    };
    std::vector<Mark> input_marks, output_marks;
    std::vector<std::uint64_t> known;  // barrier: ranks heard from in this call
  };
  struct FusedOperation {
    schedule::Step step;  // of whoever came first
    std::int64_t length = 0;
    int arrived = 0;
    std::vector<std::vector<Cell>> data;  // by local rank
    std::vector<Clock> clocks;
    std::vector<std::vector<std::uint64_t>> known;
    std::vector<std::int32_t> waiting;
  };
  struct NodeState {
    std::unique_ptr<NodeMemory> memory;
    std::vector<std::vector<ChannelUse>> uses;       // call, stage
    std::vector<std::vector<std::int32_t>> waiting;  // channel * local size + local rank -> instances
    std::vector<FusedOperation> fused;
  };
  enum class Progress : std::uint8_t { done, waits };

  // --- check_run.cc: events ---
  void set_up_nodes();
  void start_call(int rank, int call);
  void end_call(int rank);
  void push(std::int32_t event) { ready_.push_back(event); }
  std::int32_t take();
  void start(int instance);
  void start_message(int instance);
  void complete_message(int instance);
  void release_one(int instance);
  void finish(int instance);
  void pass_on(int instance);
  void inherit(int instance, int next, const Clock* clock);
  void report_stuck();
  void fail(int instance, const std::string& text);
  void fail(const std::string& text);

  // --- check_run_data.cc, check_run_neighbors.cc: data ---
  struct Span {
    Cell* data = nullptr;
    std::int64_t length = 0;
  };
  const Clock& clock_of(int instance);
  Span operand(int instance, const schedule::Ref& ref, bool is_write);
  Span own_cells(int instance, schedule::Place place, const schedule::ElementRange& range, bool is_write);
  Span remote_cells(int instance, const schedule::Ref& ref);
  Span slot_cells(int instance, const schedule::Ref& ref, bool is_write);
  void mark_own(int instance, schedule::Place place, const schedule::ElementRange& range, bool is_write);
  bool check_defined(int instance, const Span& span);
  void copy(int instance);
  void reduce(int instance);
  Cell combine(int instance, const Cell& left, const Cell& right);
  void fill_buffers(int rank);
  // What element `at` of a rank's output is to be: the operand of one rank (unless it is a reduction), and
  // which element of it.
  struct Wanted {
    int from = 0;
    std::int64_t element = 0;
  };
  Wanted wanted(const schedule::Problem& problem, std::int64_t at) const;
  void check_result(int rank);
  void check_neighbors_result(int rank);
  void check_remote_reads_done(int rank);
  void check_barrier(int rank);

  // --- check_run_node.cc: the node's steps ---
  Progress run_node_step(int instance);
  Progress await(int instance);
  void set_flag(int instance, int rank, const ChannelUse& use, std::uint64_t tick);
  Progress fused(int instance);
  void arrive(int instance, FusedOperation* operation);
  bool may_go_on(const FusedOperation& operation, int local_rank) const;
  void leave(int instance, FusedOperation* operation);
  void take_fused(int instance, const FusedOperation& operation);
  std::vector<Cell> joined_below(int instance, const FusedOperation& operation, int local_rank);
  std::int64_t fused_length(int instance) const;
  const ChannelUse& use_of(int instance);
  void begin_node_step(int instance);

  int node_of(int rank) const { return plan_.layout().node_of[rank]; }
  int local_rank_of(int rank) const { return plan_.layout().local_rank_of[rank]; }
  NodeState& node(int rank) { return nodes_[node_of(rank)]; }
  bool is_barrier(int instance) const {
    return !moves_data(plan_.call(plan_.call_of(instance)).problem.operation);
  }
  std::uint64_t* known(int instance) { return known_.data() + static_cast<std::size_t>(instance) * words_; }
  void learn(int instance, const std::vector<std::uint64_t>& from);

  const CheckPlan& plan_;
  CheckPolicy policy_;
  std::mt19937 random_;
  Expressions expressions_;
  std::vector<RankState> ranks_;
  std::vector<NodeState> nodes_;
  std::vector<std::int32_t> ready_;  // 2 * instance, + 1 for the completion of a message
  std::size_t taken_ = 0;            // pick oldest: how far ready_ is used up
  std::vector<std::int32_t> pending_;
  enum class State : std::uint8_t { waiting, started, posted, done, passed };
  std::vector<State> state_;
  std::vector<std::unique_ptr<Clock>> clocks_;  // what an instance's predecessors have seen
  std::vector<Cell> payload_;                   // of all messages
  std::vector<std::int64_t> payload_first_;     // by sending instance, -1: not under way yet
  std::size_t words_ = 0;
  std::vector<std::uint64_t> known_;
  // Allreduce: what the first rank ended with, element by element, per call.
  std::vector<std::vector<Cell>> results_;
  std::vector<std::string> failures_;
};

}  // namespace unisono::proof
