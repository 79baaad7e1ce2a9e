// SPDX-License-Identifier: BSD-3-Clause
#include "front/agents_watch.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace unisono::front {
namespace {

// Whoever has its number afterwards: it is still that process then.
std::set<std::string> files_of(const agents::WatchedProcess& agent) {
  const std::vector<std::string> found = agents::files_of_mpich(agent.number());
  if (agent.has_ended_within(0)) return {};
  return {found.begin(), found.end()};
}

}  // namespace

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

// All processes of this host are many, and are looked at now and then. Their agents' files live for a moment.
void AgentsWatch::look_at_start() {
  constexpr auto between_looks_for_new = std::chrono::milliseconds(100);
  if (const auto now = Clock::now(); now >= next_look_for_new_) {
    look_for_new();
    next_look_for_new_ = now + between_looks_for_new;
  }
  for (const agents::WatchedProcess& agent : of_this_host_) files_.merge(files_of(agent));
}

void AgentsWatch::remove_files() {
  for (const std::string& file : files_) ::unlink(file.c_str());
  files_.clear();
}

// Ranks wait for so long that a second start can come to their help, but not shorter than starts take here.
AgentsWatch::Clock::duration AgentsWatch::longest_start() const {
  return std::max<Clock::duration>(deadline_ / 3, 2 * first_start_ + std::chrono::seconds(1));
}

std::string AgentsWatch::what_is_wrong(bool are_ready) {
  if (!are_ready_) look_at_start();
  if (are_ready && !are_ready_ && again_ == 0) first_start_ = Clock::now() - begun_;
  are_ready_ = are_ready;
  const auto has_ended = [](const agents::WatchedProcess& one) { return one.has_ended_within(0); };
  if (std::ranges::any_of(of_this_host_, has_ended)) return "one of this host is gone";
  if (again_ > 0 && !are_ready_ && Clock::now() - begun_ > longest_start())
    return "they do not come together";
  return {};
}

}  // namespace unisono::front
