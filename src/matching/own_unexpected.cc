// SPDX-License-Identifier: BSD-3-Clause
#include "matching/own_unexpected.h"

#include <algorithm>
#include <bit>
#include <vector>

namespace unisono::matching {
namespace {

constexpr std::uint32_t fewest_swept = 64;

}  // namespace

void OwnUnexpected::append_to_table(std::uint64_t key, Item item) {
  const std::uint32_t number = nodes_.make();
  Node& node = nodes_[number];
  node.key = key;
  node.item = item;
  node.sequence = sequence_++;
  node.linked = 0;
  node.is_waiting = true;
  for (std::uint32_t left = indexes_; left != 0; left &= left - 1) link(number, std::countr_zero(left));
  if (++in_table_ > most_in_table_) most_in_table_ = in_table_;
}

// At the end of its key's list. The word beside a key is its list's last node.
void OwnUnexpected::link(std::uint32_t number, int shape) {
  const OpenTable::Slot slot = table_.insert(nodes_[number].key | wild_bits[shape]);
  if (slot.has_list()) {
    nodes_[slot.word()].next[shape] = number;
  } else {
    slot.head() = number;
    table_.got_list();
  }
  slot.word() = number;
  nodes_[number].linked |= 1U << shape;
}

void OwnUnexpected::unlink_first(OpenTable::Slot slot, int shape) {
  const std::uint32_t number = slot.head();
  if (slot.word() == number) {
    slot.head() = OpenTable::none;
    table_.lost_list();
  } else {
    slot.head() = nodes_[number].next[shape];
  }
  Node& node = nodes_[number];
  node.linked &= ~(1U << shape);
  if (node.linked != 0 || node.is_waiting) return;
  nodes_.free(number);
  --dead_;
}

// From now on there is an index of this shape.
void OwnUnexpected::begin_index(int shape) {
  std::vector<std::uint32_t> waiting;
  waiting.reserve(in_table_);
  for (std::uint32_t number = 0; number < nodes_.end(); ++number)
    if (nodes_[number].is_waiting) waiting.push_back(number);
  const auto in_order = [&](std::uint32_t number) { return nodes_[number].sequence; };
  if (!std::ranges::is_sorted(waiting, {}, in_order)) std::ranges::sort(waiting, {}, in_order);
  for (const std::uint32_t number : waiting) link(number, shape);
  indexes_ |= 1U << shape;
}

Item OwnUnexpected::find_in_table(std::uint64_t key, bool is_taken, std::uint64_t* looked_at) {
  const int shape = shape_of(key);
  asked_for_ |= 1U << shape;
  if ((indexes_ & 1U << shape) == 0) begin_index(shape);
  const OpenTable::Slot slot = table_.find(key);
  while (slot && slot.has_list()) {
    ++*looked_at;
    const std::uint32_t number = slot.head();
    if (!nodes_[number].is_waiting) {
      unlink_first(slot, shape);
      continue;
    }
    const Item item = nodes_[number].item;
    if (is_taken) {
      ++dead_;
      nodes_[number].is_waiting = false;
      unlink_first(slot, shape);
      one_has_left();
    }
    return item;
  }
  return nullptr;
}

void OwnUnexpected::one_has_left() {
  --in_table_;
  if (dead_ >= fewest_swept && dead_ > in_table_ + table_.slots() / 8) sweep();
  if (in_table_ != 0 || dead_ != 0) return;
  // All lists are empty: shapes that nobody has asked for lately need no index any more.
  indexes_ = asked_for_;
  asked_for_ = 0;
}

void OwnUnexpected::sweep() {
  table_.for_each_list([&](OpenTable::Slot slot) { sweep_list(slot); });
}

void OwnUnexpected::sweep_list(OpenTable::Slot slot) {
  const int shape = shape_of(slot.key());
  const std::uint32_t last = slot.word();
  std::uint32_t kept = OpenTable::none;
  for (std::uint32_t number = slot.head(), next = 0;; number = next) {
    Node& node = nodes_[number];
    next = node.next[shape];
    if (node.is_waiting) {
      (kept == OpenTable::none ? slot.head() : nodes_[kept].next[shape]) = number;
      kept = number;
    } else if ((node.linked &= ~(1U << shape)) == 0) {
      nodes_.free(number);
      --dead_;
    }
    if (number == last) break;
  }
  slot.word() = kept;
  if (kept != OpenTable::none) return;
  slot.head() = OpenTable::none;
  table_.lost_list();
}

// Memory that the last so many messages did not need is given back.
void OwnUnexpected::review() {
  appended_ = 0;
  if (nodes_.is_far_larger_than(most_in_table_)) {
    std::vector<Node> waiting;
    for (std::uint32_t number = 0; number < nodes_.end(); ++number)
      if (nodes_[number].is_waiting) waiting.push_back(nodes_[number]);
    std::ranges::sort(waiting, {}, &Node::sequence);
    table_.forget_all(table_.lists());
    nodes_.forget_all(in_table_);
    in_table_ = dead_ = 0;
    for (const Node& node : waiting) append_to_table(node.key, node.item);
  }
  table_.review();
  most_in_table_ = in_table_;
}

}  // namespace unisono::matching
