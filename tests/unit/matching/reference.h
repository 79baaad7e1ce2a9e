// SPDX-License-Identifier: BSD-3-Clause
// What MPI says about the order of messages, as plainly as it can be written: two queues, searched from the
// begin. All structures are compared with it.
#pragma once

#include <algorithm>
#include <deque>

#include "matching/envelope.h"

namespace unisono::matching {

class Reference {
 public:
  struct Entry {
    Envelope envelope;
    Item item;
  };

  static bool fits(const Envelope& receive, const Envelope& message) {
    return receive.context == message.context &&
           (receive.source == any_source || receive.source == message.source) &&
           (receive.tag == any_tag || receive.tag == message.tag);
  }

  Item post(const Envelope& receive, Item item) {
    if (const Item message = take(receive)) return message;
    posted_.push_back({receive, item});
    return nullptr;
  }
  Item arrive(const Envelope& message, Item item) {
    const auto found =
        std::ranges::find_if(posted_, [&](const Entry& entry) { return fits(entry.envelope, message); });
    if (found != posted_.end()) return removed(&posted_, found);
    unexpected_.push_back({message, item});
    return nullptr;
  }
  Item probe(const Envelope& receive) {
    const auto found = first_for(receive);
    return found == unexpected_.end() ? nullptr : found->item;
  }
  Item take(const Envelope& receive) {
    const auto found = first_for(receive);
    return found == unexpected_.end() ? nullptr : removed(&unexpected_, found);
  }
  bool cancel(const Envelope&, Item item) {
    const auto found = std::ranges::find(posted_, item, &Entry::item);
    if (found == posted_.end()) return false;
    removed(&posted_, found);
    return true;
  }

  const std::deque<Entry>& posted() const { return posted_; }
  const std::deque<Entry>& unexpected() const { return unexpected_; }

 private:
  using Place = std::deque<Entry>::iterator;

  Place first_for(const Envelope& receive) {
    return std::ranges::find_if(unexpected_,
                                [&](const Entry& entry) { return fits(receive, entry.envelope); });
  }
  static Item removed(std::deque<Entry>* queue, Place place) {
    const Item item = place->item;
    queue->erase(place);
    return item;
  }

  std::deque<Entry> posted_;
  std::deque<Entry> unexpected_;
};

}  // namespace unisono::matching
