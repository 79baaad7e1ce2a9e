// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/building/allgathers.h"

#include <algorithm>
#include <cassert>
#include <memory>
#include <numeric>
#include <utility>

#include "algorithms/building/phase_barriers.h"
#include "algorithms/catalogue/parameters.h"
#include "patterns/mesh.h"
#include "patterns/network.h"

namespace unisono::algorithms {

using patterns::BruckRound;
using patterns::Mesh;
using patterns::NeighborRound;
using patterns::Pair;
using schedule::Place;
using schedule::Problem;
using schedule::Ref;
using schedule::Stage;
using schedule::Writer;

namespace {

Stage cut_by_items(Stage stage, const Items& items) {
  stage.extent = items.longest;
  stage.extent_parts = items.parts;
  return stage;
}

// Along one dimension after the other everyone exchanges all that it has with all others of its line; in one
// dimension that is everything at once.
Stage mesh_allgather(const Problem& problem, const Parameters& parameters, const Items& items,
                     int dimensions) {
  const Mesh mesh = Mesh::of(problem.size, dimensions);
  const auto exchange = [=, rank = problem.rank](int dimension, Writer& writer) {
    const Mesh::Run own = mesh.below(rank, dimension);
    const int length = mesh.length(dimension);
    for (int distance = 1; distance < length; ++distance) {
      writer.send(items.run(own.first, own.last), mesh.along(rank, dimension, distance));
    }
    for (int distance = 1; distance < length; ++distance) {
      const int peer = mesh.along(rank, dimension, length - distance);
      const Mesh::Run theirs = mesh.below(peer, dimension);
      writer.recv(items.run(theirs.first, theirs.last), peer);
    }
  };
  return message_stage(parameters, mesh.dimensions(), exchange);
}

// In scratch space a rank collects items in the order rank, rank + 1, ..., size, size + 1, ... Behind all
// items they come a second time, each as long as the first time. At the end they are copied into place.
void add_bruck(Composition* to, const Problem& problem, const Items& items) {
  const int size = problem.size;
  const int rank = problem.rank;
  const auto item = [=](int i) {
    return i < size ? items.run(i, i + 1) : items.run(i - size, i - size + 1).shifted(items.units);
  };
  const std::int64_t area = to->reserve(2 * items.units);
  const auto collected = [=](int first, int last) {
    Ref run = item(first);
    run.last = item(last - 1).last;
    return run.in(Place::scratch).shifted(area);
  };
  to->add(local_stage([=](Writer& writer) { writer.copy(collected(rank, rank + 1), item(rank)); }));
  to->add(message_stage({}, patterns::ceil_log2(size), [=](int round, Writer& writer) {
    const BruckRound bruck = patterns::bruck(rank, round, size);
    writer.send(collected(rank, rank + bruck.count), bruck.to);
    writer.recv(collected(rank + bruck.blocks, rank + bruck.blocks + bruck.count), bruck.from);
  }));
  to->add(local_stage([=](Writer& writer) {
    if (rank + 1 < size) writer.copy(items.run(rank + 1, size), collected(rank + 1, size));
    if (rank > 0) writer.copy(items.run(0, rank), collected(size, size + rank));
  }));
}

// Everyone sends its own item to one rank after the other.
Stage direct_allgather(const Problem& problem, const Parameters& parameters, const Items& items,
                       PairOf pair_of, Barrier barrier) {
  return cut_by_items(
      in_phases(problem, parameters, barrier, problem.size - 1, phase_by(pair_of, problem),
                [=, own = items.run(problem.rank, problem.rank + 1)](int, const Pair& pair, Writer& writer) {
                  writer.send(own, pair.to);
                  writer.recv(items.run(pair.from, pair.from + 1), pair.from);
                }),
      items);
}

Stage neighbor_exchange(const Problem& problem, const Parameters& parameters, const Items& items) {
  return message_stage(
      parameters, problem.size / 2, [=, rank = problem.rank, size = problem.size](int round, Writer& writer) {
        const NeighborRound exchange = patterns::neighbor_exchange(rank, round, size);
        writer.send(items.run(exchange.sent_first, exchange.sent_last), exchange.partner);
        writer.recv(items.run(exchange.received_first, exchange.received_last), exchange.partner);
      });
}

// The logical ring goes depth first through the tree of switches, nodes and ranks. In a round no link carries
// more than one message in either direction. In every round those are messages of the same pair.
void add_topology_ring(Composition* to, const Problem& problem, const Parameters& parameters,
                       const Items& items) {
  const auto order =
      std::make_shared<const std::vector<int>>(patterns::Network(*problem.layout).ring_order());
  Problem turned = problem;
  turned.rank = static_cast<int>(std::ranges::find(*order, problem.rank) - order->begin());
  Items in_order = items;
  in_order.run = [run = items.run, order](int position, int) {
    return run((*order)[position], (*order)[position] + 1);
  };
  to->add(one_stage(ring_allgather(turned, parameters, in_order)),
          {.rank_of = [order](int position) { return (*order)[position]; }});
}

std::vector<ParameterSpec> phase_parameters() {
  return {segment_parameter(), window_parameter(), rounds_parameter()};
}

void add_synchronized(std::vector<AllgatherFamily>* all, std::string_view name, const std::string& sentence,
                      PairOf pair_of) {
  for (const BarrierWords& words : barriers) {
    const Barrier barrier = words.barrier;
    all->push_back(
        {.name = std::string(name) + std::string(words.suffix),
         .group = words.group,
         .sentence = sentence + std::string(words.clause),
         .source = "S1",
         .parameters = barrier == Barrier::none ? phase_parameters() : std::vector<ParameterSpec>(),
         .is_for_leaders = false,
         .add = [=](Composition* to, const Problem& problem, const Parameters& parameters,
                    const Items& items) {
           to->add(direct_allgather(problem, parameters, items, pair_of, barrier));
         }});
  }
}

AllgatherFamily mesh(std::string name, std::string_view group, std::string sentence, int dimensions) {
  return {.name = std::move(name),
          .group = group,
          .sentence = std::move(sentence),
          .source = "S1",
          .parameters =
              dimensions == 1 ? std::vector<ParameterSpec>{pace_parameter()} : std::vector<ParameterSpec>(),
          .is_for_leaders = dimensions < 3,
          .add = [dimensions](Composition* to, const Problem& problem, const Parameters& parameters,
                              const Items& items) {
            to->add(mesh_allgather(problem, parameters, items, dimensions));
          }};
}

std::vector<AllgatherFamily> make_families() {
  std::vector<AllgatherFamily> all = {
      mesh("simple", "flat", "Everyone sends its block to all others at once.", 1),
      mesh("mesh_2d", "exchange",
           "All blocks of a row go to all of the row, then all rows to all of a column.", 2),
      mesh("mesh_3d", "exchange", "Allgathers along one dimension after the other of a logical 3D mesh.", 3),
      {.name = "recursive_doubling",
       .group = "exchange",
       .sentence = "In each round pairs exchange all that they have, at distance 1, 2, 4 ...",
       .source = "A5, section 3.2; S1",
       .parameters = {},
       .legality = {.needs_power_of_two = true},
       .add = [](Composition* to, const Problem& problem, const Parameters&,
                 const Items& items) { to->add(doubling_allgather(problem, items)); }},
      {.name = "bruck",
       .group = "exchange",
       .sentence = "Each round doubles the run of blocks that a rank has, for any number of ranks.",
       .source = "A5, section 3.2; S1",
       .parameters = {},
       .add = [](Composition* to, const Problem& problem, const Parameters&,
                 const Items& items) { add_bruck(to, problem, items); }},
      {.name = "ring",
       .group = "ring",
       .sentence = "Blocks go around a ring, one each round.",
       .source = "A5, section 3.2; S1, logical ring",
       .parameters = {segment_parameter(), window_parameter(), rounds_parameter(0)},
       .ring_order = ranks_in_order,
       .add = [](Composition* to, const Problem& problem, const Parameters& parameters,
                 const Items& items) { to->add(ring_allgather(problem, parameters, items)); }},
      {.name = "topology_ring",
       .group = "topology",
       .sentence =
           "Blocks go around a ring that leaves a node, or a switch, only when it has been through all "
           "that hangs on it.",
       .source = "S1, S6, topology-specific logical ring",
       .parameters = {segment_parameter(), window_parameter(), rounds_parameter(0)},
       .legality = {.needs_topology = true},
       .is_free_of_contention = true,
       .ring_order = [](const patterns::Layout& layout) { return patterns::Network(layout).ring_order(); },
       .add = add_topology_ring},
      {.name = "neighbor_exchange",
       .group = "ring",
       .sentence = "Neighbours exchange the two blocks that they got last, on either side in turn.",
       .source = "beyond the sources",
       .parameters = {},
       .legality = {.needs_even = true},
       .add = [](Composition* to, const Problem& problem, const Parameters& parameters,
                 const Items& items) { to->add(neighbor_exchange(problem, parameters, items)); }},
  };
  add_synchronized(&all, "direct_ring", "In round r a rank sends its own block to the one r above it",
                   patterns::at_distance);
  add_synchronized(&all, "pairwise", "In each round everyone exchanges its own block with one other rank",
                   patterns::pairwise);
  return all;
}

}  // namespace

std::vector<int> ranks_in_order(const patterns::Layout& layout) {
  std::vector<int> ranks(static_cast<std::size_t>(layout.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

const std::vector<AllgatherFamily>& allgather_families() {
  static const std::vector<AllgatherFamily> families = make_families();
  return families;
}

const AllgatherFamily& allgather_family(std::string_view name) {
  const auto& all = allgather_families();
  const auto found = std::ranges::find(all, name, &AllgatherFamily::name);
  assert(found != all.end());
  return *found;
}

}  // namespace unisono::algorithms
