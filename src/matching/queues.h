// SPDX-License-Identifier: BSD-3-Clause
// A process's pair of queues: receives that wait for messages, and messages that no receive has asked for.
// Each structure matches in MPI's order. A message goes to the receive that was posted first among those that
// it fits. A receive gets the message that came first among those that fit it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "matching/envelope.h"

namespace unisono::matching {

// Of one queue, since it was made.
struct QueueCounters {
  std::uint64_t searches = 0;
  std::uint64_t traversals = 0;  // elements looked at, with holes that a structure has to pass
  std::uint64_t depth = 0;       // entries now
  std::uint64_t deepest = 0;     // most entries at one time

  void searched(std::uint64_t looked_at) {
    ++searches;
    traversals += looked_at;
  }
  void added() {
    if (++depth > deepest) deepest = depth;
  }
  void removed() { --depth; }
};

// Not for several threads at once: who has some holds a lock.
class Queues {
 public:
  Queues() = default;
  Queues(const Queues&) = delete;
  Queues& operator=(const Queues&) = delete;
  virtual ~Queues() = default;

  // A receive is posted: the message that it gets leaves its queue and is returned. Where there is none the
  // receive waits, and null is returned.
  virtual Item post(const Envelope& receive, Item item) = 0;
  // A message arrives: the receive that it goes to leaves its queue and is returned. Where there is none the
  // message waits, and null is returned.
  virtual Item arrive(const Envelope& message, Item item) = 0;
  // The message that a receive would get, or null. It stays where it is.
  virtual Item probe(const Envelope& receive) = 0;
  // The same, but the message leaves its queue.
  virtual Item take(const Envelope& receive) = 0;
  // Removes a receive, if it still waits. `receive` is what it was posted with.
  virtual bool cancel(const Envelope& receive, Item item) = 0;

  // What the structure has allocated, itself included.
  virtual std::size_t memory_bytes() const = 0;

  const QueueCounters& posted() const { return posted_; }
  const QueueCounters& unexpected() const { return unexpected_; }

 protected:
  QueueCounters posted_;
  QueueCounters unexpected_;
};

}  // namespace unisono::matching
