// SPDX-License-Identifier: BSD-3-Clause
// What the questions on message matching share: traces that are named, structures with their parameters, and
// the clock.
#pragma once

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

// A rank's queues in both orders.
struct RankOrders {
  int rank = 0;
  bool is_exact = false;
  traces::RankOrder low, high;
  matching::Profile profile;
};
// All ranks that have any event, or those of --rank.
std::vector<RankOrders> orders_of(const traces::Trace& trace, const Arguments& arguments);

// CPU time of this thread.
double cpu_ns();
// Prints a line with what is done of the work, a few times a second.
void tell_progress(const Arguments& arguments, double share, const std::string& now);

}  // namespace unisono::tool
