// SPDX-License-Identifier: BSD-3-Clause
// One anonymous shared segment per node and job. Who shares a node is proved by mapping the segment, not by a
// host's name. Nothing is left behind when the job ends, however it ends, since the segment has no name. It
// is a memfd passed through /proc/PID/fd. Where /proc refuses, it is made by shm_open, and unlinked once all
// have opened it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/host.h"
#include "shm/pool/board.h"
#include "shm/pool/cores.h"
#include "shm/pool/identity.h"
#include "shm/pool/members.h"
#include "shm/pool/node_domains.h"

namespace unisono::shm {

struct PoolOptions {
  std::size_t capacity_bytes = std::size_t{1}
                               << 30;  // most that the communicators of a node may take together
  bool use_memfd = true;
  bool use_single_copy = true;
  AsksHardware asks_hardware = AsksHardware::never;
};

class Pool {
 public:
  Pool();
  ~Pool();
  // For all ranks to hear: open() wants everyone's, by rank.
  Identity own_identity() const;
  // Once, collective over `comm` (the private world). Never fails as a whole: a rank that can share memory
  // with nobody is a node of its own, with memory of its own, and why_unavailable() says why.
  void open(host::Host& host, host::Comm comm, std::vector<Identity> of_all, const PoolOptions& options);

  const std::vector<int>& node_labels()
      const;  // rank of comm -> label; equal labels share the pool. The same on all ranks
  const std::vector<std::string>& host_names() const;  // rank -> host name, for reports
  bool is_available() const;                           // this rank's node has a pool
  // What makes the pool smaller than it was to be; empty where nothing does.
  const std::string& limited_by() const;
  // Why this rank shares memory with no other although others are on its machine; empty where all is well.
  const std::string& why_unavailable() const;
  bool has_single_copy() const;             // every rank of this node can read every other's memory (probed)
  bool has_single_copy_everywhere() const;  // so on every node
  const std::vector<int>& process_ids() const;  // rank of comm -> process id (meaningful on the same node)

  // The processes that share this rank's pool, and what they tell each other; null where it shares with
  // nobody.
  Members* members() const;
  Board* board() const;

  // By rank of comm: what its node may use. That is the union of its ranks' affinity masks, limited by the
  // cgroups' quotas (rounded up). It is shared with other nodes that have the same cores of the same machine.
  const std::vector<CoreShare>& cores() const;
  // By rank of comm: the parts of its machine that it is in.
  const std::vector<PartNumbers>& parts() const;
  // Why this rank, which was to ask for those of its node, knows none; empty otherwise.
  const std::string& why_no_parts() const;

  // Takes `bytes` from the node's pool, zero-filled and cache-line aligned: its offset, or -1 where the pool
  // is full. One rank of a group allocates and tells the others, who turn the offset into their own address.
  // The pool is mapped as it is used. `windows`: takes what so many windows of the segment hold, all of which
  // those who use it must have mapped; 0: as many as all ranks of the node have.
  std::int64_t allocate(std::size_t bytes, int windows = 0);
  // Would allocate() find room? Takes nothing.
  bool has_room(std::size_t bytes, int windows = 0);
  // Are there windows that not all ranks of the node have mapped yet? They do as they come by.
  bool may_grow() const;
  // Windows that this rank has mapped; all of them: every_window. `least`: tries to have so many.
  static constexpr int every_window = INT32_MAX;
  int mapped_windows(int least = 0);
  void release(std::int64_t offset);
  void* address(std::int64_t offset) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace unisono::shm
