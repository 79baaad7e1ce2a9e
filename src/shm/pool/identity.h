// SPDX-License-Identifier: BSD-3-Clause
// What each rank tells all others at the beginning: where it is, and what it may have of its machine.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "shm/pool/limits.h"

namespace unisono::shm {

// Equal keys make candidates for one node, no more.
struct Identity {
  std::uint64_t machine = 0;        // boot id
  std::uint64_t pid_namespace = 0;  // equal: /proc/PID is the same process
  std::uint64_t shm_device = 0;     // equal: /dev/shm is the same; 0: none
  std::uint64_t nonce = 0;          // names this rank's segment, and stands at probe_address
  std::uint64_t probe_address = 0;  // for the single-copy probe
  std::uint64_t quota_group = 0;
  std::uint32_t quota_millicores = 0;
  std::int32_t process_id = 0;
  PoolShare pool_share;  // most that a pool may take
  std::array<char, 64> host_name{};
};
Identity own_identity(const std::uint64_t* nonce);
// Of all on the machine of one of them, which may share a node: the least decides.
PoolShare least_share(const std::vector<Identity>& identities, std::size_t rank);
// One number of two.
std::uint64_t mixed(std::uint64_t a, std::uint64_t b);

}  // namespace unisono::shm
