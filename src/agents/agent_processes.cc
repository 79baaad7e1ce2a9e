// SPDX-License-Identifier: BSD-3-Clause
#include "agents/agent_processes.h"

#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <utility>

#include "agents/numbers_in_folder.h"

namespace unisono::agents {
namespace {

constexpr int longest_end_ms = 2000;

std::vector<std::string> words_of(const std::string& folder) {
  std::ifstream file(folder + "/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  return words;
}

std::string value_behind(const std::vector<std::string>& words, std::string_view name) {
  const auto found = std::ranges::find(words, name);
  return words.end() - found > 1 ? found[1] : std::string();
}

bool is_agent_of(const std::vector<std::string>& words, const std::string& job) {
  return !words.empty() && words[0].ends_with("unisono-agent") && value_behind(words, "--job") == job;
}

}  // namespace

void for_each_own_process(const std::function<void(int process, const std::string& folder)>& body) {
  for_each_number_in("/proc", [&](int process) {
    const std::string folder = "/proc/" + std::to_string(process);
    struct stat status {};
    if (stat(folder.c_str(), &status) == 0 && status.st_uid == geteuid()) body(process, folder);
  });
}

WatchedProcess::WatchedProcess(int process)
    : number_(process), descriptor_(static_cast<int>(syscall(SYS_pidfd_open, process, 0))) {}

WatchedProcess::WatchedProcess(WatchedProcess&& other) noexcept
    : number_(other.number_), descriptor_(std::exchange(other.descriptor_, -1)) {}

WatchedProcess& WatchedProcess::operator=(WatchedProcess&& other) noexcept {
  std::swap(number_, other.number_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

WatchedProcess::~WatchedProcess() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool WatchedProcess::has_ended_within(int milliseconds) const {
  pollfd watched{.fd = descriptor_, .events = POLLIN, .revents = 0};
  return poll(&watched, 1, milliseconds) > 0;
}

void WatchedProcess::kill() const {
  syscall(SYS_pidfd_send_signal, descriptor_, SIGKILL, nullptr, 0);
}

// Its words are read behind its descriptor: they are of the process that this one stands for.
std::vector<AgentProcess> agents_of(const std::string& job) {
  std::vector<AgentProcess> found;
  for_each_own_process([&](int process, const std::string& folder) {
    if (!is_agent_of(words_of(folder), job)) return;
    WatchedProcess watched(process);
    const std::vector<std::string> words = words_of(folder);
    if (!watched.is_known() || !is_agent_of(words, job)) return;
    found.push_back({std::move(watched), std::atoi(value_behind(words, "--again").c_str())});
  });
  return found;
}

std::vector<std::string> files_of_mpich(int process) {
  constexpr std::string_view beginning = "/dev/shm/mpich_shm_", removed = " (deleted)";
  std::vector<std::string> found;
  std::ifstream maps("/proc/" + std::to_string(process) + "/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t at = line.find(beginning);
    if (at == std::string::npos || line.ends_with(removed)) continue;
    line.erase(0, at);
    if (std::ranges::find(found, line) == found.end()) found.push_back(std::move(line));
  }
  return found;
}

void end_agents_before(const std::string& job, int again) {
  for (const AgentProcess& agent : agents_of(job)) {
    if (agent.again >= again || agent.process.number() == getpid()) continue;
    agent.process.kill();
    agent.process.has_ended_within(longest_end_ms);
  }
}

}  // namespace unisono::agents
