// SPDX-License-Identifier: BSD-3-Clause
// Which processes share a node's segment, and whether one of them has died. Stands in the segment itself.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace unisono::shm {

// Zero-filled is the initial state.
struct Member {
  std::atomic<std::int32_t> process_id;     // 0: nobody has entered here
  std::atomic<std::int32_t> rank;           // in the private world
  std::atomic<std::uint32_t> has_left;      // it needs no watching any more: it is at its end
  std::atomic<std::uint64_t> namespace_id;  // of its process id
  std::atomic<std::uint64_t> start_time;    // tells it from a later process with the same number
};

class Members {
 public:
  // Each process once, with a number of its own among those of its node.
  void enter(std::uint32_t number, int rank);
  // Of the calling process.
  void leave();
  // Has the process of this rank ended without leaving? Not where that cannot be known: of more processes
  // than there is room for, and of those in another PID namespace.
  bool has_died(int rank) const;
  int process_id(int rank) const;

 private:
  static constexpr std::size_t most = 1024;
  const Member* find(int rank) const;

  std::array<Member, most> members_;
};

}  // namespace unisono::shm
