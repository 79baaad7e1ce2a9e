// SPDX-License-Identifier: BSD-3-Clause
// All ranks' programs of one call, spread out for the checker: count-free, so that one preparation serves
// many counts.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "proof/check_graph.h"
#include "schedule/dependencies.h"
#include "schedule/program.h"
#include "schedule/ranges.h"

namespace unisono::proof {

struct CheckedStep {
  schedule::Step step;  // as compiled: MPI_IN_PLACE applied
  std::int32_t stage = 0;
  std::int32_t round = 0;
  bool is_node = false;       // runs in the order of node steps
  bool is_token = false;      // a message that is sent whatever the count
  std::int32_t partner = -1;  // messages: the peer's step that this one meets
  std::int32_t tag = 0;
  std::int32_t first_before = 0, last_before = 0;  // in CheckedProgram::before
};

struct CheckedProgram {
  std::vector<schedule::Stage> stages;
  std::vector<int> channel_of;  // stage -> channel, -1 without
  std::vector<CheckedStep> steps;
  std::vector<schedule::Predecessor> before;  // as the compiler derived them
  std::vector<int> first_step;                // stage -> its first step; one more entry at the end
  std::vector<bool> has_node_steps;           // stage -> does this rank run any?
  std::int64_t scratch = 0;
  std::int32_t scratch_parts = 1;
  std::shared_ptr<const schedule::BlockTable> blocks;  // of neighbours
  int stages_of_short = -1;                            // as the program's
};

// One collective call on all ranks, count-free.
struct CheckedCall {
  std::string title;          // "bcast/binomial (segment 4096)"
  schedule::Problem problem;  // of rank 0
  bool is_in_place = false;
  std::vector<CheckedProgram> programs;  // by rank
  // An allgather in which not everyone gets everything: which blocks a rank is to have in the end (empty:
  // all), and who has all from the start (-1: nobody).
  std::vector<std::vector<bool>> wanted{};
  int knowing_rank = -1;
  std::shared_ptr<const CheckedGraph> graph = nullptr;  // of neighbours

  schedule::Problem problem_of(int rank) const;
};

// "rank 3, stage 0, round 2: recv ..."
std::string describe(const CheckedCall& call, int rank, int step);

// Does MPI allow MPI_IN_PLACE to this rank in this operation?
bool may_be_in_place(const schedule::Problem& problem);

// Programs that were compiled before, by all that the compiler looks at: ranks and calls that write the same
// steps (other layouts, other roots) need not be compiled again. For one operation on one number of ranks.
class KnownPrograms {
 public:
  KnownPrograms();
  ~KnownPrograms();
  struct State;
  State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

// Asks `build` for all ranks' programs and compiles them. What is wrong with them is appended to `failures`,
// as far as it shows without a count. Such are messages without a partner, ranks that disagree about a stage,
// and references that cannot be.
using Build = std::function<schedule::Program(const schedule::Problem&)>;
CheckedCall spread_out(std::string title, const schedule::Problem& problem, bool is_in_place,
                       const Build& build, std::vector<std::string>* failures,
                       KnownPrograms* known = nullptr);

}  // namespace unisono::proof
