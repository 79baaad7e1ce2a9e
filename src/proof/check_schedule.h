// SPDX-License-Identifier: BSD-3-Clause
// Proves schedules (B6): runs all ranks' programs in one process on symbolic data. For one call, or several
// that follow each other on the same communicator, with one count:
// - every send has exactly one receive of equal length in its stage and round, and messages that MPI matches
//   by order are posted in one order;
// - the compiled dependencies order every two steps of a rank that conflict;
// - nobody waits for ever, also where a send finishes only when it meets its receive, where pieces wait for
//   the window, and where every fused operation is a barrier;
// - shared memory: no slot is read before it is written or overwritten before it is read, and nobody awaits
//   what nobody signals. This holds for all timings at once, by what is known to happen before what;
// - the operation's result has each contribution once, in rank order where the operator does not commute. All
//   ranks of an allreduce get the same bits, and a reproducible reduction keeps its one order;
// - nothing is read that was never written, no input is written, and nothing lies beyond a buffer's end.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "proof/check_load.h"
#include "proof/check_program.h"

namespace unisono::proof {

// Beside the one run that proves: runs in other orders, on the values.
struct CheckEffort {
  int orders = 2;               // with eager sends, in random and contrary orders
  int most_ranks_ordered = 16;  // of how many ranks the dependencies are looked at (spread evenly); 0: none
  std::uint32_t seed = 1;
};

// What is wrong, in words that name call, rank, stage, round and step; empty: all is proved. Call i moves
// elements[i] elements (of the same size in all calls).
std::vector<std::string> check(const std::vector<const CheckedCall*>& calls,
                               const std::vector<std::int64_t>& elements, const CheckLoad& load,
                               const CheckEffort& effort = {});

// How many pieces the calls' longest stage has with this load: what a test wants to know of its cases.
std::int64_t most_pieces(const CheckedCall& call, const CheckLoad& load);

}  // namespace unisono::proof
