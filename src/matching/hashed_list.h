// SPDX-License-Identifier: BSD-3-Clause
// Entries in lists that are linked in both directions, several at a time: what transports of today have.
#pragma once

#include <cstdint>
#include <new>

#include "matching/cell_pool.h"
#include "matching/element.h"

namespace unisono::matching {

template <int Links>
struct HashedNode {
  std::uint64_t key;
  std::uint64_t mask;
  Item item;
  std::uint64_t sequence;
  std::uint32_t context;
  bool is_linked[Links];
  HashedNode* next[Links];
  HashedNode* before[Links];

  bool fits(const Pattern& pattern) const {
    return ((key ^ pattern.key) & mask & pattern.mask) == 0 && context == pattern.context;
  }
};

// One of the lists, by link `at`.
template <int Links>
struct HashedList {
  using Node = HashedNode<Links>;

  Node* first = nullptr;
  Node* last = nullptr;

  void append(Node* node, int at) {
    node->next[at] = nullptr;
    node->before[at] = last;
    node->is_linked[at] = true;
    (last == nullptr ? first : last->next[at]) = node;
    last = node;
  }
  void erase(Node* node, int at) {
    (node->before[at] == nullptr ? first : node->before[at]->next[at]) = node->next[at];
    (node->next[at] == nullptr ? last : node->next[at]->before[at]) = node->before[at];
    node->is_linked[at] = false;
  }
  // The first node that fits and is older than `limit`.
  Node* find(const Pattern& pattern, int at, std::uint64_t limit, std::uint64_t* looked_at) const {
    for (Node* node = first; node != nullptr && node->sequence < limit; node = node->next[at]) {
      ++*looked_at;
      if (node->fits(pattern)) return node;
    }
    return nullptr;
  }
  Node* find_item(Item item, int at) const {
    Node* node = first;
    while (node != nullptr && node->item != item) node = node->next[at];
    return node;
  }
};

// The nodes of a pair of queues, numbered as they come.
template <int Links>
class HashedNodes {
 public:
  using Node = HashedNode<Links>;

  Node* make(const Envelope& envelope, Item item) {
    const std::uint64_t key = key_of(envelope);
    return new (pool_.make()) Node{key, mask_of(key), item, sequence_++, envelope.context, {}, {}, {}};
  }
  // What the node was of.
  Item free(Node* node) {
    const Item item = node->item;
    pool_.free(node);
    return item;
  }
  std::size_t bytes() const { return pool_.bytes(); }

 private:
  Pool pool_{sizeof(Node)};
  std::uint64_t sequence_ = 0;
};

}  // namespace unisono::matching
