// SPDX-License-Identifier: BSD-3-Clause
// An alltoall on a tree of switches in as few phases as there can be, each free of contention: no directed
// link carries two messages. After Faraj and Yuan's message scheduling (S1, topology specific; S6).
#pragma once

#include <vector>

#include "patterns/network.h"

namespace unisono::patterns {

struct Message {
  int from = -1;
  int to = -1;
  bool operator==(const Message&) const = default;
};
using Phase = std::vector<Message>;  // nobody sends two messages in one, nobody gets two

// Every rank's message to every other one, in Network::least_phases() phases.
std::vector<Phase> contention_free_phases(const Network& network);

// What keeps the phases apart where they need it: tokens, by the phase before whose messages they travel.
// Somebody who has got a message tells who sends over one of its links next; who knows of it in another way
// is not told. For at most 32767 phases. Needs ranks that finish each phase before they begin their next.
std::vector<Phase> separating_tokens(const Network& network, const std::vector<Phase>& phases);

}  // namespace unisono::patterns
