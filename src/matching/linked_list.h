// SPDX-License-Identifier: BSD-3-Clause
// M1, section 2.2.5, figure 2.5: entries one behind the other, in the order in which they came.
#pragma once

#include <new>

#include "matching/cell_pool.h"
#include "matching/element.h"

namespace unisono::matching {

class LinkedList {
 public:
  struct Node {
    std::uint64_t key;
    std::uint64_t mask;
    Node* next;
    Item item;
    std::uint64_t sequence;
    std::uint32_t context;
  };
  // Of all lists of one queue.
  struct Memory {
    explicit Memory(ListSettings) {}
    Pool nodes{sizeof(Node)};
    std::size_t bytes() const { return nodes.bytes(); }
  };
  // Where an element stands, as long as nothing changes.
  struct Place {
    Node* node = nullptr;
    Node* before = nullptr;  // null: it is the first one
    explicit operator bool() const { return node != nullptr; }
    std::uint64_t sequence() const { return node->sequence; }
    Item item() const { return node->item; }
  };

  explicit LinkedList(Memory* memory) : memory_(memory) {}

  void append(const Element& element) {
    auto* node = new (memory_->nodes.make())
        Node{element.key, mask_of(element.key), nullptr, element.item, element.sequence, element.context};
    (last_ == nullptr ? first_ : last_->next) = node;
    last_ = node;
    ++length_;
  }

  // The first element that fits; adds to `looked_at` how many elements were looked at.
  Place find(const Pattern& pattern, std::uint64_t* looked_at) const {
    std::uint64_t count = 0;
    Place place;
    for (Node* node = first_; node != nullptr; place.before = node, node = node->next) {
      ++count;
      if (((node->key ^ pattern.key) & node->mask & pattern.mask) != 0 || node->context != pattern.context)
        continue;
      place.node = node;
      break;
    }
    *looked_at += count;
    return place;
  }

  Place find_item(Item item) const {
    Place place;
    for (Node* node = first_; node != nullptr; place.before = node, node = node->next) {
      if (node->item != item) continue;
      place.node = node;
      break;
    }
    return place;
  }

  Item erase(const Place& place) {
    const Item item = place.node->item;
    (place.before == nullptr ? first_ : place.before->next) = place.node->next;
    if (place.node == last_) last_ = place.before;
    --length_;
    memory_->nodes.free(place.node);
    return item;
  }

  std::size_t length() const { return length_; }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const Node* node = first_; node != nullptr; node = node->next)
      visit(Element{node->key, node->item, node->sequence, node->context});
  }

 private:
  Memory* memory_;
  Node* first_ = nullptr;
  Node* last_ = nullptr;
  std::size_t length_ = 0;
};

}  // namespace unisono::matching
