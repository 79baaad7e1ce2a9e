// SPDX-License-Identifier: BSD-3-Clause
#include "agents/left_memory.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string_view>

namespace unisono::agents {
namespace {

constexpr int longest_end_ms = 2000;

void for_each_number_in(const std::string& folder, const std::function<void(int)>& body) {
  DIR* opened = opendir(folder.c_str());
  if (opened == nullptr) return;
  while (const dirent* entry = readdir(opened)) {
    char* end = nullptr;
    const long number = std::strtol(entry->d_name, &end, 10);
    if (end != entry->d_name && *end == '\0') body(static_cast<int>(number));
  }
  closedir(opened);
}

void for_each_own_process(const std::function<void(int process, const std::string& folder)>& body) {
  for_each_number_in("/proc", [&](int process) {
    const std::string folder = "/proc/" + std::to_string(process);
    struct stat status {};
    if (stat(folder.c_str(), &status) == 0 && status.st_uid == geteuid()) body(process, folder);
  });
}

// Who holds memory of this name, and where one finds it.
struct Held {
  std::string path;  // of a descriptor; empty: nobody does
  std::vector<int> holders;
};

Held held_memory(const std::string& name) {
  Held found;
  for_each_own_process([&](int process, const std::string& folder) {
    for_each_number_in(folder + "/fd", [&](int descriptor) {
      const std::string path = folder + "/fd/" + std::to_string(descriptor);
      char target[PATH_MAX];
      const ssize_t length = readlink(path.c_str(), target, sizeof target);
      std::string_view shown(target, length > 0 ? static_cast<std::size_t>(length) : 0);
      // Behind the name the kernel says that there is no file of this name.
      constexpr std::string_view nowhere = " (deleted)";
      if (shown.ends_with(nowhere)) shown.remove_suffix(nowhere.size());
      if (shown != "/memfd:" + name) return;
      found.path = path;
      if (found.holders.empty() || found.holders.back() != process) found.holders.push_back(process);
    });
  });
  return found;
}

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

bool is_agent_before(const std::vector<std::string>& words, const std::string& job, int again) {
  if (words.empty() || !words[0].ends_with("unisono-agent") || value_behind(words, "--job") != job)
    return false;
  return std::atoi(value_behind(words, "--again").c_str()) < again;
}

}  // namespace

void end_agents_before(const std::string& job, int again) {
  for_each_own_process([&](int process, const std::string& folder) {
    // Not one that gets the number of one that ends meanwhile.
    const int descriptor = static_cast<int>(syscall(SYS_pidfd_open, process, 0));
    if (descriptor < 0) return;
    if (process != getpid() && is_agent_before(words_of(folder), job, again)) {
      syscall(SYS_pidfd_send_signal, descriptor, SIGKILL, nullptr, 0);
      pollfd watched{.fd = descriptor, .events = POLLIN, .revents = 0};
      poll(&watched, 1, longest_end_ms);
    }
    close(descriptor);
  });
}

LeftMemory find_left_memory(const std::string& job, int place) {
  const Held held = held_memory(AgentSegment::name(job, place));
  LeftMemory left;
  const int descriptor = held.path.empty() ? -1 : open(held.path.c_str(), O_RDWR | O_CLOEXEC);
  std::string why;
  if (descriptor >= 0) left.segment = AgentSegment::open(descriptor, &why);
  left.is_left = left.segment != nullptr;
  if (left.is_left) left.holders = held.holders;
  std::erase(left.holders, getpid());
  return left;
}

}  // namespace unisono::agents
