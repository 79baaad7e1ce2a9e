// SPDX-License-Identifier: BSD-3-Clause
// Ranks that may die, or have died.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "runtime/job.h"

namespace unisono::runtime {

// Where ranks may die and the others go on, what Unisono would wait for them to say never comes, and what the
// program is to hear of it is the MPI's to say. One rank's word holds for all.
bool Job::steps_aside() {
  std::uint64_t is_tolerant = host_.is_fault_tolerant() ? 1 : 0;
  const int error = host_.agree(&is_tolerant, 1, host::AgreeOp::bor, world_);
  if (error == host::success && is_tolerant == 0) return false;
  is_enabled_ = false;
  is_finished_ = true;
  host_.comm_free(&world_);
  if (world_rank_ == 0)
    log::warning("the MPI's fault tolerance is switched on: the program runs without Unisono");
  return true;
}

void Job::watch_peers(Communicator& c) {
  const shm::Members* members = pool_->members();
  if (members == nullptr || !options_.use_shared_memory) return;
  const std::vector<int>& labels = pool_->node_labels();
  const int own_label = labels[static_cast<std::size_t>(world_rank_)];
  std::vector<int> ranks;
  for (const int rank : c.rank_in_world) {
    if (labels[static_cast<std::size_t>(rank)] == own_label && rank != world_rank_) ranks.push_back(rank);
  }
  c.peers = std::make_unique<Peers>(*members, std::move(ranks));
  c.wait.peers = c.peers->watch();
}

int Job::end_with_lost_peer(host::Comm handle, const PeerLost& lost) {
  has_lost_peer_ = true;
  log::error("rank " + std::to_string(lost.rank) + " of MPI_COMM_WORLD (process " +
             std::to_string(lost.process_id) + " of this host) has died; rank " +
             std::to_string(world_rank_) + " waited for it in a collective");
  if (Communicator* c = find_set_up(handle)) c->native_reason = NativeReason::peer_lost;
  return host_.call_error_handler(handle, host_.rank_has_died());
}

}  // namespace unisono::runtime
