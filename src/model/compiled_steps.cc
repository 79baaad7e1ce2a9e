// SPDX-License-Identifier: BSD-3-Clause
// The steps of a program with the dependencies that the executor goes by: exact, and as much memory as the
// program has steps.
#include <map>
#include <tuple>

#include "model/live_steps.h"
#include "schedule/executor.h"

namespace unisono::model {

using schedule::Compiled;
using schedule::CompiledStep;
using schedule::StepKind;

LiveSteps LiveSteps::compiled(const schedule::Problem& problem, const schedule::Program& program,
                              const CallSize& size, int local_size) {
  LiveSteps all(problem, size, local_size);
  schedule::Program own = program;
  all.find_blocks(&own);
  all.plan(own.stages);
  all.program_ = own;
  const std::shared_ptr<const Compiled> compiled = schedule::compile(problem, own);
  std::map<std::tuple<int, StepKind, int>, int> ordinals;
  for (const CompiledStep& step : compiled->steps) {
    LiveStep& live = all.append();
    live.stage = step.stage;
    live.round = step.tag;
    live.pieces = all.uses_[static_cast<std::size_t>(step.stage)].pieces;
    all.fill({.kind = step.kind,
              .peer = step.peer,
              .tick = step.tick,
              .into = compiled->refs[static_cast<std::size_t>(step.into)],
              .left = compiled->refs[static_cast<std::size_t>(step.left)],
              .right = compiled->refs[static_cast<std::size_t>(step.right)],
              .along = step.tree < 0 ? nullptr : compiled->trees[static_cast<std::size_t>(step.tree)]},
             &live);
    live.is_token = step.is_token;
    live.is_node_step = step.is_node_step;
    if (is_message(step.kind)) live.ordinal = ordinals[{step.peer, step.kind, step.tag}]++;
    for (std::int32_t i = step.first_predecessor; i < step.last_predecessor; ++i) {
      live.waits_for.push_back(compiled->predecessors[static_cast<std::size_t>(i)]);
    }
  }
  // Only now: a step may wait for a later one (Wait::previous).
  for (std::int32_t number = 0; number < all.next_; ++number) {
    for (const schedule::Predecessor& wait : all.at(number).waits_for) {
      all.at(wait.step).waited_by.push_back(number);
    }
  }
  all.is_exhausted_ = true;
  return all;
}

}  // namespace unisono::model
