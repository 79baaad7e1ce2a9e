// SPDX-License-Identifier: BSD-3-Clause
#include "traces/queue_order.h"

#include <algorithm>
#include <memory>
#include <unordered_map>

#include "matching/catalogue.h"
#include "traces/trace_items.h"

namespace unisono::traces {
namespace {

using matching::Envelope;
using matching::Item;

class Builder {
 public:
  Builder(const RankTrace& trace, const std::vector<Incoming::Message>& incoming, int ranks, Rule rule)
      : trace_(trace),
        incoming_(incoming),
        queues_(matching::make_queues(*matching::find("own"), {.ranks = ranks})),
        rule_(rule) {}

  void take(const Event& event) {
    if (rule_ == Rule::all_sent) {
      while (next_ < incoming_.size() && incoming_[next_].time_ns <= event.time_ns) deliver();
    }
    switch (event.what) {
      case What::post:
        return post(event);
      case What::done:
        return finish(event);
      case What::cancel:
        return cancel(event);
      case What::probe:
        return probe(event);
      case What::arrive:
        return arrive(event.envelope);
      case What::sample:
        return compare(event);
      case What::send:
        break;
    }
  }
  RankOrder take_order() { return std::move(order_); }

 private:
  struct Lengths {
    std::uint64_t messages = 0, receives = 0;
  };
  struct Receive {
    std::uint32_t number = 0;
    Envelope asked;
    bool is_matched = false;
    Envelope got;
  };

  void matched(std::uint32_t receive, const Envelope& message) {
    receives_[receive].is_matched = true;
    receives_[receive].got = message;
  }

  void post(const Event& event) {
    const std::uint32_t index = order_.receives++;
    receives_.push_back({event.number, event.envelope});
    by_number_[event.number] = index;
    order_.events.push_back({What::post, index, event.envelope});
    if (const Item item = queues_->post(event.envelope, item_of(index))) {
      matched(index, messages_[index_of(item)]);
      --lengths_[event.envelope.context].messages;
    } else {
      ++lengths_[event.envelope.context].receives;
    }
  }

  void arrive(const Envelope& message) {
    const std::uint32_t index = order_.messages++;
    messages_.push_back(message);
    order_.events.push_back({What::arrive, index, message});
    if (const Item item = queues_->arrive(message, item_of(index))) {
      matched(index_of(item), message);
      --lengths_[message.context].receives;
    } else {
      ++lengths_[message.context].messages;
    }
  }
  void deliver() { arrive(incoming_[next_++].envelope); }

  void finish(const Event& event) {
    const auto found = by_number_.find(event.number);
    if (found == by_number_.end()) return;
    Receive& receive = receives_[found->second];
    // The envelope of what it has got has no context.
    const bool may_come = !trace_.is_exact_in(receive.asked.context);
    while (may_come && !receive.is_matched && next_ < incoming_.size()) deliver();
    if (!receive.is_matched) {
      ++order_.unmatched;
      withdraw(found->second);
    } else if (receive.got.source == event.envelope.source && receive.got.tag == event.envelope.tag) {
      ++order_.as_recorded;
    } else {
      ++order_.otherwise;
    }
    by_number_.erase(found);
  }

  void withdraw(std::uint32_t index) {
    if (!queues_->cancel(receives_[index].asked, item_of(index))) return;
    --lengths_[receives_[index].asked.context].receives;
    order_.events.push_back({What::cancel, index, receives_[index].asked});
  }
  void cancel(const Event& event) {
    const auto found = by_number_.find(event.number);
    if (found == by_number_.end()) return;
    withdraw(found->second);
    by_number_.erase(found);
  }

  // Queues of communicators are apart in the MPI, and counted apart here.
  void compare(const Event& event) {
    Agreement found{.said_messages = event.bytes, .said_receives = event.number};
    for (const auto& [context, lengths] : lengths_) {
      if (event.envelope.context != no_context && context != event.envelope.context) continue;
      found.messages += lengths.messages;
      found.receives += lengths.receives;
    }
    order_.agreements.push_back(found);
  }

  // It has found something.
  void probe(const Event& event) {
    const bool may_come = !trace_.is_exact_in(event.envelope.context);
    while (may_come && queues_->probe(event.envelope) == nullptr && next_ < incoming_.size()) deliver();
    order_.events.push_back({What::probe, 0, event.envelope});
  }

  const RankTrace& trace_;
  const std::vector<Incoming::Message>& incoming_;
  std::unique_ptr<matching::Queues> queues_;
  Rule rule_;
  std::size_t next_ = 0;
  RankOrder order_;
  std::vector<Receive> receives_;
  std::vector<Envelope> messages_;
  std::unordered_map<std::uint32_t, Lengths> lengths_;  // by context
  std::unordered_map<std::uint32_t, std::uint32_t> by_number_;
};

}  // namespace

Incoming::Incoming(const Trace& trace) : to_(static_cast<std::size_t>(trace.ranks)) {
  for (const auto& [rank, of_one] : trace.of_rank) end_ns_ = std::min(end_ns_, of_one.full_ns);
  for (const auto& [rank, of_one] : trace.of_rank) {
    for (const Event& event : of_one.events) {
      if (event.what != What::send || event.time_ns >= end_ns_) continue;
      Envelope envelope = event.envelope;
      const auto receiver = trace.of_rank.find(event.envelope.source);
      if (receiver != trace.of_rank.end() && receiver->second.is_exact_in(envelope.context)) continue;
      envelope.source = rank;
      to_[static_cast<std::size_t>(event.envelope.source)].push_back({event.time_ns, envelope});
    }
  }
  for (auto& messages : to_) std::ranges::stable_sort(messages, {}, &Message::time_ns);
}

RankOrder order_of(const Trace& trace, int rank, const Incoming& incoming, Rule rule) {
  const auto found = trace.of_rank.find(rank);
  if (found == trace.of_rank.end()) return {};
  Builder builder(found->second, incoming.to(rank), trace.ranks, rule);
  for (const Event& event : found->second.events) {
    if (event.time_ns >= incoming.end_ns()) break;
    builder.take(event);
  }
  return builder.take_order();
}

}  // namespace unisono::traces
