// SPDX-License-Identifier: BSD-3-Clause
// Many calls on hosts with noise, or on agents beside them (B7, N7, N9): how their times spread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/predict.h"

namespace unisono::model {

struct SimulateOptions {
  MessageModel model = MessageModel::plogp;
  int calls = 1000;
  std::vector<NoiseSource> noise;  // of each core that hosts a rank
  double slow_share = 0, slow_factor = 1;
  std::uint64_t seed = 1;
  // Agents run the schedule, one a node; hosts hand it their data and wait.
  bool has_agents = false;
  // Where a rank only sends, or only receives, its host does that itself (section 3.3.2).
  bool has_hosts_at_ends = false;
  // The network sends the result of a reduction on to all nodes (N10).
  bool has_broadcast = false;
  // Between calls all ranks compute so long; with agents they may do so while a call is under way.
  double compute_us = 0;
  bool is_overlapped = false;
  // All ranks begin a call together, as after a barrier that costs nothing; else each when it is ready.
  bool is_together = true;
  bool by_events = false;  // not by replay
  std::int64_t most_pieces = 60'000'000;
  std::function<void(double share)> progress = {};
};

// A replay takes messages in the order of the quiet call, though noise may let them overtake each other. So
// some calls, evenly spread, are run event by event as well, from where the replay of each began.
struct ReplayCheck {
  int calls = 0;          // that were run both ways
  int differing = 0;      // of them those that took another time
  double mean_error = 0;  // of the replays' mean time, against the events'
  double most_error = 0;  // of a single call, the largest
};

struct Simulated {
  std::string problem;     // why there are no times; else empty
  double quiet_us = 0;     // of a call without noise
  std::vector<double> us;  // of each call: see simulate()
  std::string by_events;   // why the events were run for each call; empty: it was replayed
  ReplayCheck check;       // of a replay
  std::int64_t works = 0;  // of a replay: pieces of work of a call
  std::int64_t steps = 0;  // of a call
};

// The time of a call is from when all begin it until the last rank is done. Where ranks do not begin
// together, it is what the call adds to the time between the ends of two calls, beside the computing.
// `problem` with the layout of all ranks.
Simulated simulate(const Candidate& candidate, const schedule::Problem& problem, std::int64_t bytes,
                   const Machine& machine, const SimulateOptions& options);

}  // namespace unisono::model
