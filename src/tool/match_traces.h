// SPDX-License-Identifier: BSD-3-Clause
// What the questions on message matching share: traces that are named, structures with their parameters, and
// the clock.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "matching/catalogue.h"
#include "tool/question.h"
#include "traces/queue_replay.h"
#include "traces/trace.h"

namespace unisono::tool {

// A structure with some of its parameters: "clusters_k_means(k=16)".
struct Engine {
  std::string text;
  const matching::Descriptor* descriptor = nullptr;
  std::vector<std::pair<std::string, std::int64_t>> values;

  std::unique_ptr<matching::Queues> queues(int ranks, const matching::Profile* profile) const;
};
// Those that --engine names; `all`, or none: each once.
std::vector<Engine> engines_from(const Arguments& arguments);

// The file that --file names.
traces::Trace trace_from(const Arguments& arguments);

// What all ranks together have counted, also those whose queues have seen nothing.
std::map<std::string, std::uint64_t> counts_of(const traces::Trace& trace);

// A rank's queues in both orders.
struct RankOrders {
  int rank = 0;
  bool is_exact = false;
  traces::RankOrder low, high;
  matching::Profile profile;  // of this very trace, unless there is one of an earlier run
};
// All ranks that have any event, or those of --rank.
std::vector<RankOrders> orders_of(const traces::Trace& trace, const Arguments& arguments);

// Puts the profile that --profile names, if it names one, in the place of those that the traces have. It must
// be of as many ranks.
void take_profiles(const Arguments& arguments, int ranks, std::vector<RankOrders>* orders);

// CPU time of this thread.
double cpu_ns();
// Prints a line with what is done of the work, a few times a second.
void tell_progress(const Arguments& arguments, double share, const std::string& now);

}  // namespace unisono::tool
