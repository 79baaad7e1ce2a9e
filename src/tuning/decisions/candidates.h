// SPDX-License-Identifier: BSD-3-Clause
// What may be learned among: the algorithms that could serve a kind of calls.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tuning/decisions/candidate.h"
#include "tuning/decisions/decision.h"

namespace unisono::tuning {

// How long a choice takes by the model, seconds; 0: the model cannot say.
using Predict = std::function<double(const Question&, const Choice&)>;

struct CandidateList {
  std::vector<Choice> choices;
  std::vector<Candidate> candidates;  // of each choice
};

// The reference comes first (the host's own, where it is legal), then `decided`, which would be used without
// learning. All others follow that are legal and need no more memory than is usual, each
// with its other ways (algorithms::other_ways). One alone: there is
// nothing to be learned. `predict` may be empty.
CandidateList candidates_of(const Question& question, const Choice& decided, const Predict& predict);

// The first call that is looked at on all ranks, whatever each has thinned out; and its multiples.
inline constexpr std::uint32_t first_common_call = 64;
// How many calls of a kind earn what it takes to begin with learning: 0, 16, or a power of two from 64 on. It
// goes by how long the quickest machines take for them. All ranks know it alike.
std::uint32_t calls_before_learning(const Question& question, double budget_share);

}  // namespace unisono::tuning
