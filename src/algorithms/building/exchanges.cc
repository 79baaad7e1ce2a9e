// SPDX-License-Identifier: BSD-3-Clause
#include "algorithms/building/exchanges.h"

#include <algorithm>

#include "algorithms/building/compose.h"

namespace unisono::algorithms {

using patterns::Doubling;
using patterns::Folding;
using patterns::Halving;
using patterns::Ring;
using schedule::Place;
using schedule::Problem;
using schedule::Ref;
using schedule::Stage;
using schedule::Writer;
using Role = patterns::Folding::Role;

namespace {

bool contains(const std::pair<int, int>& run, int first, int last) {
  return run.first <= first && last <= run.second;
}

}  // namespace

Items vector_parts(int count) {
  return {[count](int first, int last) { return parts(Place::output, first, last, count); }, 1, count, 1};
}

Items owned_blocks(const Problem& problem) {
  std::int64_t longest = 1;
  for (int rank = 0; problem.blocks.starts && rank < problem.size; ++rank) {
    longest = std::max(longest, problem.blocks.last(rank) - problem.blocks.first(rank));
  }
  return {[all = problem.blocks](int first, int last) {
            return blocks(Place::output, all.first(first), all.last(last - 1));
          },
          longest, 1, problem.blocks.last(problem.size - 1)};
}

Stage ring_allgather(const Problem& problem, const Parameters& parameters, const Items& items,
                     const HeldBy& held_by) {
  const Ring ring{problem.size};
  const int rank = problem.rank;
  const auto write = [=, own = held_by(rank), next = held_by(ring.next(rank))](int round, Writer& writer) {
    const int leaving = ring.passed_on(rank, round);
    const int arriving = ring.passed_on(ring.previous(rank), round);
    if (!contains(next, leaving, leaving + 1)) writer.send(items.run(leaving, leaving + 1), ring.next(rank));
    if (!contains(own, arriving, arriving + 1)) {
      writer.recv(items.run(arriving, arriving + 1), ring.previous(rank));
    }
  };
  Stage stage = message_stage(parameters, problem.size - 1, write);
  stage.extent = items.longest;
  stage.extent_parts = items.parts;
  return stage;
}

Stage doubling_allgather(const Problem& problem, const Items& items, const HeldBy& held_by) {
  const int rank = problem.rank;
  return message_stage({}, patterns::ceil_log2(problem.size), [=](int round, Writer& writer) {
    const Doubling pair = patterns::recursive_doubling(rank, round);
    if (!contains(held_by(pair.partner), pair.first, pair.last)) {
      writer.send(items.run(pair.first, pair.last), pair.partner);
    }
    if (!contains(held_by(rank), pair.partner_first, pair.partner_last)) {
      writer.recv(items.run(pair.partner_first, pair.partner_last), pair.partner);
    }
  });
}

void join(Writer& writer, const Ref& result, const Ref& mine, const Ref& arrived, bool is_peer_before) {
  writer.reduce(result, is_peer_before ? arrived : mine, is_peer_before ? mine : arrived);
}

Stage fold(const Problem& problem, const Parameters& parameters, const Folding& folding) {
  const Folding::Member me = folding.at(problem.rank);
  return message_stage(parameters, 1, [=, rank = problem.rank](int, Writer& writer) {
    if (me.role == Role::extra) writer.send(whole(Place::input), me.partner);
    if (me.role == Role::proxy) {
      writer.recv(whole(Place::scratch), me.partner);
      join(writer, whole(Place::output), whole(Place::input), whole(Place::scratch), me.partner < rank);
    }
  });
}

Stage unfold(const Problem& problem, const Parameters& parameters, const Folding& folding) {
  const Folding::Member me = folding.at(problem.rank);
  return message_stage(parameters, 1, [=](int, Writer& writer) {
    if (me.role == Role::proxy) writer.send(whole(Place::output), me.partner);
    if (me.role == Role::extra) writer.recv(whole(Place::output), me.partner);
  });
}

Place joined_before(int round, const Folding::Member& member) {
  return round == 0 && member.role == Role::base ? Place::input : Place::output;
}

Stage halving_reduce_scatter(const Problem& problem, const Folding& folding, int rounds) {
  const Folding::Member me = folding.at(problem.rank);
  const int base = folding.base();
  return message_stage({}, rounds, [=](int round, Writer& writer) {
    if (me.role == Role::extra) return;
    const Halving halving = patterns::recursive_halving(me.index, round, base);
    const int partner = folding.rank_of(halving.partner);
    const Place mine = joined_before(round, me);
    const Ref kept = parts(Place::output, halving.keep_first, halving.keep_last, base);
    const Ref arrived = kept.in(Place::scratch).shifted(round % 2);
    writer.send(parts(mine, halving.give_first, halving.give_last, base), partner);
    writer.recv(arrived, partner);
    join(writer, kept, kept.in(mine), arrived, halving.partner < me.index);
  });
}

Stage halving_allgather(const Problem& problem, const Folding& folding, int rounds) {
  const Folding::Member me = folding.at(problem.rank);
  return message_stage({}, rounds, [=, base = folding.base()](int round, Writer& writer) {
    if (me.role == Role::extra) return;
    const Halving halving = patterns::recursive_halving(me.index, rounds - 1 - round, base);
    const int partner = folding.rank_of(halving.partner);
    writer.send(parts(Place::output, halving.keep_first, halving.keep_last, base), partner);
    writer.recv(parts(Place::output, halving.give_first, halving.give_last, base), partner);
  });
}

}  // namespace unisono::algorithms
