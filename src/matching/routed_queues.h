// SPDX-License-Identifier: BSD-3-Clause
// A pair of queues that are several lists each. A router says which lists can have what a source sends, and
// where a new entry goes. Receives from any source stand in lists of their own (PRQ_ANY), and numbers tell
// which of two entries is older (chapter 3, section 3.3).
//
// A router is made for each queue. It has:
// - route(envelope, visit): visits the lists that can have entries of one source, oldest entries first, until
//   `visit` returns true.
// - every(envelope, visit): visits all lists that can have entries of the envelope's context and operation.
// - target(envelope): the list for a new entry. It is the last one that route() visits.
// - any(envelope): which of the lists of receives from any source.
// - searched(envelope, n): a search has looked at so many elements.
// - appended(number, list): a list has one element more.
// - lists(), any_lists(): how many there are by now.
// - bytes().
#pragma once

#include <utility>
#include <vector>

#include "matching/element.h"
#include "matching/queues.h"

namespace unisono::matching {

template <class List, class Router>
class RoutedQueues final : public Queues {
 public:
  RoutedQueues(ListSettings settings, Router of_receives, Router of_messages)
      : receives_(settings, std::move(of_receives)), messages_(settings, std::move(of_messages)) {}

  Item post(const Envelope& receive, Item item) override {
    if (const Item message = take(receive)) return message;
    receives_.append(receive, element_of(receive, item, sequence_++));
    posted_.added();
    return nullptr;
  }

  Item arrive(const Envelope& message, Item item) override {
    if (const Found found = receives_.find(message, &posted_)) {
      posted_.removed();
      return receives_.erase(found);
    }
    messages_.append(message, element_of(message, item, sequence_++));
    unexpected_.added();
    return nullptr;
  }

  Item probe(const Envelope& receive) override {
    const Found found = messages_.find(receive, &unexpected_);
    return found ? found.place.item() : nullptr;
  }

  Item take(const Envelope& receive) override {
    const Found found = messages_.find(receive, &unexpected_);
    if (!found) return nullptr;
    unexpected_.removed();
    return messages_.erase(found);
  }

  bool cancel(const Envelope& receive, Item item) override {
    const Found found = receives_.find_item(receive, item);
    if (!found) return false;
    receives_.erase(found);
    posted_.removed();
    return true;
  }

  std::size_t memory_bytes() const override { return sizeof(*this) + receives_.bytes() + messages_.bytes(); }

 private:
  struct Found {
    std::vector<List>* lists = nullptr;
    std::uint32_t number = 0;
    typename List::Place place;
    explicit operator bool() const { return lists != nullptr; }
  };

  class Side {
   public:
    Side(ListSettings settings, Router router) : memory_(settings), router_(std::move(router)) { grow(); }

    void append(const Envelope& envelope, const Element& element) {
      if (envelope.source == any_source) {
        any_[any_list_of(envelope)].append(element);
        ++in_any_;
        return;
      }
      const std::uint32_t number = router_.target(envelope);
      grow();
      lists_[number].append(element);
      router_.appended(number, lists_[number]);
      grow();
    }

    Found find(const Envelope& envelope, QueueCounters* counters) {
      std::uint64_t looked_at = 0;
      Found found;
      if (counters->depth != 0) look_for(envelope, &found, &looked_at);
      counters->searched(looked_at);
      router_.searched(envelope, looked_at);
      grow();
      return found;
    }

    Found find_item(const Envelope& receive, Item item) {
      Found found;
      const auto look = [&](std::vector<List>* lists, std::uint32_t number) {
        if (const auto place = (*lists)[number].find_item(item)) found = {lists, number, place};
        return static_cast<bool>(found);
      };
      if (receive.source != any_source)
        router_.route(receive, [&](std::uint32_t number) { return look(&lists_, number); });
      else if (in_any_ != 0)
        look(&any_, any_list_of(receive));
      return found;
    }

    Item erase(const Found& found) {
      if (found.lists == &any_) --in_any_;
      return (*found.lists)[found.number].erase(found.place);
    }

    std::size_t bytes() const {
      return memory_.bytes() + router_.bytes() + (lists_.capacity() + any_.capacity()) * sizeof(List);
    }

   private:
    void look_for(const Envelope& envelope, Found* found, std::uint64_t* looked_at) {
      const Pattern pattern = pattern_of(envelope);
      const auto look = [&](std::vector<List>* lists, std::uint32_t number) {
        const auto place = (*lists)[number].find(pattern, looked_at);
        if (place && (!*found || place.sequence() < found->place.sequence())) *found = {lists, number, place};
        return static_cast<bool>(*found);
      };
      if (envelope.source == any_source) {
        router_.every(envelope, [&](std::uint32_t number) { look(&lists_, number); });
      } else {
        router_.route(envelope, [&](std::uint32_t number) { return look(&lists_, number); });
        if (in_any_ != 0) look(&any_, any_list_of(envelope));
      }
    }
    std::uint32_t any_list_of(const Envelope& envelope) {
      const std::uint32_t number = router_.any(envelope);
      grow();
      return number;
    }
    // Lists that the router has made.
    void grow() {
      if (router_.lists() != lists_count_ || router_.any_lists() != any_count_) add_lists();
    }
    void add_lists() {
      lists_count_ = router_.lists();
      any_count_ = router_.any_lists();
      while (lists_.size() < lists_count_) lists_.emplace_back(&memory_);
      while (any_.size() < any_count_) any_.emplace_back(&memory_);
    }

    typename List::Memory memory_;
    Router router_;
    std::vector<List> lists_;
    std::vector<List> any_;
    std::uint32_t lists_count_ = 0;
    std::uint32_t any_count_ = 0;
    std::uint64_t in_any_ = 0;  // receives from any source
  };

  Side receives_;
  Side messages_;
  std::uint64_t sequence_ = 0;
};

}  // namespace unisono::matching
