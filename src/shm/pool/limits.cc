// SPDX-License-Identifier: BSD-3-Clause
#include "shm/pool/limits.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace unisono::shm {
namespace {

// Of what is free the pool takes no more than this part: the rest is the program's.
constexpr std::uint64_t parts = 8;

std::uint64_t pages_in_use() {
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages;
}

// The least limit on the way from the process's group up to the root.
std::uint64_t least_above(const std::string& mount_point, std::string path, const char* file) {
  if (path.find("..") != std::string::npos) path.clear();
  std::uint64_t least = no_limit;
  while (true) {
    std::uint64_t bytes = 0;
    // "max" is no number, and version 1 says that there is none by a huge one.
    if (std::ifstream(mount_point + path + "/" + file) >> bytes && bytes < (std::uint64_t{1} << 60))
      least = std::min(least, bytes);
    const std::size_t slash = path.rfind('/');
    if (slash == std::string::npos) return least;
    path.resize(slash);
  }
}

}  // namespace

std::uint64_t free_address_space() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return no_limit;
  const std::uint64_t used = pages_in_use() * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return limit.rlim_cur > used ? limit.rlim_cur - used : 0;
}

std::uint64_t cgroup_memory(const std::string& root) {
  std::uint64_t least = no_limit;
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      least = std::min(least, least_above(root + "/sys/fs/cgroup", path, "memory.max"));
    } else if (controllers == "memory") {
      least = std::min(least, least_above(root + "/sys/fs/cgroup/memory", path, "memory.limit_in_bytes"));
    }
  }
  return least;
}

PoolShare pool_share() {
  PoolShare share;
  const auto consider = [&share](std::uint64_t bytes, PoolLimit limit) {
    if (bytes != no_limit && bytes / parts < share.bytes) share = {bytes / parts, limit};
  };
  consider(free_address_space(), PoolLimit::address_space);
  consider(cgroup_memory(), PoolLimit::cgroup);
  return share;
}

}  // namespace unisono::shm
