// SPDX-License-Identifier: BSD-3-Clause
// Allgathers of uneven blocks: every rank knows how long each block is. A5, section 3.2; S1.
#include <algorithm>

#include "algorithms/building/allgathers.h"
#include "algorithms/building/compose.h"
#include "algorithms/building/exchanges.h"
#include "algorithms/building/runs.h"
#include "algorithms/building/trees.h"
#include "algorithms/catalogue/parameters.h"
#include "algorithms/shared_memory/fused.h"
#include "algorithms/shared_memory/shared.h"

namespace unisono::algorithms {

using patterns::BruckRound;
using patterns::Pair;
using patterns::Tree;
using patterns::wrap;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::SharedMode;
using schedule::Stage;
using schedule::Writer;

namespace {

// The own block into its place, so that exchanges work on output alone.
Stage copy_own(const Problem& problem) {
  const Runs runs(problem);
  return local_stage([into = runs.of(Place::output, problem.rank),
                      from = runs.own(Place::input)](Writer& writer) { writer.copy(into, from); });
}

Program ring(const Problem& problem, const Parameters& parameters) {
  Composition composition;
  composition.add(copy_own(problem));
  composition.add(ring_allgather(problem, parameters, owned_blocks(problem)));
  return composition.take();
}

Program recursive_doubling(const Problem& problem, const Parameters&) {
  Composition composition;
  composition.add(copy_own(problem));
  composition.add(doubling_allgather(problem, owned_blocks(problem)));
  return composition.take();
}

Program pairwise(const Problem& problem, const Parameters& parameters) {
  const Runs runs(problem);
  Stage stage = message_stage(parameters, problem.size - 1,
                              [=, rank = problem.rank, size = problem.size](int round, Writer& writer) {
                                const Pair pair = patterns::pairwise(rank, round + 1, size);
                                writer.send(runs.own(Place::input), pair.to);
                                writer.recv(runs.of(Place::output, pair.from), pair.from);
                              });
  stage.extent = runs.longest();
  Composition composition;
  composition.add(copy_own(problem));
  composition.add(std::move(stage));
  return composition.take();
}

// In scratch space a rank collects blocks from its own on; those that turn round stand in a second vector.
Program bruck(const Problem& problem, const Parameters&) {
  const Runs runs(problem);
  const int size = problem.size;
  const int rank = problem.rank;
  const auto first_of = [=, all = problem.blocks](int from) {
    return all.first(wrap(from, size)) + (from < size ? 0 : runs.total());
  };
  // What the ranks [from, to) have, counted on from this one.
  const auto collected = [=](int from, int to) {
    return blocks(Place::scratch, first_of(rank + from), first_of(rank + to));
  };
  const auto exchange = [=](int round, Writer& writer) {
    const BruckRound bruck = patterns::bruck(rank, round, size);
    writer.send(collected(0, bruck.count), bruck.to);
    writer.recv(collected(bruck.blocks, bruck.blocks + bruck.count), bruck.from);
  };
  const std::int64_t own = first_of(rank);
  Composition composition;
  composition.reserve(2 * runs.total());
  composition.add(local_stage([=](Writer& writer) { writer.copy(collected(0, 1), runs.own(Place::input)); }));
  composition.add(message_stage({}, patterns::ceil_log2(size), exchange));
  composition.add(local_stage([=](Writer& writer) {
    const Ref turned = blocks(Place::output, 0, own);
    writer.copy(blocks(Place::output, own, runs.total()), blocks(Place::scratch, own, runs.total()));
    if (own > 0) writer.copy(turned, turned.in(Place::scratch).shifted(runs.total()));
  }));
  return composition.take();
}

// Up a binomial tree each rank collects its subtree where it is to stand; then all of it goes down again.
Program gather_bcast(const Problem& problem, const Parameters& parameters) {
  const Runs runs(problem);
  const Tree tree = Tree::binomial(problem.size, 0);
  const auto gather = [=, node = tree.at(problem.rank)](int, Writer& writer) {
    for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
      writer.recv(runs.of(Place::output, child->first, child->last), child->rank);
    }
    if (node.parent >= 0) writer.send(runs.of(Place::output, node.first, node.last), node.parent);
  };
  Composition composition;
  composition.add(copy_own(problem));
  composition.add(message_stage({}, 1, gather));
  composition.add(bcast_along(tree, problem, parameters), {.scale = runs.total()});
  return composition.take();
}

// Group_seg_put, Group_sync, Group_get.
Program shared(const Problem& problem, const Parameters& parameters) {
  constexpr int written = 1;
  constexpr int read = 2;
  const Runs runs(problem);
  return one_stage(channel_stage(parameters, SharedMode::own, read, [=](Writer& writer) {
    const Ref own = runs.own(Place::input);
    writer.await_space();
    writer.copy(own.in_slot_of(problem.rank), own);
    writer.signal(written);
    writer.copy(runs.of(Place::output, problem.rank), own);
    for (int distance = 1; distance < problem.size; ++distance) {
      const int peer = wrap(problem.rank + distance, problem.size);
      const Ref theirs = runs.of(Place::output, peer);
      writer.await(peer, written);
      writer.copy(theirs, theirs.in_slot_of(peer));
    }
  }));
}

Descriptor descriptor(std::string name, std::string_view group, std::string sentence, std::string source,
                      std::vector<ParameterSpec> parameters,
                      Program (*build)(const Problem&, const Parameters&)) {
  return {.name = std::move(name),
          .operation = Operation::allgatherv,
          .group = group,
          .sentence = std::move(sentence),
          .source = std::move(source),
          .legality = {},
          .parameters = std::move(parameters),
          .build = build};
}

// What does the same with blocks of any length.
void add_families(std::vector<Descriptor>* all) {
  for (const AllgatherFamily& family : allgather_families()) {
    if (std::ranges::find(*all, family.name, &Descriptor::name) != all->end()) continue;
    all->push_back({.name = family.name,
                    .operation = Operation::allgatherv,
                    .group = family.group,
                    .sentence = family.sentence,
                    .source = family.source,
                    .legality = family.legality,
                    .parameters = family.parameters,
                    .build =
                        [&family](const Problem& problem, const Parameters& parameters) {
                          Composition composition;
                          composition.add(copy_own(problem));
                          family.add(&composition, problem, parameters, owned_blocks(problem));
                          return composition.take();
                        },
                    .is_for_leaders = family.is_for_leaders,
                    .is_free_of_contention = family.is_free_of_contention,
                    .ring_order = family.ring_order});
  }
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all{
      descriptor("ring", "ring", "Blocks go around a ring, one each round.", "A5, section 3.2; S1",
                 {segment_parameter(), window_parameter(), rounds_parameter(0)}, ring),
      descriptor("recursive_doubling", "exchange",
                 "In each round pairs exchange all that they have, at distance 1, 2, 4 ...",
                 "A5, section 3.2; S1", {}, recursive_doubling),
      descriptor(
          "pairwise", "ring",
          "In each round a rank gives its block to one other; for a power of two ranks in closed pairs.",
          "A5, section 3.2; S1", {segment_parameter(), window_parameter(), rounds_parameter()}, pairwise),
      descriptor("bruck", "exchange",
                 "Each round doubles the run of blocks that a rank has, for any number of ranks.",
                 "A5, section 3.2; S1", {}, bruck),
      descriptor("gather_bcast", "tree",
                 "Blocks are gathered along a binomial tree, then all of them broadcast down the same tree.",
                 "A5, figure 3.1 (c); S1", {segment_parameter(), window_parameter()}, gather_bcast),
      descriptor("shared", "shared", "Everyone writes pieces of its block, all read them.",
                 "A2, tables 2.2 and 2.3, row 5", {buffers_parameter(), piece_parameter()}, shared)};
  all[0].ring_order = ranks_in_order;
  all[1].legality.needs_power_of_two = true;
  all.back().legality = {.needs_one_node = true, .needs_shared_memory = true};
  all.push_back(
      fused_blocks(Operation::allgatherv,
                   "All write cache lines that carry data and flag, everyone reads them; long blocks "
                   "go through slots of shared memory.",
                   [](const Problem& problem, const Parameters&) {
                     Parameters slots;
                     slots.set("buffers", buffers_parameter().standard);
                     slots.set("piece", piece_parameter().standard);
                     return shared(problem, slots);
                   }));
  add_families(&all);
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
