// SPDX-License-Identifier: BSD-3-Clause
// A rank's receives and messages, once more, through any structure of src/matching.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>

#include "matching/catalogue.h"
#include "matching/queue_profile.h"
#include "traces/queue_order.h"

namespace unisono::traces {

// Lets queues that are new make what they have for each communicator of these events: a program makes its
// communicators before it sends. What follows is then search alone.
void meet_contexts(const RankOrder& order, matching::Queues* queues);

// Nothing but the calls, which can be timed.
void replay(const RankOrder& order, matching::Queues* queues);

// Of one queue: how many searches have looked at so many elements (from 2^(n-1) to 2^n - 1), and found the
// queue so long.
struct Histogram {
  std::array<std::uint64_t, 33> counts{};
  std::uint64_t searches = 0, sum = 0, most = 0;

  void add(std::uint64_t value);
  void add(const Histogram& other);
  double mean() const { return searches == 0 ? 0 : static_cast<double>(sum) / static_cast<double>(searches); }
};
struct QueueDepths {
  Histogram lengths;    // of the queue when it was searched
  Histogram looked_at;  // elements that the search has looked at
};
struct OfPeer {
  std::uint64_t messages = 0, looked_at = 0;
};
struct Depths {
  QueueDepths posted, unexpected;
  std::map<int, OfPeer> of_peer;  // by source: what arrived, and what was looked at for it
};
Depths depths_in(const RankOrder& order, matching::Queues* queues);

// What searches have looked at, by whether a collective or the program itself has searched: of receives that
// wait [0] and of messages [1].
struct Looked {
  std::array<std::uint64_t, 2> searches{}, traversals{};
};
struct LookedByKind {
  Looked of_program, of_collectives;
};
LookedByKind looked_by_kind(const RankOrder& order, matching::Queues* queues);

// What each source has put into the queues.
matching::Profile profile_of(const RankOrder& order, int ranks);

std::unique_ptr<matching::Queues> queues_for(const matching::Descriptor& descriptor, int ranks,
                                             const matching::Profile& profile);

}  // namespace unisono::traces
