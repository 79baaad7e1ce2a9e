// SPDX-License-Identifier: BSD-3-Clause
#include "front/agents_watch.h"

#include <algorithm>
#include <utility>

namespace unisono::front {

void AgentsWatch::begin(int again) {
  again_ = again;
  are_ready_ = false;
  begun_ = Clock::now();
  of_this_host_.clear();
}

void AgentsWatch::look_for_new() {
  for (agents::AgentProcess& agent : agents::agents_of(job_)) {
    const auto is_it = [&](const agents::WatchedProcess& one) {
      return one.number() == agent.process.number() && !one.has_ended_within(0);
    };
    if (agent.again == again_ && std::ranges::none_of(of_this_host_, is_it))
      of_this_host_.push_back(std::move(agent.process));
  }
}

// Ranks wait for so long that a second start can come to their help, but not shorter than starts take here.
AgentsWatch::Clock::duration AgentsWatch::longest_start() const {
  return std::max<Clock::duration>(deadline_ / 3, 2 * first_start_ + std::chrono::seconds(1));
}

std::string AgentsWatch::what_is_wrong(bool are_ready) {
  if (!are_ready_) look_for_new();
  if (are_ready && !are_ready_ && again_ == 0) first_start_ = Clock::now() - begun_;
  are_ready_ = are_ready;
  const auto has_ended = [](const agents::WatchedProcess& one) { return one.has_ended_within(0); };
  if (std::ranges::any_of(of_this_host_, has_ended)) return "one of this host is gone";
  if (again_ > 0 && !are_ready_ && Clock::now() - begun_ > longest_start())
    return "they do not come together";
  return {};
}

}  // namespace unisono::front
