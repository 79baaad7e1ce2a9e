// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/catalogue/alone.h"

namespace unisono::algorithms {

using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Writer;

Program alone(const Problem& problem) {
  const bool has_data = (is_reduction(problem.operation) && problem.operation != Operation::exscan) ||
                        is_block_operation(problem.operation);
  const std::int64_t units = problem.blocks.last(0) - problem.blocks.first(0);
  const std::int64_t into = is_uneven_alltoall(problem.operation) ? units : 0;
  Program program;
  schedule::Stage& stage = program.stages.emplace_back();
  stage.rounds = 1;
  stage.write = [=](int, Writer& writer) {
    if (has_data)
      writer.copy(schedule::blocks(Place::output, into, into + units),
                  schedule::blocks(Place::input, 0, units));
  };
  return program;
}

}  // namespace unisono::algorithms
