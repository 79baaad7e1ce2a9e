// SPDX-License-Identifier: BSD-3-Clause
#include "agents/left_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <climits>
#include <string_view>
#include <vector>

#include "agents/agent_processes.h"
#include "agents/numbers_in_folder.h"

namespace unisono::agents {
namespace {

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

}  // namespace

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
