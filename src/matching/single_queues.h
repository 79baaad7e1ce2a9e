// SPDX-License-Identifier: BSD-3-Clause
// A pair of queues that are one list each.
#pragma once

#include <utility>

#include "matching/element.h"
#include "matching/queues.h"

namespace unisono::matching {

template <class List>
class SingleQueues final : public Queues {
 public:
  explicit SingleQueues(ListSettings settings) : of_receives_(settings), of_messages_(settings) {}

  Item post(const Envelope& receive, Item item) override {
    if (const Item message = take(receive)) return message;
    receives_.append(element_of(receive, item, sequence_++));
    posted_.added();
    return nullptr;
  }

  Item arrive(const Envelope& message, Item item) override {
    if (const auto place = search(receives_, message, &posted_)) {
      posted_.removed();
      return receives_.erase(place);
    }
    messages_.append(element_of(message, item, sequence_++));
    unexpected_.added();
    return nullptr;
  }

  Item probe(const Envelope& receive) override {
    const auto place = search(messages_, receive, &unexpected_);
    return place ? place.item() : nullptr;
  }

  Item take(const Envelope& receive) override {
    const auto place = search(messages_, receive, &unexpected_);
    if (!place) return nullptr;
    unexpected_.removed();
    return messages_.erase(place);
  }

  bool cancel(const Envelope&, Item item) override {
    const auto place = receives_.find_item(item);
    if (!place) return false;
    receives_.erase(place);
    posted_.removed();
    return true;
  }

  std::size_t memory_bytes() const override {
    return sizeof(*this) + of_receives_.bytes() + of_messages_.bytes();
  }

 private:
  static typename List::Place search(const List& list, const Envelope& envelope, QueueCounters* counters) {
    std::uint64_t looked_at = 0;
    const auto place = list.find(pattern_of(envelope), &looked_at);
    counters->searched(looked_at);
    return place;
  }

  typename List::Memory of_receives_;
  typename List::Memory of_messages_;
  List receives_{&of_receives_};
  List messages_{&of_messages_};
  std::uint64_t sequence_ = 0;
};

}  // namespace unisono::matching
