// SPDX-License-Identifier: BSD-3-Clause
// An agent's whole life: a process beside the ranks of a node, or a thread of one of them.
// It does for them what goes on between nodes while they compute.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
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

// As run(), for who lets it go on by itself. Whoever calls MPI for it, one thread does at a time.
class Life {
 public:
  // Collective over `all`, as run(). Null where it cannot serve, with the reason.
  static std::unique_ptr<Life> begin(host::Host& host, host::Comm all, const LifeOptions& options,
                                     std::string* why);
  ~Life();
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;

  // Returns when the ranks of this node have come, and have all left; or soon after `must_stop` is set, where
  // it sleeps when its bell rings.
  void live(const std::atomic<bool>& must_stop);
  // In place of live(): a step that waits for nobody, until it is over.
  void step();
  bool is_over() const;
  // Afterwards, or in its midst. Empty, or why it could serve no longer.
  std::string end();

 private:
  class Agent;
  struct Parts;
  explicit Life(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

// Collective over `all`, whose ranks are the job's agents, one for each node. Returns when the ranks of this
// node have come, and have all left. Empty, or why it could not serve.
std::string run(host::Host& host, host::Comm all, const LifeOptions& options);

}  // namespace unisono::agents
