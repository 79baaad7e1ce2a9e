// SPDX-License-Identifier: BSD-3-Clause
// Today's baseline, after what is known of UCX's tag matching: 1021 buckets by tag and source. Receives with
// any wildcard stand in one list beside them. Messages stand in their bucket and in a list of all, which
// receives with wildcards go through. Other than there, context and source are no part of a 64-bit tag, so
// that tags may have 31 bits.
#include <array>
#include <vector>

#include "matching/catalogue.h"
#include "matching/hashed_list.h"

namespace unisono::matching {
namespace {

constexpr std::uint32_t prime = 1021;
constexpr std::uint32_t buckets = 1024;  // two rests of it, joined by exclusive or, lie below
constexpr std::uint64_t no_limit = ~0ULL;
constexpr int in_bucket = 0;
constexpr int in_all = 1;

class UcxQueues final : public Queues {
 public:
  Item post(const Envelope& receive, Item item) override {
    if (const Item message = take(receive)) return message;
    Node* node = nodes_.make(receive, item);
    of(receives_, receive).append(node, in_bucket);
    posted_.added();
    return nullptr;
  }

  Item arrive(const Envelope& message, Item item) override {
    const Pattern pattern = pattern_of(message);
    std::uint64_t looked_at = 0;
    List* list = &receives_[bucket_of(message)];
    Node* node = list->find(pattern, in_bucket, no_limit, &looked_at);
    const std::uint64_t limit = node == nullptr ? no_limit : node->sequence;
    if (Node* wild = wild_.find(pattern, in_bucket, limit, &looked_at)) {
      node = wild;
      list = &wild_;
    }
    posted_.searched(looked_at);
    if (node != nullptr) {
      list->erase(node, in_bucket);
      posted_.removed();
      return nodes_.free(node);
    }
    node = nodes_.make(message, item);
    messages_[bucket_of(message)].append(node, in_bucket);
    all_messages_.append(node, in_all);
    unexpected_.added();
    return nullptr;
  }

  Item probe(const Envelope& receive) override {
    const Node* node = found(receive);
    return node == nullptr ? nullptr : node->item;
  }

  Item take(const Envelope& receive) override {
    Node* node = found(receive);
    if (node == nullptr) return nullptr;
    messages_[bucket_of(envelope_of(*node))].erase(node, in_bucket);
    all_messages_.erase(node, in_all);
    unexpected_.removed();
    return nodes_.free(node);
  }

  bool cancel(const Envelope& receive, Item item) override {
    List& list = of(receives_, receive);
    Node* node = list.find_item(item, in_bucket);
    if (node == nullptr) return false;
    list.erase(node, in_bucket);
    nodes_.free(node);
    posted_.removed();
    return true;
  }

  std::size_t memory_bytes() const override {
    return sizeof(*this) + nodes_.bytes() + (receives_.capacity() + messages_.capacity()) * sizeof(List);
  }

 private:
  using Node = HashedNode<2>;
  using List = HashedList<2>;

  static std::uint32_t bucket_of(const Envelope& envelope) {
    const std::uint32_t peer = static_cast<std::uint32_t>(envelope.source) + (envelope.context << 20);
    return static_cast<std::uint32_t>(envelope.tag) % prime ^ peer % prime;
  }
  static Envelope envelope_of(const Node& node) {
    return {static_cast<std::int32_t>(node.key >> 32), static_cast<std::int32_t>(node.key), node.context, {}};
  }
  List& of(std::vector<List>& lists, const Envelope& receive) {
    return shape_of(key_of(receive)) == 0 ? lists[bucket_of(receive)] : wild_;
  }

  Node* found(const Envelope& receive) {
    const Pattern pattern = pattern_of(receive);
    std::uint64_t looked_at = 0;
    Node* node = shape_of(pattern.key) == 0
                     ? messages_[bucket_of(receive)].find(pattern, in_bucket, no_limit, &looked_at)
                     : all_messages_.find(pattern, in_all, no_limit, &looked_at);
    unexpected_.searched(looked_at);
    return node;
  }

  HashedNodes<2> nodes_;
  std::vector<List> receives_ = std::vector<List>(buckets);
  std::vector<List> messages_ = std::vector<List>(buckets);
  List wild_;  // receives with wildcards
  List all_messages_;
};

const Registration registration([] {
  return Descriptor{
      .name = "ucx",
      .source = "as UCX matches tags today",
      .sentence = "1021 lists by tag and source; receives with wildcards share one, and search all messages.",
      .make = [](const Setup&) -> std::unique_ptr<Queues> { return std::make_unique<UcxQueues>(); },
  };
});

}  // namespace
}  // namespace unisono::matching
