// SPDX-License-Identifier: BSD-3-Clause
// A message for each edge: what MPIs do. C4.
#include "algorithms/building/compose.h"
#include "algorithms/catalogue/parameters.h"
#include "algorithms/neighborhood/neighbor_tables.h"

namespace unisono::algorithms {
namespace {

using schedule::Kept;
using schedule::Problem;
using schedule::Program;
using schedule::Writer;

Program linear(const Problem& problem, const Parameters& parameters) {
  BlockNumbers numbers(problem);
  const patterns::Neighbors& own = numbers.own();
  const auto ins = static_cast<int>(own.in.size());
  const int sent = numbers.sent_blocks(problem.rank);
  for (int i = 0; i < sent; ++i) numbers.add_input(i, Kept::always);
  for (int i = 0; i < ins; ++i) numbers.add_output(i, Kept::always);
  Program program;
  program.blocks = numbers.take();
  const bool has_one_block = numbers.has_one_block();
  program.stages.push_back(message_stage(parameters, 1, [=](int, Writer& writer) {
    const EdgeBlocks blocks{
        .input = [=](int i) { return block(schedule::Place::input, has_one_block ? 0 : i); },
        .output = [=](int i) { return block(schedule::Place::output, sent + i); }};
    write_messages(problem, blocks, writer);
    write_copies(problem, blocks, writer);
  }));
  return program;
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all;
  for (const Operation operation : neighborhood_operations) {
    all.push_back({.name = "linear",
                   .operation = operation,
                   .group = "flat",
                   .sentence = "Every block is a message of its own, to the nearest ranks first.",
                   .source = "C4",
                   .legality = {},
                   .parameters = {pace_parameter()},
                   .build = linear});
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
