// SPDX-License-Identifier: BSD-3-Clause
// Do messages contend on the links of the tree of switches (S6)? Tokens, which carry nothing, do not count.
#pragma once

#include <string>
#include <vector>

#include "proof/check_program.h"

namespace unisono::proof {

// As if the ranks went through the rounds in step.
struct RoundsOnLinks {
  int rounds = 0;              // with messages
  int most_on_a_link = 0;      // messages over one directed link in one round
  std::string first_conflict;  // "stage 1, round 3: rank 0 -> rank 8 and rank 1 -> rank 9 both take ..."
};
RoundsOnLinks rounds_on_links(const CheckedCall& call);

// In any run, whatever the timing. A message starts only when the earlier ones on its links are out of the
// way. What took one of its links in an earlier round has arrived, or, if the same rank has sent it, has
// left. Messages between one pair may follow each other as they like. Returns what may contend, in words;
// empty: nothing. Meant for rounds that are free of conflict.
std::string conflict_over_time(const CheckedCall& call);

}  // namespace unisono::proof
