// SPDX-License-Identifier: BSD-3-Clause
// Messages to all neighbours on a node are combined. Each block goes once into the memory of its own node.
// One message for each ordered pair of nodes with an edge carries what goes there. All ranks copy what they
// want out of the memory of the node. C4, C7, C8.
//
// Blocks longer than a bundle takes, or a slot, go by themselves: both ends of an edge know how long it is.
#include "algorithms/building/compose.h"
#include "algorithms/catalogue/parameters.h"
#include "algorithms/neighborhood/combined.h"
#include "algorithms/shared_memory/fused.h"
#include "algorithms/shared_memory/shared.h"

namespace unisono::algorithms {
namespace {

using schedule::Kept;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Writer;

// Messages of their own, for blocks that are too long.
struct Straight {
  Straight(const Combined& combined, BlockNumbers* numbers) : has_one_block(combined.has_one_block) {
    const int count = numbers->sent_blocks(combined.problem.rank);
    for (int i = 0; i < count; ++i) {
      to_near.push_back(numbers->add_input(i, Kept::beyond_node));
      to_far.push_back(numbers->add_input(i, Kept::beyond_bundle));
    }
    const std::vector<patterns::Neighbor>& in = numbers->own().in;
    for (int i = 0; i < std::ssize(in); ++i) {
      const int from = in[static_cast<std::size_t>(i)].rank;
      const bool is_local = from == patterns::no_neighbor || combined.is_near(from);
      output.push_back(numbers->add_output(i, is_local ? Kept::beyond_node : Kept::beyond_bundle));
    }
  }

  bool has_one_block;
  std::vector<std::int64_t> to_near, to_far;  // own block -> number
  std::vector<std::int64_t> output;           // incoming block -> number
};

void write_straight(const Combined& combined, const Straight& straight, Writer& writer) {
  const Problem& problem = combined.problem;
  const patterns::Neighbors& own = problem.neighborhood->of(problem.rank);
  const EdgeBlocks edges{
      .input =
          [&](int i) {
            const auto neighbor = static_cast<std::size_t>(i);
            const std::vector<std::int64_t>& numbers =
                combined.is_near(own.out[neighbor].rank) ? straight.to_near : straight.to_far;
            return block(Place::input, numbers[straight.has_one_block ? 0 : neighbor]);
          },
      .output = [&](int i) { return block(Place::output, straight.output[static_cast<std::size_t>(i)]); }};
  write_messages(problem, edges, writer);
  write_copies(problem, edges, writer);
}

Program build(const Problem& problem, const Parameters& parameters) {
  BlockNumbers numbers(problem);
  const auto combined = std::make_shared<const Combined>(problem, &numbers);
  const auto straight = std::make_shared<const Straight>(*combined, &numbers);
  numbers.table().limits = {.bundle_up_to = parameters.get("bundle_up_to"),
                            .share_up_to = parameters.get("share_up_to")};
  Program program;
  program.blocks = numbers.take();
  program.scratch = combined->scratch;
  program.stages.push_back(combined_stage(combined, static_cast<int>(parameters.get("buffers"))));
  program.stages_of_short = 1;
  program.stages.push_back(message_stage(
      {}, 1, [combined, straight](int, Writer& writer) { write_straight(*combined, *straight, writer); }));
  return program;
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all;
  for (const Operation operation : neighborhood_operations) {
    const bool has_one_block = !sends_neighbor_blocks(operation);
    all.push_back(
        {.name = "bundles",
         .operation = operation,
         .group = "combined",
         .sentence = "Each block goes into its node's memory once, one message carries what a node has for "
                     "another one, and all copy what they want.",
         .source = "C4; C8",
         .legality = {.needs_several_nodes = true, .needs_shared_memory = true},
         .parameters =
             {{"bundle_up_to", "bytes", 0, 1 << 20, has_one_block ? 4096 : 256,
               "longest block that travels between nodes in a bundle; longer ones go alone"},
              {"share_up_to", "bytes", 0, 1 << 30, 1 << 30,
               "longest block that goes through shared memory inside the node, as far as slots hold "
               "it; longer ones are messages"},
              call_buffers_parameter()},
         .build = build,
         .build_header = fused_allgather,
         .build_header_aside = standard_shared_allgather});
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
