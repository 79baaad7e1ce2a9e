// SPDX-License-Identifier: BSD-3-Clause
// What a process may use of its machine's cores.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace unisono::shm {

// One bit for each core, up to 4096 of them.
using CoreMask = std::array<std::uint64_t, 64>;
CoreMask own_affinity();
int count(const CoreMask& mask);

// The tightest CPU quota on the way from this process's cgroup to the root, in thousandths of a core. 0:
// there is no quota. `group` says which cgroup sets it: processes of one cgroup share its quota.
struct CpuQuota {
  std::uint32_t millicores = 0;
  std::uint64_t group = 0;
};
// cgroup v1 and v2. `root` stands before every path that is read (tests give a tree of their own).
CpuQuota cpu_quota(const std::string& root = "");

// By which group of processes the kernel schedules this one first: by its session, where that is on
// (sched_autogroup_enabled) and no CPU control group stands above it. 0: by none.
std::uint64_t session_group(const std::string& root = "");

// What a rank's node may use: so many of the cores of a set. Nodes of one machine with the same set of cores
// share them, whatever keeps their memory apart: containers, emulated clusters.
struct NodeCores {
  std::uint32_t usable = 1;
  std::uint32_t in_set = 1;
  std::uint64_t set = 0;    // which machine, and which of its cores
  std::uint64_t group = 0;  // session_group() of the rank
};
struct CoreShare {
  int cores = 1;            // of the rank's node, at least 1
  bool is_crowded = false;  // more ranks than cores, all nodes that share them together
  int of_all = 1;           // cores of those nodes together
  int nodes = 1;            // those nodes
  bool has_groups = false;  // their ranks are scheduled in several groups: who yields gives way to its own
};
// For each rank; `node_labels` are equal on one node.
std::vector<CoreShare> core_shares(const std::vector<NodeCores>& of_rank,
                                   const std::vector<int>& node_labels);

}  // namespace unisono::shm
