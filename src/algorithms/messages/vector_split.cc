// SPDX-License-Identifier: BSD-3-Clause
// The vector-split optimisation: recursive halving of the vector over groups, a tree inside each group, and
// the parts put together again. N3, section 3.2.4, figure 3.5.
#include <algorithm>

#include "algorithms/building/compose.h"
#include "algorithms/building/exchanges.h"
#include "algorithms/building/trees.h"
#include "algorithms/catalogue/parameters.h"

namespace unisono::algorithms {

using patterns::Folding;
using patterns::Halving;
using patterns::Tree;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::Stage;
using schedule::Writer;
using Role = patterns::Folding::Role;

namespace {

// Halving joins runs of 2^splits neighbours; who has the same part of every run is a group, whose members
// stand for the runs in the order of the ranks.
class VectorSplit {
 public:
  VectorSplit(const Problem& problem, const Parameters& parameters, const Folding& folding)
      : problem_(problem),
        parameters_(parameters),
        folding_(folding),
        me_(folding.at(problem.rank)),
        splits_(std::min(static_cast<int>(parameters.get("splits")), folding.rounds())),
        root_(is_rooted(problem.operation) ? folding.at(problem.root).index : 0) {}

  // Halving, and then each group's part, joined at the member that stands for the root's run.
  void add_reduction(Composition* to) const {
    to->reserve(2);
    to->add(fold(problem_, {}, folding_));
    to->add(halving_reduce_scatter(problem_, folding_, splits_));
    const Tree tree = group_tree();
    add_to_group(to, reversed_into_reduction(
                         bcast_in_group(tree),
                         [tree, member = member()](int peer) {
                           return tree.position_of(peer) < tree.position_of(member);
                         },
                         Place::output));
  }
  // All of it undone: everyone has the whole.
  void add_spread(Composition* to) const {
    add_to_group(to, bcast_in_group(group_tree()));
    to->add(halving_allgather(problem_, folding_, splits_));
    to->add(unfold(problem_, {}, folding_));
  }

  // All groups' parts to the root.
  Stage gather() const {
    return message_stage({}, 1, [split = *this](int, Writer& writer) {
      if (!split.stands_for_roots_run()) return;
      const int root = split.root_;
      if (split.me_.index != root) {
        writer.send(split.part_of(split.me_.index), split.folding_.rank_of(root));
        return;
      }
      const int run = root >> split.splits_ << split.splits_;
      for (int index = run; index < run + (1 << split.splits_); ++index) {
        if (index != root) writer.recv(split.part_of(index), split.folding_.rank_of(index));
      }
    });
  }

 private:
  int member() const { return me_.index >> splits_; }
  bool stands_for_roots_run() const { return me_.role != Role::extra && member() == root_ >> splits_; }

  Ref part_of(int index) const {
    const Halving last = patterns::recursive_halving(index, splits_ - 1, folding_.base());
    return parts(Place::output, last.keep_first, last.keep_last, folding_.base());
  }

  Tree group_tree() const {
    return Tree::k_nomial(folding_.base() >> splits_, root_ >> splits_,
                          static_cast<int>(parameters_.get("degree")));
  }
  Program bcast_in_group(const Tree& tree) const {
    Problem group = problem_;
    group.size = tree.size();
    group.rank = member();
    return bcast_along(tree, group, parameters_, part_of(me_.index));
  }
  void add_to_group(Composition* to, const Program& program) const {
    const int group = me_.index & ((1 << splits_) - 1);
    to->add(me_.role == Role::extra ? idle(program) : program,
            {.rank_of = [folding = folding_, group, splits = splits_](int member) {
              return folding.rank_of((member << splits) + group);
            }});
  }

  Problem problem_;
  Parameters parameters_;
  Folding folding_;
  Folding::Member me_;
  int splits_;
  int root_;
};

Program reduce(const Problem& problem, const Parameters& parameters) {
  const VectorSplit split(problem, parameters, Folding(problem.size, problem.root));
  Composition composition;
  split.add_reduction(&composition);
  composition.add(split.gather());
  return composition.take();
}

Program allreduce(const Problem& problem, const Parameters& parameters) {
  const VectorSplit split(problem, parameters, Folding(problem.size));
  Composition composition;
  split.add_reduction(&composition);
  split.add_spread(&composition);
  return composition.take();
}

Descriptor descriptor(Operation operation, std::string sentence,
                      Program (*build)(const Problem&, const Parameters&)) {
  return {.name = "vector_split",
          .operation = operation,
          .group = "tree",
          .sentence = std::move(sentence),
          .source = "N3, section 3.2.4",
          .legality = {},
          .parameters = {{"splits", "", 1, 16, 1, "how often the vector is halved over groups of ranks"},
                         degree_parameter(),
                         segment_parameter(),
                         window_parameter()},
          .build = build};
}

std::vector<Descriptor> make() {
  return {descriptor(Operation::reduce,
                     "The vector is halved over groups of ranks; each group joins its part along a tree, and "
                     "the root gets the parts.",
                     reduce),
          descriptor(Operation::allreduce,
                     "The vector is halved over groups of ranks; each group joins its part along a tree and "
                     "hands it back; the halving is undone.",
                     allreduce)};
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
