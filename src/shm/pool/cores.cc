// SPDX-License-Identifier: BSD-3-Clause
#include "shm/pool/cores.h"

#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <fstream>
#include <map>
#include <sstream>
#include <string_view>
#include <thread>
#include <vector>

namespace unisono::shm {
namespace {

// Is `word` one of a comma-separated list?
bool has_word(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::size_t comma = std::min(list.find(','), list.size());
    if (list.substr(0, comma) == word) return true;
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return false;
}

// A cgroup hierarchy that may set CPU quotas: where it is mounted, and this process's directory in it.
struct Hierarchy {
  bool is_version_2 = false;
  std::string mount_point;
  std::string directory;  // below mount_point, "" for mount_point itself
};

// Lines "number:controllers:path"; version 2 has number 0 and no controllers.
std::string own_path(const std::string& root, bool is_version_2) {
  std::ifstream file(root + "/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (is_version_2 ? line.substr(0, first) == "0" && controllers.empty() : has_word(controllers, "cpu")) {
      return line.substr(second + 1);
    }
  }
  return "";
}

std::vector<Hierarchy> hierarchies(const std::string& root) {
  std::vector<Hierarchy> found;
  std::ifstream file(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    // "id parent device root mount-point options [tags] - type source super-options"
    std::istringstream words(line);
    std::string id, parent, device, shown, mount_point, word, type, source, options;
    words >> id >> parent >> device >> shown >> mount_point;
    while (words >> word && word != "-") {
    }
    words >> type >> source >> options;
    const bool is_version_2 = type == "cgroup2";
    if (!is_version_2 && !(type == "cgroup" && has_word(options, "cpu"))) continue;
    std::string path = own_path(root, is_version_2);
    // The mount may show a part of the hierarchy only; what lies outside of it cannot be read.
    if (shown != "/") path = path.starts_with(shown) ? path.substr(shown.size()) : "";
    if (path == "/" || path.find("..") != std::string::npos) path.clear();
    found.push_back({is_version_2, root + mount_point, path});
  }
  return found;
}

// Thousandths of a core that one cgroup grants; 0: no limit.
std::uint32_t quota_of(const std::string& directory, bool is_version_2) {
  std::string quota;
  double period = 0;
  if (is_version_2) {
    std::ifstream(directory + "/cpu.max") >> quota >> period;
  } else {
    std::ifstream(directory + "/cpu.cfs_quota_us") >> quota;
    std::ifstream(directory + "/cpu.cfs_period_us") >> period;
  }
  const double microseconds = std::strtod(quota.c_str(), nullptr);  // "max" and "-1" mean none
  if (microseconds <= 0 || period <= 0) return 0;
  return static_cast<std::uint32_t>(std::clamp(1000 * microseconds / period, 1.0, 1e9));
}

// Are paths of control groups those of the machine? A container may have a namespace of its own, whose root
// is some group of the machine's.
bool sees_all_groups(const std::string& root) {
  constexpr std::string_view first_namespace = "cgroup:[4026531835]";  // the kernel's PROC_CGROUP_INIT_INO
  std::array<char, 64> name{};
  const ssize_t length = readlink((root + "/proc/self/ns/cgroup").c_str(), name.data(), name.size());
  return length < 0 || std::string_view(name.data(), static_cast<std::size_t>(length)) == first_namespace;
}

// Does a control group say when this process runs? Where that cannot be seen one does: most containers are in
// one.
bool is_in_cpu_group(const std::string& root) {
  if (!sees_all_groups(root)) return true;
  const std::string of_version_1 = own_path(root, false);
  if (!of_version_1.empty()) return of_version_1 != "/";
  const std::string of_version_2 = own_path(root, true);
  if (of_version_2.empty() || of_version_2 == "/") return false;
  std::ifstream divided(root + "/sys/fs/cgroup/cgroup.subtree_control");
  for (std::string word; divided >> word;) {
    if (word == "cpu") return true;
  }
  return false;
}

}  // namespace

CoreMask own_affinity() {
  CoreMask mask{};
  std::array<char, sizeof(CoreMask)> bytes{};
  if (sched_getaffinity(0, sizeof bytes, reinterpret_cast<cpu_set_t*>(bytes.data())) == 0) {
    std::memcpy(mask.data(), bytes.data(), sizeof bytes);
    return mask;
  }
  const unsigned cores = std::clamp(std::thread::hardware_concurrency(), 1U, 4096U);
  for (unsigned core = 0; core < cores; ++core) mask[core / 64] |= std::uint64_t{1} << core % 64;
  return mask;
}

int count(const CoreMask& mask) {
  int cores = 0;
  for (const std::uint64_t word : mask) cores += std::popcount(word);
  return cores;
}

CpuQuota cpu_quota(const std::string& root) {
  CpuQuota tightest;
  for (const Hierarchy& hierarchy : hierarchies(root)) {
    for (std::string below = hierarchy.directory;; below.resize(below.rfind('/'))) {
      const std::string directory = hierarchy.mount_point + below;
      const std::uint32_t millicores = quota_of(directory, hierarchy.is_version_2);
      struct stat status {};
      if (millicores != 0 && (tightest.millicores == 0 || millicores <= tightest.millicores) &&
          stat(directory.c_str(), &status) == 0) {
        tightest = {.millicores = millicores,
                    .group = static_cast<std::uint64_t>(status.st_dev) << 40 ^ status.st_ino};
      }
      if (below.empty()) break;
    }
  }
  return tightest;
}

std::uint64_t session_group(const std::string& root) {
  int is_on = 0;
  std::ifstream(root + "/proc/sys/kernel/sched_autogroup_enabled") >> is_on;
  if (is_on != 1 || is_in_cpu_group(root)) return 0;
  std::string name;  // "/autogroup-1234 nice 0"
  std::ifstream(root + "/proc/self/autogroup") >> name;
  const std::size_t digits = name.find_first_of("0123456789");
  return digits == std::string::npos ? 0 : std::strtoull(name.c_str() + digits, nullptr, 10);
}

std::vector<CoreShare> core_shares(const std::vector<NodeCores>& of_rank,
                                   const std::vector<int>& node_labels) {
  struct Set {
    std::int64_t ranks = 0, cores = 0;
    std::uint64_t group = 0;  // of its first rank
    bool has_groups = false;
    std::map<int, std::int64_t> ranks_on_node;
  };
  std::map<std::uint64_t, Set> sets;
  for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
    const NodeCores& node = of_rank[rank];
    Set& set = sets[node.set];
    if (++set.ranks == 1) set.group = node.group;
    set.has_groups = set.has_groups || node.group != set.group;
    if (++set.ranks_on_node[node_labels[rank]] == 1)
      set.cores = std::min<std::int64_t>(set.cores + node.usable, node.in_set);
  }
  std::vector<CoreShare> shares;
  for (std::size_t rank = 0; rank < of_rank.size(); ++rank) {
    const Set& set = sets[of_rank[rank].set];
    const std::int64_t share = set.cores * set.ranks_on_node.at(node_labels[rank]) / set.ranks;
    shares.push_back({.cores = static_cast<int>(std::max<std::int64_t>(share, 1)),
                      .is_crowded = set.ranks > set.cores,
                      .of_all = static_cast<int>(std::max<std::int64_t>(set.cores, 1)),
                      .nodes = static_cast<int>(std::ssize(set.ranks_on_node)),
                      .has_groups = set.has_groups});
  }
  return shares;
}

}  // namespace unisono::shm
