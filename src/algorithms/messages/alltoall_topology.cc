// SPDX-License-Identifier: BSD-3-Clause
// Alltoalls whose phases are made for the tree of switches: no link carries two messages at a time. S1,
// topology specific, with two ways to keep the phases apart; S6.
#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "algorithms/building/compose.h"
#include "algorithms/building/exchanges.h"
#include "algorithms/building/phase_barriers.h"
#include "algorithms/catalogue/parameters.h"
#include "patterns/phases.h"

namespace unisono::algorithms {

using patterns::Message;
using patterns::Network;
using patterns::Pair;
using patterns::Phase;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Stage;
using schedule::Writer;

namespace {

// A node with r of n ranks takes r * (n - r) phases: beyond this one speaks of nodes (two_level_...). With a
// barrier behind each phase a program is log2(n) times as long.
constexpr int most_phases = 1024;
constexpr int most_phases_with_barriers = 256;

struct Plan {
  std::vector<Phase> messages;
  std::vector<Phase> tokens;  // empty where a barrier does what they do
};

Plan make_plan(const patterns::Layout& layout, Barrier barrier) {
  const Network network(layout);
  Plan plan{.messages = patterns::contention_free_phases(network), .tokens = {}};
  if (barrier == Barrier::light) plan.tokens = patterns::separating_tokens(network, plan.messages);
  return plan;
}

// Who asks for one rank after the other (the checker, the printer) has the plan made once. A plan for many
// ranks is too large to be kept; then a process asks for its own rank alone.
std::shared_ptr<const Plan> plan_for(const std::shared_ptr<const patterns::Layout>& layout, Barrier barrier) {
  constexpr int most_ranks_kept = 256;
  struct Kept {
    std::shared_ptr<const patterns::Layout> layout;
    Barrier barrier = Barrier::none;
    std::shared_ptr<const Plan> plan;
  };
  thread_local Kept last;
  if (last.layout == layout && last.barrier == barrier) return last.plan;
  auto plan = std::make_shared<const Plan>(make_plan(*layout, barrier));
  if (layout->size() <= most_ranks_kept) last = {layout, barrier, plan};
  return plan;
}

// What one rank does, phase by phase.
struct Part {
  std::vector<Pair> messages;
  std::vector<Phase> tokens;
};

Part part_of(int rank, const Plan& plan) {
  Part part;
  for (const Phase& phase : plan.messages) {
    part.messages.push_back({.to = -1, .from = -1});
    for (const Message& message : phase) {
      if (message.from == rank) part.messages.back().to = message.to;
      if (message.to == rank) part.messages.back().from = message.from;
    }
  }
  for (const Phase& all : plan.tokens) {
    part.tokens.emplace_back();
    std::ranges::copy_if(all, std::back_inserter(part.tokens.back()),
                         [rank](const Message& token) { return token.from == rank || token.to == rank; });
  }
  return part;
}

// Who has finished what it has to says so; who has heard all that it has to hear goes on.
void exchange_tokens(const Phase& tokens, int rank, Writer& writer) {
  for (const Message& token : tokens) {
    if (token.from == rank) writer.send(schedule::token(), token.to);
  }
  for (const Message& token : tokens) {
    if (token.to == rank) writer.recv(schedule::token(), token.from);
  }
}

Program by_phases(const Problem& problem, Barrier barrier) {
  const auto part = std::make_shared<const Part>(part_of(problem.rank, *plan_for(problem.layout, barrier)));
  const Items items = owned_blocks(problem);
  const auto exchange = [=, rank = problem.rank](int phase, const Pair& pair, Writer& writer) {
    if (!part->tokens.empty()) exchange_tokens(part->tokens[phase], rank, writer);
    if (pair.to >= 0) writer.send(items.run(pair.to, pair.to + 1).in(Place::input), pair.to);
    if (pair.from >= 0) writer.recv(items.run(pair.from, pair.from + 1), pair.from);
  };
  Stage stage = in_phases(
      problem, {}, barrier == Barrier::mpi ? barrier : Barrier::none, static_cast<int>(part->messages.size()),
      [part](int phase) { return part->messages[phase]; }, exchange);
  stage.extent = items.longest;
  // Who has got a message in one phase may send over one of its links in the next.
  stage.rounds_under_way = 1;
  Composition composition;
  composition.add(local_stage([own = items.run(problem.rank, problem.rank + 1)](Writer& writer) {
    writer.copy(own, own.in(Place::input));
  }));
  composition.add(std::move(stage));
  return composition.take();
}

std::vector<Descriptor> make() {
  const std::string sentence =
      "As few phases as the busiest link of the switches allows, in none of which a link carries two "
      "messages";
  std::vector<Descriptor> all;
  for (const BarrierWords& words : barriers) {
    if (words.barrier == Barrier::none) continue;
    const bool is_light = words.barrier == Barrier::light;
    all.push_back(
        {.name = "topology" + std::string(words.suffix),
         .operation = Operation::alltoall,
         .group = "topology",
         .sentence = sentence + (is_light ? "; who has got a message tells who sends over one of its "
                                            "links next."
                                          : std::string(words.clause)),
         .source = "S1, topology specific; S6",
         .legality = {.needs_topology = true,
                      .max_phases = is_light ? most_phases : most_phases_with_barriers},
         .parameters = {},
         .build = [barrier = words.barrier](const Problem& problem,
                                            const Parameters&) { return by_phases(problem, barrier); },
         .is_for_leaders = is_light,
         .is_free_of_contention = true});
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
