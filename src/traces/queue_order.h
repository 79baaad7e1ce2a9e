// SPDX-License-Identifier: BSD-3-Clause
// In what order a rank's queues have seen receives and messages. A trace from outside of the MPI tells when
// messages were sent and when they were there, not when the MPI has looked at them. So there are two orders,
// between which the truth lies.
#pragma once

#include <cstdint>
#include <vector>

#include "matching/envelope.h"
#include "traces/trace.h"

namespace unisono::traces {

enum class Rule : std::uint8_t {
  until_match,  // low: the MPI takes in messages only until it has what a receive waits for
  all_sent      // high: it takes in whatever has been sent
};

struct QueueEvent {
  What what = What::post;  // post, arrive, cancel or probe
  std::uint32_t item = 0;  // of receives and of messages, each counted from 0
  matching::Envelope envelope;
};

// What the MPI has said of the queues, and how long they are here at that moment.
struct Agreement {
  std::uint64_t said_messages = 0, said_receives = 0;
  std::uint64_t messages = 0, receives = 0;
};

struct RankOrder {
  std::vector<QueueEvent> events;
  std::uint32_t receives = 0, messages = 0;
  std::uint64_t as_recorded = 0;      // receives that got here the message that they got in the run
  std::uint64_t otherwise = 0;        // or another one
  std::uint64_t unmatched = 0;        // or none: what was sent is not in the trace
  std::vector<Agreement> agreements;  // one for each sample
};

// The messages to each rank by the time when they were sent; only up to the moment when the first rank's
// memory was full.
class Incoming {
 public:
  explicit Incoming(const Trace& trace);
  struct Message {
    std::uint64_t time_ns;
    matching::Envelope envelope;
  };
  const std::vector<Message>& to(int rank) const { return to_[static_cast<std::size_t>(rank)]; }
  std::uint64_t end_ns() const { return end_ns_; }

 private:
  std::vector<std::vector<Message>> to_;
  std::uint64_t end_ns_ = UINT64_MAX;
};

// Of an exact trace both orders are the one that it has.
RankOrder order_of(const Trace& trace, int rank, const Incoming& incoming, Rule rule);

}  // namespace unisono::traces
