// SPDX-License-Identifier: BSD-3-Clause
// What a process may use of its machine's cores.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace unisono::shm {

// One bit for each core, up to 4096 of them.
using CoreMask = std::array<std::uint64_t, 64>;
CoreMask own_affinity();
int count(const CoreMask& mask);

// The tightest CPU quota on the way from this process's cgroup to the root, in thousandths of a core, 0 where
// there is none; and which cgroup sets it: processes of one cgroup share its quota.
struct CpuQuota {
  std::uint32_t millicores = 0;
  std::uint64_t group = 0;
};
// cgroup v1 and v2. `root` stands before every path that is read (tests give a tree of their own).
CpuQuota cpu_quota(const std::string& root = "");

}  // namespace unisono::shm
