// SPDX-License-Identifier: BSD-3-Clause
// What ranks of different nodes send each other for Unisono: items as they go by rings inside a node, by
// messages of the host on a communicator of Unisono's own. M10.
//
// Items have one tag, and receives for any source are always posted, so that the host never searches. They
// are looked at in the order in which they were posted: so those of one rank stay in order. Data that is too
// long to go with its item has a message of its own (host_moves.h), which starts at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "host/host.h"
#include "runtime/messages/message.h"
#include "shm/pairs/ring.h"

namespace unisono::runtime {

class HostLink {
 public:
  // Data up to here goes with its item.
  static constexpr std::size_t most_bytes = 4096;

  // `comm` has the ranks of the world in their order, and outlives it.
  HostLink(host::Host& host, host::Comm comm);
  ~HostLink();
  HostLink(const HostLink&) = delete;
  HostLink& operator=(const HostLink&) = delete;

  // May an item be written now?
  bool has_room() const { return sending_.size() < most_sending; }
  void write(int rank, const shm::RingItem& item, const void* data, std::size_t bytes);
  // Calls `take(rank, item, data)` for each item that has come, as long as it returns true. True where
  // something has moved.
  template <class Take>
  bool poll(Take take) {
    bool has_moved = sweep_sent();
    while (const Came* came = first_that_came()) {
      has_moved = true;
      const Came item = *came;
      const bool goes_on = item.is_own || take(item.from, item.item, came + 1);
      post_again();
      if (!goes_on) break;
    }
    return has_moved;
  }
  // Has all left that was written?
  bool is_idle() const { return sending_.empty(); }
  // Nothing comes any more: gives the host its receives back. Before the host ends.
  void end();

 private:
  static constexpr std::size_t most_sending = 256, receives = 32;

  // In front of an item's data.
  struct alignas(16) Came {
    shm::RingItem item;
    std::int32_t from;
    std::int32_t is_own;  // a rank's own last ones, which end its receives
    std::uint64_t bytes;
  };
  struct Sending {
    std::unique_ptr<std::byte[]> message;
    host::Request request;
  };
  void start(int rank, const Came& head, const void* data);
  bool sweep_sent();
  const Came* first_that_came();
  void post_again();
  void post(std::size_t number);

  host::Host& host_;
  host::Comm comm_;
  int rank_ = 0;
  std::deque<Sending> sending_;
  std::unique_ptr<std::byte[]> memory_;  // of the receives
  std::vector<host::Request> receives_;
  std::size_t first_ = 0;  // which one is looked at next
  bool has_ended_ = false;
};

}  // namespace unisono::runtime
