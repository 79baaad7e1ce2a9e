// SPDX-License-Identifier: BSD-3-Clause
// Two-level scans and scattered reductions, where every node holds consecutive ranks.
#include <utility>

#include "algorithms/building/runs.h"
#include "algorithms/catalogue/alone.h"
#include "algorithms/shared_memory/shared.h"
#include "algorithms/shared_memory/shared_blocks.h"
#include "algorithms/shared_memory/shared_scan.h"
#include "algorithms/two_levels/two_level.h"

namespace unisono::algorithms {

using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::Writer;

namespace {

// A scan on each node leaves its last rank what the node has joined. An exclusive scan among those last ranks
// gives what comes before each node. That is handed out on the node, and joined to what each rank has.
class TwoLevelScan {
 public:
  TwoLevelScan(const Levels& levels, const Problem& problem) : levels_(levels), problem_(problem) {}

  Program build(const Descriptor& inter, const Parameters& parameters) {
    const std::int64_t total = to_.reserve(1);
    prefix_ = block(Place::scratch, to_.reserve(1));
    // As it is: a mapping would move `total`.
    to_.add(scan_node(parameters, block(Place::scratch, total)).stages.front());
    add_last_ranks(inter, parameters, total);
    hand_out(parameters);
    to_.add(local_stage([result = whole(Place::output), prefix = prefix_, is_first = is_first_of_node(),
                         is_first_node = is_first_node(), is_inclusive = is_inclusive()](Writer& writer) {
      if (is_first_node) return;
      if (is_inclusive || !is_first) {
        writer.reduce(result, prefix, result);
      } else {
        writer.copy(result, prefix);
      }
    }));
    return to_.take();
  }

 private:
  bool is_inclusive() const { return problem_.operation == Operation::scan; }
  bool is_first_of_node() const { return levels_.node().rank == 0; }
  bool is_first_node() const { return levels_.leaders().rank == 0; }
  bool is_last_of_node() const { return levels_.node().rank + 1 == levels_.node().size; }

  Program scan_node(const Parameters& parameters, const Ref& total) const {
    Problem node = levels_.node();
    node.operation = problem_.operation;
    // What the last node has joined is wanted by nobody.
    const Ref wanted = levels_.leaders().rank + 1 < levels_.leaders().size ? total : token(Place::scratch);
    if (node.size > 1) {
      return is_inclusive() ? shared_scan(node, parameters) : shared_exscan(node, parameters, wanted);
    }
    const Ref into = is_inclusive() ? whole(Place::output) : wanted;
    return one_stage(local_stage([=](Writer& writer) {
      if (into.first != into.last) writer.copy(into, whole(Place::input));
    }));
  }

  void add_last_ranks(const Descriptor& inter, const Parameters& parameters, std::int64_t total) {
    Problem lasts = levels_.leaders();
    lasts.operation = Operation::exscan;
    lasts.root = 0;
    lasts.blocks = {};
    const Program program = inter.build(lasts, parameters);
    const Seat joined = is_inclusive() ? Seat{Place::output} : Seat{Place::scratch, total};
    to_.add(is_last_of_node() ? program : idle(program),
            {.input = joined,
             .output = {Place::scratch, prefix_.first},
             .rank_of = [layout = problem_.layout](int node) { return layout->ranks_of[node].back(); }});
  }

  void hand_out(const Parameters& parameters) {
    Problem node = levels_.node();
    node.operation = Operation::bcast;
    node.root = node.size - 1;
    if (is_first_node()) {
      to_.add(local_stage([](Writer&) {}));
    } else {
      to_.add(node.size == 1 ? alone(node) : shared_bcast(node, parameters),
              {.output = {Place::scratch, prefix_.first}});
    }
  }

  const Levels& levels_;
  const Problem& problem_;
  Composition to_;
  Ref prefix_;
};

// The leaders have what their nodes have joined.
void reduce_scatter(Composition* to, const Levels& levels, const Descriptor& inter,
                    const Parameters& parameters) {
  const std::int64_t ranks = levels.size();
  // Uneven blocks keep their numbers.
  const bool is_uneven = has_uneven_blocks(inter.operation);
  const Seat joined{Place::scratch, to->reserve(levels.is_leader() ? ranks : 0)};
  const Seat own{Place::scratch, to->reserve(!levels.is_leader() ? 0
                                             : is_uneven         ? ranks
                                                                 : levels.node().size)};
  levels.add_node(to, Operation::reduce, shared_reduce, parameters, {.output = joined, .scale = ranks});
  levels.add_leaders(to, inter, parameters, {.input = joined, .output = own});
  if (is_uneven) {
    to->add(shared_scatter_blocks(levels.node(), parameters, levels.first_position()), {.input = own});
  } else {
    levels.add_node(to, Operation::scatter, shared_scatter, parameters, {.input = own});
  }
}

std::vector<Descriptor> compose(const std::vector<Descriptor>& simple) {
  std::vector<Descriptor> all;
  const auto add = [&all](Descriptor descriptor) {
    descriptor.legality.needs_consecutive = true;
    descriptor.legality.needs_consecutive_unless_commutative = false;
    all.push_back(std::move(descriptor));
  };
  for (const Descriptor& inter : simple) {
    if (!is_for_leaders(inter)) continue;
    if (inter.operation == Operation::reduce_scatter_block || inter.operation == Operation::reduce_scatter) {
      add(two_level(inter, reduce_scatter));
    }
    if (inter.operation != Operation::exscan) continue;
    for (const Operation operation : {Operation::scan, Operation::exscan}) {
      Descriptor descriptor = two_level(inter, {});
      descriptor.legality.keeps_one_order = false;
      descriptor.operation = operation;
      descriptor.build = [inter](const Problem& problem, const Parameters& parameters) {
        return TwoLevelScan(Levels(problem), problem).build(inter, parameters);
      };
      add(std::move(descriptor));
    }
  }
  return all;
}

const CompositionRegistration registration(compose);

}  // namespace
}  // namespace unisono::algorithms
