// SPDX-License-Identifier: BSD-3-Clause
// Algorithms that run as schedules of steps: made for a communicator, kept, executed.
#pragma once

#include <memory>

#include "runtime/communicators/call_run.h"
#include "runtime/communicators/copy_permission.h"
#include "runtime/world/progress.h"
#include "runtime/world/world.h"
#include "schedule/executor.h"

namespace unisono::runtime {

// May operands change places?
bool is_commutative(const World& world, const Communicator& c, const Call& call);
// What a call asks of an algorithm.
schedule::Problem problem_of(const Communicator& c, const Call& call, bool is_commutative);
// How calls of what was chosen run.
CallClass::Kind kind_of(const Communicator& c, const tuning::Choice& choice, const schedule::Problem& what);

class Schedules {
 public:
  using Made = std::shared_ptr<const schedule::Compiled>;
  Schedules(const World& world, Progress& progress, SingleCopy& single_copy)
      : world_(world), progress_(progress), single_copy_(single_copy) {}

  // The class's schedule for calls like this one.
  static const Made& compiled(Communicator& c, CallClass& entry, const Call& call, bool is_in_place,
                              bool is_commutative);
  // What runs before, where ranks must first tell each other of their uneven blocks: null where they need
  // not. Then learn_blocks. Lengths travel along the blocks' tree, ahead of them, or the ranks of a node tell
  // each other of their blocks.
  static const Made& header(Communicator& c, CallClass& entry, const Call& call, bool is_blocking,
                            Workspace* work, schedule::Data* data);
  static void learn_blocks(const Communicator& c, const algorithms::Descriptor& algorithm, const Call& call,
                           Workspace* work);

  // Where blocking calls run, and those that do not block: they meet neither in tags nor in shared memory,
  // and neither waits for the other.
  schedule::Ground ground(const Communicator& c) const;
  schedule::Ground ground_of_started(const Run& run) const;
  // The whole of a blocking call; the host's error code.
  int execute(Communicator& c, const schedule::Compiled& what, const schedule::Data& data) const;

 private:
  const World& world_;
  Progress& progress_;
  SingleCopy& single_copy_;
};

}  // namespace unisono::runtime
