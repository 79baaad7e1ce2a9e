// SPDX-License-Identifier: BSD-3-Clause
// Neighbours on one node: each block goes into its sender's slot once, and every neighbour copies it from
// there. A block has a lane of the slot, so that nobody needs to know how long the others are. C4; A2.
#include "algorithms/neighborhood/shared_neighbors.h"

#include <algorithm>
#include <set>

#include "algorithms/building/compose.h"
#include "algorithms/catalogue/parameters.h"
#include "algorithms/neighborhood/neighbor_tables.h"

namespace unisono::algorithms {
namespace {

using schedule::Kept;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::Stage;
using schedule::Writer;

// The two numbers of a block: in its slot, and as a message where it is too long for that.
struct Ways {
  std::vector<std::int64_t> input, output;
  bool has_one_block = false;

  EdgeBlocks blocks() const {
    return {.input =
                [this](int i) {
                  return block(Place::input, input[has_one_block ? 0 : static_cast<std::size_t>(i)]);
                },
            .output = [this](int i) { return block(Place::output, output[static_cast<std::size_t>(i)]); }};
  }
};

struct Plan {
  Problem problem;
  Ways slotted, straight;
};

bool is_for_others(const Problem& problem, int neighbor) {
  const int to = problem.neighborhood->of(problem.rank).out[static_cast<std::size_t>(neighbor)].rank;
  return to != patterns::no_neighbor && to != problem.rank;
}

void write_slotted(const Plan& plan, Writer& writer) {
  const Problem& problem = plan.problem;
  const EdgeBlocks blocks = plan.slotted.blocks();
  const patterns::Neighbors& own = problem.neighborhood->of(problem.rank);
  writer.await_space();
  for (int i = 0; i < std::ssize(own.out); ++i) {
    if (!is_for_others(problem, i)) continue;
    const Ref sent = blocks.input(i);
    writer.copy(sent.in_slot_of(problem.rank, plan.slotted.has_one_block ? 0 : i), sent);
    if (plan.slotted.has_one_block) break;
  }
  writer.signal(1);
  write_copies(problem, blocks, writer);
  std::set<int> awaited;
  for (const int i : in_receiving_order(problem)) {
    const patterns::Neighbor& from = own.in[static_cast<std::size_t>(i)];
    if (from.rank == problem.rank) continue;
    if (awaited.insert(from.rank).second) writer.await(from.rank, 1);
    const Ref got = blocks.output(i);
    writer.copy(got, got.in_slot_of(from.rank, sent_index(problem, from)));
  }
}

}  // namespace

Program shared_neighbors(const Problem& problem, std::int64_t share_up_to, int buffers) {
  BlockNumbers numbers(problem);
  auto plan = std::make_shared<Plan>(Plan{.problem = problem, .slotted = {}, .straight = {}});
  plan->slotted.has_one_block = plan->straight.has_one_block = numbers.has_one_block();
  const int sent = numbers.sent_blocks(problem.rank);
  for (int i = 0; i < sent; ++i) {
    plan->slotted.input.push_back(numbers.add_input(i, Kept::in_node));
    plan->straight.input.push_back(numbers.add_input(i, Kept::beyond_node));
  }
  for (int i = 0; i < std::ssize(numbers.own().in); ++i) {
    plan->slotted.output.push_back(numbers.add_output(i, Kept::in_node));
    plan->straight.output.push_back(numbers.add_output(i, Kept::beyond_node));
  }
  int lanes = 1;
  for (int rank = 0; rank < problem.size; ++rank) lanes = std::max(lanes, numbers.sent_blocks(rank));
  numbers.table().limits.share_up_to = share_up_to;
  Stage slots;
  slots.rounds = 1;
  slots.write = [plan](int, Writer& writer) { write_slotted(*plan, writer); };
  slots.extent = 0;  // always one piece: what does not fit is a message
  slots.shared = schedule::SharedMode::own;
  slots.ticks = 2;
  slots.buffers = buffers;
  slots.lanes = lanes;
  Program program;
  program.blocks = numbers.take();
  program.stages.push_back(message_stage({}, 1, [plan](int, Writer& writer) {
    const EdgeBlocks blocks = plan->straight.blocks();
    write_messages(plan->problem, blocks, writer);
    write_copies(plan->problem, blocks, writer);
  }));
  program.stages.push_back(std::move(slots));
  return program;
}

namespace {

Program build(const Problem& problem, const Parameters& parameters) {
  return shared_neighbors(problem, parameters.get("share_up_to"),
                          static_cast<int>(parameters.get("buffers")));
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all;
  for (const Operation operation : neighborhood_operations) {
    all.push_back(
        {.name = "shared",
         .operation = operation,
         .group = "shared",
         .sentence = "Everyone writes each block once into a slot of its own, and all copy what they want.",
         .source = "C4; A2, table 2.2",
         .legality = {.needs_one_node = true, .needs_shared_memory = true},
         .parameters = {{"share_up_to", "bytes", 0, 1 << 30, 1 << 30,
                         "longest block that goes through a slot, as far as slots hold it; longer ones are "
                         "messages"},
                        call_buffers_parameter()},
         .build = build});
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
