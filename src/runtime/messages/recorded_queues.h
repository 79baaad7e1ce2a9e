// SPDX-License-Identifier: BSD-3-Clause
// Queues of a communicator that write down what they see, in the order in which they see it (option
// record_messages where Unisono carries the messages). B8.
#pragma once

#include <memory>

#include "matching/queues.h"
#include "runtime/messages/event_stream.h"

namespace unisono::runtime {

// Items are requests of receives and waiting messages, as an endpoint gives them. `stream` outlives it; it
// is written to while it is on.
class RecordedQueues final : public matching::Queues {
 public:
  RecordedQueues(std::unique_ptr<matching::Queues> queues, EventStream* stream);

  matching::Item post(const matching::Envelope& receive, matching::Item item) override;
  matching::Item arrive(const matching::Envelope& message, matching::Item item) override;
  matching::Item probe(const matching::Envelope& receive) override;
  matching::Item take(const matching::Envelope& receive) override;
  bool cancel(const matching::Envelope& receive, matching::Item item) override;
  std::size_t memory_bytes() const override { return sizeof *this + queues_->memory_bytes(); }

 private:
  void copy_counters();

  std::unique_ptr<matching::Queues> queues_;
  EventStream& stream_;
};

}  // namespace unisono::runtime
