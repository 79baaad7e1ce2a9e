// SPDX-License-Identifier: BSD-3-Clause
// Reductions whose result is scattered: around a ring, in pairs, by halving, along trees. A5, section 3.2.
#include "algorithms/building/compose.h"
#include "algorithms/building/exchanges.h"
#include "algorithms/building/runs.h"
#include "algorithms/building/trees.h"
#include "algorithms/catalogue/parameters.h"

namespace unisono::algorithms {

using patterns::Folding;
using patterns::Halving;
using patterns::Pair;
using patterns::Tree;
using patterns::wrap;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::Stage;
using schedule::Writer;
using Role = patterns::Folding::Role;

namespace {

// What rank b is to have sets out from the rank behind it, goes once around, and everyone on the way joins
// its own part to it.
Program ring(const Problem& problem, const Parameters& parameters) {
  const patterns::Ring ring{problem.size};
  const Runs runs(problem);
  const int rank = problem.rank;
  const int size = problem.size;
  Stage stage = message_stage(parameters, size - 1, [=](int round, Writer& writer) {
    const int leaving = wrap(rank - 1 - round, size);
    const int arriving = wrap(rank - 2 - round, size);
    const Ref arrived = runs.of(Place::scratch, arriving);
    writer.send(runs.of(round == 0 ? Place::input : Place::scratch, leaving), ring.next(rank));
    writer.recv(arrived, ring.previous(rank));
    writer.reduce(arriving == rank ? runs.own(Place::output) : arrived, arrived,
                  runs.of(Place::input, arriving));
  });
  stage.extent = runs.longest();
  return one_stage(std::move(stage), runs.total());
}

// Operands go straight to the rank that joins them; two may be on their way.
Program pairwise(const Problem& problem, const Parameters& parameters) {
  constexpr int areas = 2;
  const Runs runs(problem);
  const int rank = problem.rank;
  Stage stage =
      message_stage(parameters, problem.size - 1, [=, size = problem.size](int round, Writer& writer) {
        const Pair pair = patterns::pairwise(rank, round + 1, size);
        const Ref arrived = runs.own_area(round % areas);
        const Ref result = runs.own(Place::output);
        writer.send(runs.of(Place::input, pair.to), pair.to);
        writer.recv(arrived, pair.from);
        writer.reduce(result, round == 0 ? runs.of(Place::input, rank) : result, arrived);
      });
  stage.extent = runs.longest();
  return one_stage(std::move(stage), runs.scratch(areas));
}

// Halving by the largest distance first leaves each member of the base what the ranks that it stands for are
// to have. Where the order of the operands counts it is the smallest first, and members change what they are
// left with. Scratch space: what is joined, and behind it what arrives.
Program recursive_halving(const Problem& problem, const Parameters&) {
  const Folding folding(problem.size);
  const Folding::Member me = folding.at(problem.rank);
  const Runs runs(problem);
  const auto joined = [=](const Ref& ref) { return ref.in(Place::scratch); };
  const auto arrived = [=](const Ref& ref) { return ref.in(Place::scratch).shifted(runs.total()); };

  const auto fold = [=, rank = problem.rank](int, Writer& writer) {
    const Ref all = runs.all(Place::input);
    if (me.role == Role::extra) writer.send(all, me.partner);
    if (me.role != Role::proxy) return;
    writer.recv(arrived(all), me.partner);
    join(writer, joined(all), all, arrived(all), me.partner < rank);
  };
  const bool is_in_order = !problem.is_commutative;
  const auto halve = [=](int round, Writer& writer) {
    if (me.role == Role::extra) return;
    const Halving halving = is_in_order ? patterns::recursive_halving(me.index, round, folding.base())
                                        : patterns::farthest_halving(me.index, round, folding.base());
    const auto run_of = [&](int first, int last) {
      const Place mine = round == 0 && me.role == Role::base ? Place::input : Place::scratch;
      return runs.of(mine, folding.first_rank(first), folding.first_rank(last));
    };
    const Ref kept = run_of(halving.keep_first, halving.keep_last);
    const bool is_last = !is_in_order && round + 1 == folding.rounds();
    const int partner = folding.rank_of(halving.partner);
    writer.send(run_of(halving.give_first, halving.give_last), partner);
    writer.recv(arrived(kept), partner);
    join(writer, is_last && me.role == Role::base ? runs.own(Place::output) : joined(kept), kept,
         arrived(kept), halving.partner < me.index);
  };
  const auto change = [=](int, Writer& writer) {
    if (me.role == Role::extra) return;
    const auto of_member = [&](int index) {
      return runs.of(Place::scratch, folding.first_rank(index), folding.first_rank(index + 1));
    };
    const int other = patterns::kept_part(me.index, folding.base());
    if (other != me.index) {
      writer.send(of_member(other), folding.rank_of(other));
      writer.recv(of_member(me.index), folding.rank_of(other));
    }
    if (me.role == Role::base) writer.copy(runs.own(Place::output), of_member(me.index));
  };
  const auto unfold = [=, rank = problem.rank](int, Writer& writer) {
    if (me.role == Role::extra) writer.recv(runs.own(Place::output), me.partner);
    if (me.role != Role::proxy) return;
    writer.send(runs.of(Place::scratch, me.partner), me.partner);
    writer.copy(runs.own(Place::output), runs.of(Place::scratch, rank));
  };
  Composition composition;
  composition.reserve(2 * runs.total());
  composition.add(message_stage({}, 1, fold));
  composition.add(message_stage({}, folding.rounds(), halve));
  if (is_in_order) composition.add(message_stage({}, 1, change));
  composition.add(message_stage({}, 1, unfold));
  return composition.take();
}

// Everything is joined along a binomial tree, then handed out down the same tree.
Program reduce_then_scatter(const Problem& problem, const Parameters& parameters) {
  const Runs runs(problem);
  const Tree tree = Tree::binomial(problem.size, 0);
  const patterns::TreeNode node = tree.at(problem.rank);
  const Descriptor& reduction = *find(Operation::reduce, "binomial");
  Problem reducing = problem;
  reducing.operation = Operation::reduce;
  reducing.blocks = {};
  const auto scatter = [=, rank = problem.rank](int, Writer& writer) {
    const bool is_leaf = node.children.empty();
    if (node.parent >= 0) {
      writer.recv(is_leaf ? runs.own(Place::output) : runs.of(Place::scratch, node.first, node.last),
                  node.parent);
    }
    for (const auto& child : node.children) {
      writer.send(runs.of(Place::scratch, child.first, child.last), child.rank);
    }
    if (!is_leaf) writer.copy(runs.own(Place::output), runs.of(Place::scratch, rank));
  };
  Composition composition;
  const std::int64_t joined = composition.reserve(runs.total());
  composition.add(reduction.build(reducing, with_standards(reduction, parameters)),
                  {.output = {Place::scratch, joined}, .scale = runs.total()});
  composition.add(message_stage({}, 1, scatter));
  return composition.take();
}

std::vector<Descriptor> make() {
  std::vector<Descriptor> all;
  for (const Operation operation : {Operation::reduce_scatter_block, Operation::reduce_scatter}) {
    const auto add = [&](std::string name, std::string_view group, std::string sentence, std::string source,
                         const Legality& legality, std::vector<ParameterSpec> parameters, auto build) {
      all.push_back({.name = std::move(name),
                     .operation = operation,
                     .group = group,
                     .sentence = std::move(sentence),
                     .source = std::move(source),
                     .legality = legality,
                     .parameters = std::move(parameters),
                     .build = build});
    };
    add("ring", "ring", "Blocks go once around a ring and are joined on the way to their ranks.",
        "A5, section 3.2", {.needs_commutative = true}, {segment_parameter(), window_parameter()}, ring);
    add("pairwise", "exchange",
        "In each round a rank sends one other its operand, and joins the one that arrives.",
        "A5, section 3.2; S1", {.needs_commutative = true},
        {segment_parameter(), window_parameter(), rounds_parameter()}, pairwise);
    add("recursive_halving", "exchange",
        "In each round pairs exchange halves of what they have, at half the distance of the round before.",
        "A5, section 3.2; S1", {.keeps_one_order = true}, {}, recursive_halving);
    add("reduce_scatter", "tree",
        "A reduction along a binomial tree, then the blocks are handed out down the same tree.",
        "A5, figure 3.1 (c)", {.keeps_one_order = true}, {segment_parameter(), window_parameter()},
        reduce_then_scatter);
  }
  return all;
}

const Registration registration(make);

}  // namespace
}  // namespace unisono::algorithms
