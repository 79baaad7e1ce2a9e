// SPDX-License-Identifier: BSD-3-Clause
// What the system lets this process and its neighbours have of memory, as far as a pool of shared memory
// must leave room for the program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace unisono::shm {

inline constexpr std::uint64_t no_limit = UINT64_MAX;

// Bytes of address space that this process may still map (ulimit -v; batch systems set it).
std::uint64_t free_address_space();

// Bytes of memory that this process's cgroup may take together; shared memory counts when it is touched.
// `root`: where /proc and /sys are, for tests.
std::uint64_t cgroup_memory(const std::string& root = "");

enum class PoolLimit : std::uint32_t { none, address_space, cgroup };
// What a limit leaves to the pool, and which.
struct PoolShare {
  std::uint64_t bytes = no_limit;
  PoolLimit limit = PoolLimit::none;
};
PoolShare pool_share();

constexpr std::string_view describe(PoolLimit limit) {
  switch (limit) {
    case PoolLimit::none:
      break;
    case PoolLimit::address_space:
      return "the limit on address space (ulimit -v)";
    case PoolLimit::cgroup:
      return "the memory limit of the cgroup";
  }
  return "";
}

}  // namespace unisono::shm
