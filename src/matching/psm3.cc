// SPDX-License-Identifier: BSD-3-Clause
// Today's baseline, after what is known of PSM3's matched queues. Each queue is one list while both are
// short. From 65 entries on there are three tables of 64 lists each: by source and tag, by tag, by source. A
// receive then stands in the table of its wildcards; one with both stays in the list. A message stands in all
// tables and in the list. When all that stood in the tables has left they are not used any more, until a list
// is long again.
#include <array>
#include <vector>

#include "matching/catalogue.h"
#include "matching/hashed_list.h"

namespace unisono::matching {
namespace {

constexpr std::uint32_t buckets = 64;
constexpr std::uint64_t threshold = 65;
constexpr std::uint64_t no_limit = ~0ULL;
constexpr int tables =
    shapes - 1;  // link `shape` is that of the shape's table, the last one that of the list
constexpr int in_list = shapes - 1;

std::uint32_t hashed(std::uint64_t key, int shape, std::uint32_t context) {
  std::uint64_t mixed = ((key | wild_bits[shape]) ^ std::uint64_t{context} << 40) * 0x9E3779B97F4A7C15ULL;
  mixed ^= mixed >> 32;
  return static_cast<std::uint32_t>(mixed % buckets);
}

class Psm3Queues final : public Queues {
 public:
  Item post(const Envelope& receive, Item item) override {
    if (const Item message = take(receive)) return message;
    Node* node = nodes_.make(receive, item);
    const int shape = shape_of(node->key);
    if (has_tables_ && shape != in_list)
      into_table(&receives_, node, shape);
    else
      receives_.list.append(node, in_list);
    posted_.added();
    if (!has_tables_ && posted_.depth >= threshold) begin_tables();
    return nullptr;
  }

  Item arrive(const Envelope& message, Item item) override {
    if (Node* node = receive_for(message)) {
      posted_.removed();
      return removed(&receives_, node);
    }
    Node* node = nodes_.make(message, item);
    messages_.list.append(node, in_list);
    if (has_tables_) into_tables(node);
    unexpected_.added();
    if (!has_tables_ && unexpected_.depth >= threshold) begin_tables();
    return nullptr;
  }

  Item probe(const Envelope& receive) override {
    const Node* node = message_for(receive);
    return node == nullptr ? nullptr : node->item;
  }

  Item take(const Envelope& receive) override {
    Node* node = message_for(receive);
    if (node == nullptr) return nullptr;
    unexpected_.removed();
    return removed(&messages_, node);
  }

  bool cancel(const Envelope& receive, Item item) override {
    const std::uint64_t key = key_of(receive);
    const int shape = shape_of(key);
    Node* node = receives_.list.find_item(item, in_list);
    if (node == nullptr && has_tables_ && shape != in_list)
      node = list_of(&receives_, key, shape, receive.context).find_item(item, shape);
    if (node == nullptr) return false;
    removed(&receives_, node);
    posted_.removed();
    return true;
  }

  std::size_t memory_bytes() const override { return sizeof(*this) + nodes_.bytes(); }

 private:
  using Node = HashedNode<shapes>;
  using List = HashedList<shapes>;
  struct Queue {
    List list;
    std::array<std::array<List, buckets>, tables> hashed;
    std::uint64_t in_tables = 0;  // entries
  };

  static List& list_of(Queue* queue, std::uint64_t key, int shape, std::uint32_t context) {
    return queue->hashed[static_cast<std::size_t>(shape)][hashed(key, shape, context)];
  }
  static void into_table(Queue* queue, Node* node, int shape) {
    list_of(queue, node->key, shape, node->context).append(node, shape);
    ++queue->in_tables;
  }
  void into_tables(Node* message) {
    for (int shape = 0; shape < tables; ++shape)
      list_of(&messages_, message->key, shape, message->context).append(message, shape);
    ++messages_.in_tables;
  }

  void begin_tables() {
    has_tables_ = true;
    for (Node *node = receives_.list.first, *next = nullptr; node != nullptr; node = next) {
      next = node->next[in_list];
      const int shape = shape_of(node->key);
      if (shape == in_list) continue;
      receives_.list.erase(node, in_list);
      into_table(&receives_, node, shape);
    }
    for (Node* node = messages_.list.first; node != nullptr; node = node->next[in_list]) into_tables(node);
  }

  // The oldest of those that stand in the list and in the three tables.
  Node* receive_for(const Envelope& message) {
    const Pattern pattern = pattern_of(message);
    std::uint64_t looked_at = 0;
    Node* oldest = receives_.list.find(pattern, in_list, no_limit, &looked_at);
    for (int shape = 0; has_tables_ && shape < tables; ++shape) {
      const List& list = list_of(&receives_, pattern.key, shape, message.context);
      const std::uint64_t limit = oldest == nullptr ? no_limit : oldest->sequence;
      if (Node* node = list.find(pattern, shape, limit, &looked_at)) oldest = node;
    }
    posted_.searched(looked_at);
    return oldest;
  }

  Node* message_for(const Envelope& receive) {
    const Pattern pattern = pattern_of(receive);
    const int shape = shape_of(pattern.key);
    std::uint64_t looked_at = 0;
    Node* node = has_tables_ && shape != in_list
                     ? list_of(&messages_, pattern.key, shape, receive.context)
                           .find(pattern, shape, no_limit, &looked_at)
                     : messages_.list.find(pattern, in_list, no_limit, &looked_at);
    unexpected_.searched(looked_at);
    return node;
  }

  Item removed(Queue* queue, Node* node) {
    bool was_in_table = false;
    for (int shape = 0; shape < tables; ++shape) {
      if (!node->is_linked[shape]) continue;
      list_of(queue, node->key, shape, node->context).erase(node, shape);
      was_in_table = true;
    }
    if (node->is_linked[in_list]) queue->list.erase(node, in_list);
    const Item item = nodes_.free(node);
    if (was_in_table && --queue->in_tables == 0 && receives_.in_tables + messages_.in_tables == 0)
      has_tables_ = false;
    return item;
  }

  HashedNodes<shapes> nodes_;
  Queue receives_;
  Queue messages_;
  bool has_tables_ = false;
};

const Registration registration([] {
  return Descriptor{
      .name = "psm3",
      .source = "as PSM3 matches today",
      .sentence = "One list a queue; from 65 entries on 64 lists for each shape of wildcards.",
      .make = [](const Setup&) -> std::unique_ptr<Queues> { return std::make_unique<Psm3Queues>(); },
  };
});

}  // namespace
}  // namespace unisono::matching
