// SPDX-License-Identifier: BSD-3-Clause
// Looks whether a job's agents still serve it: those of this host by themselves, all of them by what the
// first one says. Their launcher ends as a rule where one has died, but not at every moment of its life.
#pragma once

#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "agents/agent_processes.h"

namespace unisono::front {

class AgentsWatch {
 public:
  // `deadline`: of ranks that wait for agents.
  AgentsWatch(std::string job, std::chrono::seconds deadline) : job_(std::move(job)), deadline_(deadline) {}

  // They are started, for the `again`-th time after the first one.
  void begin(int again);
  // Empty, or why they do not serve. `are_ready`: the first one has said that all are there.
  std::string what_is_wrong(bool are_ready);
  // What agents of this host have left that were killed inside MPI_Init. None of them lives any more.
  void remove_files();

 private:
  using Clock = std::chrono::steady_clock;
  void look_at_start();
  void look_for_new();
  Clock::duration longest_start() const;

  const std::string job_;
  const Clock::duration deadline_;
  int again_ = 0;
  bool are_ready_ = false;
  Clock::time_point begun_ = Clock::now();
  Clock::duration first_start_{};  // how long it took
  std::vector<agents::WatchedProcess> of_this_host_;
  Clock::time_point next_look_for_new_{};
  std::set<std::string> files_;  // that their MPI has made
};

}  // namespace unisono::front
