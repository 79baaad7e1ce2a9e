// SPDX-License-Identifier: BSD-3-Clause
// What compile() makes of a program: flat steps, each with the steps that it must wait for. Immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "schedule/program.h"
#include "schedule/ranges.h"

namespace unisono::schedule {

// How piece s of a step waits for another step.
enum class Wait : std::uint8_t {
  pieces,          // until the pieces of the other step that piece s touches are done
  all,             // until all pieces of the other step are done
  previous,        // until the first s pieces of the other step (of the same stage) are done
  started_pieces,  // until the other step (of the same stage) has started piece s
  started_all,     // until the other step has started all its pieces
};
constexpr bool is_start(Wait how) {
  return how == Wait::started_pieces || how == Wait::started_all;
}
// How many pieces of a step of so many may be started as far as the other step goes, which has started and
// done so many of its own? Pieces of the step that there are not may be counted as well.
inline std::int64_t pieces_allowed(Wait how, std::int64_t pieces, std::int64_t other_started,
                                   std::int64_t other_done, std::int64_t other_pieces) {
  switch (how) {
    case Wait::pieces:
      return pieces_covered(other_done, other_pieces, pieces);
    case Wait::all:
      return other_done == other_pieces ? pieces : 0;
    case Wait::previous:
      return other_done + 1;
    case Wait::started_pieces:
      return other_started;
    case Wait::started_all:
      return other_started == other_pieces ? pieces : 0;
  }
  return pieces;
}
// Is the wait over for `piece`?
inline bool is_over(Wait how, std::int64_t piece, std::int64_t pieces, std::int64_t other_started,
                    std::int64_t other_done, std::int64_t other_pieces) {
  return piece < pieces_allowed(how, pieces, other_started, other_done, other_pieces);
}

struct Predecessor {
  std::int32_t step = 0;
  Wait how = Wait::pieces;
  bool operator==(const Predecessor&) const = default;
};

struct CompiledRef : Ref {
  // Its elements follow from the count alone, and it has no sub-range: the usual case.
  bool is_even = false;
};

struct CompiledStep {
  StepKind kind = StepKind::copy;
  bool is_token = false;       // a message that is sent whatever the count
  bool is_node_step = false;   // runs in the node order of its stage
  bool is_for_others = false;  // a reduction into a slot that this rank does not read again
  bool is_cut_alike = false;   // moves data, and its operands, all even, are equally long whatever the count
  bool is_plain = false;       // the same, all in this process's memory
  std::int32_t stage = 0;
  std::int32_t peer = -1;
  std::int32_t tag = 0;                        // messages: offset from the communicator's first tag
  std::int32_t tick = 0;                       // signal, await
  std::int32_t tree = -1;                      // fused steps: in Compiled::trees; -1: they go along none
  std::int32_t into = 0, left = 0, right = 0;  // in Compiled::refs
  std::int32_t first_predecessor = 0, last_predecessor = 0;
  // Those to look at again when pieces of this one are done, and when they have started.
  std::int32_t first_successor = 0, last_successor = 0;
  std::int32_t first_start_successor = 0, last_start_successor = 0;
  std::int32_t next_piece_of = -1;  // whose next piece waits for this one (Wait::previous)
};

struct CompiledStage {
  Stage shape;  // rounds and write are left empty
  std::int32_t channel = -1;
  bool has_node_steps = false;
};

class Compiled {
 public:
  std::uint64_t number = 0;  // no other one of this process has it, at the same address later neither
  Problem problem;
  std::vector<CompiledStage> stages;
  std::vector<CompiledStep> steps;
  std::vector<CompiledRef> refs;
  std::vector<Tree> trees;
  std::vector<Predecessor> predecessors;
  std::vector<std::int32_t> successors;
  std::vector<std::int32_t> waits;  // of each step: how many predecessors, those of other pieces aside
  std::vector<std::int32_t> roots;  // steps that wait for none
  bool is_fused_only = false;       // nothing but fused steps, in one piece each: run in order
  bool is_whole = false;            // every step is one piece, whatever the count
  bool has_channels = false;
  bool has_single_copy = false;  // a rank reads another one's memory: this one, or one that reads this one's
  std::int64_t most_messages = 0;  // under way at a time

  // The furthest element that any step names, as last of parts units; what is allocated reaches up to there.
  std::int64_t scratch_last = 0;
  std::int32_t scratch_parts = 1;
  std::int64_t output_last = 0;
  std::int32_t output_parts = 1;

  std::shared_ptr<const BlockTable> blocks;  // of neighbours; null elsewhere
  std::shared_ptr<const Compiled> of_short;  // what runs where all blocks are short; null: the same

  bool has_input_runs = false, has_output_runs = false;  // of several uneven blocks

  // What other local ranks mean by this rank's input and output (MPI_IN_PLACE moves one onto the other).
  Ref exposed_input, exposed_output;
};

}  // namespace unisono::schedule
