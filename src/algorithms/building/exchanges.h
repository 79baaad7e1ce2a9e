// SPDX-License-Identifier: BSD-3-Clause
// Stages of exchanges that several operations are made of: allgathers, and a number of ranks folded onto a
// power of two.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "algorithms/catalogue/descriptor.h"
#include "patterns/exchange.h"
#include "schedule/program.h"

namespace unisono::algorithms {

// What the ranks hold: rank i item i, which is a run of output.
struct Items {
  std::function<schedule::Ref(int first, int last)> run;  // the items [first, last)
  std::int64_t longest;                                   // item: so many of `parts` units
  std::int32_t parts;
  std::int64_t units;  // all items together
};
Items vector_parts(int count);                         // item i is part i of `count` of the vector
Items owned_blocks(const schedule::Problem& problem);  // item i is what rank i owns

// The run of items that a rank has before an allgather; more than its own after a scatter along a tree. What
// a rank has already is not sent to it.
using HeldBy = std::function<std::pair<int, int>(int rank)>;
inline std::pair<int, int> own_item(int rank) {
  return {rank, rank + 1};
}

// Item by item around the ring.
schedule::Stage ring_allgather(const schedule::Problem& problem, const Parameters& parameters,
                               const Items& items, const HeldBy& held_by = own_item);
// Runs that double; needs a power of two ranks.
schedule::Stage doubling_allgather(const schedule::Problem& problem, const Items& items,
                                   const HeldBy& held_by = own_item);

// --- Reductions of input into output, folded onto a power of two ranks ---
// Before: extras hand their operands to their proxies, which join them. Uses one unit of scratch space.
schedule::Stage fold(const schedule::Problem& problem, const Parameters& parameters,
                     const patterns::Folding& folding);
// After: proxies hand the result to their extras.
schedule::Stage unfold(const schedule::Problem& problem, const Parameters& parameters,
                       const patterns::Folding& folding);
// What a member of the base has before `round`: its input, until it has joined something.
schedule::Place joined_before(int round, const patterns::Folding::Member& member);
// The steps that join what has arrived from `peer` with what is there, in the order of the ranks.
void join(schedule::Writer& writer, const schedule::Ref& result, const schedule::Ref& mine,
          const schedule::Ref& arrived, bool is_peer_before);
// Rabenseifner's first half. After all rounds, each member of the base has one of base() parts joined. After
// fewer rounds, members whose numbers agree in their lowest `rounds` bits have the same part. Uses two units
// of scratch space.
schedule::Stage halving_reduce_scatter(const schedule::Problem& problem, const patterns::Folding& folding,
                                       int rounds);
// Undoes so many rounds of it: everyone has all parts.
schedule::Stage halving_allgather(const schedule::Problem& problem, const patterns::Folding& folding,
                                  int rounds);

}  // namespace unisono::algorithms
