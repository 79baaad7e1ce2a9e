// SPDX-License-Identifier: BSD-3-Clause
// Allreduces that end with, or begin with, one of the allgathers. S1, section 3.1: allgather then reduce;
// Rab1-x: recursive halving, then allgather x; Rab2-(x,y): alltoall x, then allgather y.
#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "algorithms/building/allgathers.h"
#include "algorithms/building/levels.h"
#include "algorithms/building/order.h"
#include "algorithms/building/phase_barriers.h"
#include "algorithms/catalogue/parameters.h"

namespace unisono::algorithms {

using patterns::Folding;
using patterns::Pair;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::Stage;
using schedule::Writer;

namespace {

// Everyone holds all vectors in scratch space.
constexpr std::int64_t max_gathered_bytes = 1 << 20;

Program allgather_reduce(const Problem& problem, const Parameters& parameters,
                         const AllgatherFamily& allgather) {
  const int size = problem.size;
  Composition composition;
  const std::int64_t area = composition.reserve(size);
  const std::int64_t partial = composition.reserve(problem.is_reproducible ? temporaries_of_order(size) : 0);
  const auto vectors = [=](int first, int last) { return blocks(Place::scratch, area + first, area + last); };
  composition.add(local_stage([=, rank = problem.rank](Writer& writer) {
    writer.copy(vectors(rank, rank + 1), whole(Place::input));
  }));
  allgather.add(&composition, problem, parameters, {vectors, 1, 1, size});
  composition.add(local_stage([=, is_reproducible = problem.is_reproducible](Writer& writer) {
    if (is_reproducible) {
      join_in_order(
          writer, size, whole(Place::output), [&](int rank) { return vectors(rank, rank + 1); },
          [&](int i) { return block(Place::scratch, partial + i); });
      return;
    }
    writer.reduce(whole(Place::output), vectors(0, 1), vectors(1, 2));
    for (int rank = 2; rank < size; ++rank) {
      writer.reduce(whole(Place::output), whole(Place::output), vectors(rank, rank + 1));
    }
  }));
  return composition.take();
}

std::vector<int> ranks_of_parts(const patterns::Layout& layout) {
  const Folding folding(layout.size());
  std::vector<int> ranks;
  for (int part = 0; part < folding.base(); ++part) {
    ranks.push_back(folding.rank_of(patterns::kept_part(part, folding.base())));
  }
  return ranks;
}

// The members of the base, numbered by the parts that recursive halving leaves them.
Problem problem_of_parts(const Problem& problem, const Folding& folding) {
  Problem inner = problem;
  inner.size = folding.base();
  inner.rank = patterns::kept_part(folding.at(problem.rank).index, folding.base());
  inner.layout = KeptLayouts::of_ranks(problem.layout, ranks_of_parts);
  return inner;
}

Program rab1(const Problem& problem, const Parameters& parameters, const AllgatherFamily& allgather) {
  const Folding folding(problem.size);
  Composition among_base;
  allgather.add(&among_base, problem_of_parts(problem, folding), parameters, vector_parts(folding.base()));
  const Program spread = among_base.take();
  const bool is_extra = folding.at(problem.rank).role == Folding::Role::extra;
  Composition composition;
  composition.reserve(2);
  composition.add(fold(problem, {}, folding));
  composition.add(halving_reduce_scatter(problem, folding, folding.rounds()));
  composition.add(is_extra ? idle(spread) : spread, {.rank_of = [folding](int part) {
                    return folding.rank_of(patterns::kept_part(part, folding.base()));
                  }});
  composition.add(unfold(problem, {}, folding));
  return composition.take();
}

// Everyone gets all operands of its part, those of the nearest rank below first. What comes from below is
// joined in front of what is there. What comes from above arrives with the last rank's first; each is joined
// in front of what came from above before it.
Stage alltoall_reduce_scatter(const Problem& problem, const Parameters& parameters, Barrier barrier) {
  const int size = problem.size;
  const int rank = problem.rank;
  const Ref result = part(Place::output, rank, size);
  const Ref from_above = result.in(Place::scratch).shifted(2);
  const auto exchange = [=](int phase, const Pair& pair, Writer& writer) {
    const bool is_first_from_above = pair.from == size - 1;
    const Ref arrived = is_first_from_above ? from_above : result.in(Place::scratch).shifted(phase % 2);
    writer.send(part(Place::input, pair.to, size), pair.to);
    writer.recv(arrived, pair.from);
    if (pair.from < rank) {
      writer.reduce(result, arrived, phase == 0 ? result.in(Place::input) : result);
    } else if (!is_first_from_above) {
      writer.reduce(from_above, arrived, from_above);
    }
    if (phase == size - 2 && rank < size - 1) {
      writer.reduce(result, rank == 0 ? result.in(Place::input) : result, from_above);
    }
  };
  Stage stage =
      in_phases(problem, parameters, barrier, size - 1, phase_by(patterns::at_distance, problem), exchange);
  stage.extent_parts = size;
  return stage;
}

Program rab2(const Problem& problem, const Parameters& parameters, Barrier barrier,
             const AllgatherFamily& allgather) {
  Composition composition;
  composition.reserve(3);
  composition.add(
      alltoall_reduce_scatter(problem, barrier == Barrier::none ? parameters : Parameters(), barrier));
  allgather.add(&composition, problem, parameters, vector_parts(problem.size));
  return composition.take();
}

using BuildWith = Program (*)(const Problem&, const Parameters&, const AllgatherFamily&);
Descriptor descriptor(std::string name, std::string_view group, std::string sentence,
                      const AllgatherFamily& allgather, BuildWith build) {
  return {.name = std::move(name),
          .operation = Operation::allreduce,
          .group = group,
          .sentence = std::move(sentence) + allgather.sentence,
          .source = "S1, section 3.1",
          .legality = {.needs_topology = allgather.legality.needs_topology},
          .parameters = allgather.parameters,
          .build = [&allgather, build](
                       const Problem& problem,
                       const Parameters& parameters) { return build(problem, parameters, allgather); },
          .is_for_leaders = false};
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all;
  for (const std::string_view x : {"bruck", "mesh_2d", "mesh_3d", "recursive_doubling", "direct_ring"}) {
    const AllgatherFamily& allgather = allgather_family(x);
    all.push_back(descriptor("allgather_reduce_" + allgather.name, "allgather-reduce",
                             "Everyone gets all vectors and joins them: ", allgather, allgather_reduce));
    all.back().legality = allgather.legality;
    all.back().legality.max_total_bytes = max_gathered_bytes;
    all.back().legality.keeps_one_order = true;
  }
  for (const std::string_view x :
       {"simple", "mesh_2d", "mesh_3d", "recursive_doubling", "bruck", "direct_ring",
        "direct_ring_light_barrier", "direct_ring_mpi_barrier", "topology_ring"}) {
    const AllgatherFamily& allgather = allgather_family(x);
    all.push_back(descriptor(
        "rab1_" + allgather.name, "rab1",
        "Recursive halving leaves parts of the result, which an allgather spreads: ", allgather, rab1));
    all.back().legality.keeps_one_order = true;
  }
  for (const BarrierWords& words : barriers) {
    for (const std::string& y : {std::string("topology_ring"), "direct_ring" + std::string(words.suffix)}) {
      const AllgatherFamily& allgather = allgather_family(y);
      Descriptor pair = descriptor(
          "rab2_ring" + std::string(words.suffix) + "_" + allgather.name, "rab2",
          "An alltoall of parts by distance, joined on arrival, then an allgather: ", allgather, nullptr);
      pair.build = [&allgather, barrier = words.barrier](const Problem& problem,
                                                         const Parameters& parameters) {
        return rab2(problem, parameters, barrier, allgather);
      };
      all.push_back(std::move(pair));
    }
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
