// SPDX-License-Identifier: BSD-3-Clause
// An agent's whole life: a process beside the ranks of a node, or a thread of one of them.
// It does for them what goes on between nodes while they compute.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "host/host.h"

namespace unisono::agents {

// What agents tell: all are there, and have taken over; the job needs them no more, and they end.
inline constexpr std::string_view ready_words = "all agents are there", ended_words = "the agents end";

struct LifeOptions {
  std::string job;  // by which ranks and agents know each other (option agents_job of the ranks)
  // Set from outside, by a handler of signals say: the agent ends soon.
  const std::atomic<bool>* must_end = nullptr;
  std::string carrier = "mpi";  // what is to go between nodes (carrier.h); where it cannot, `mpi` does
  bool has_soft_float = false;  // float and double by SoftFloat (soft_float.h)
  int again = 0;  // how often the job's agents were started before: these take over what they left
  std::function<void(std::string_view)> tell{};
  int place = 0;  // of ranks' meeting, or the next one that is free
  // A thread of one of the ranks. Nobody can take over what it had, and the process goes on without it.
  bool is_thread = false;
};

// Collective over `all`, whose ranks are the job's agents, one for each node. Returns when the ranks of this
// node have come, and have all left. Empty, or why it could not serve.
std::string run(host::Host& host, host::Comm all, const LifeOptions& options);

}  // namespace unisono::agents
