// SPDX-License-Identifier: BSD-3-Clause
// The ranks of a communicator that share this rank's node: do they live? Long waits in shared memory look, so
// that they end where they would wait for a rank that has died.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "shm/pool/members.h"
#include "shm/slice/wait.h"

namespace unisono::runtime {

// Thrown out of a wait.
struct PeerLost {
  int rank = 0;  // in the world
  int process_id = 0;
};

class Peers {
 public:
  // `ranks`: in the world, this one among them or not. `members` outlives this.
  Peers(const shm::Members& members, std::vector<int> ranks) : members_(members), ranks_(std::move(ranks)) {}

  // What waits call when they have lasted long; throws PeerLost.
  shm::PeerWatch watch() {
    return {[](void* peers) { static_cast<Peers*>(peers)->look(); }, this};
  }
  // Of calls that do not block: looks now and then, if it is called again and again. Has a peer died?
  bool are_lost_by_now();

 private:
  void look();
  bool find_lost(PeerLost* lost) const;

  const shm::Members& members_;
  std::vector<int> ranks_;
  std::atomic<bool> is_lost_{false};
  std::uint32_t asked_ = 0;
  std::uint64_t next_look_ns_ = 0;
};

}  // namespace unisono::runtime
