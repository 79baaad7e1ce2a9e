// SPDX-License-Identifier: BSD-3-Clause
#include "matching/own_posted.h"

#include <algorithm>

namespace unisono::matching {

void OwnPosted::append_to_table(std::uint64_t key, Item item) {
  if (sequence_ == 0xFFFFFFFF) build_anew();  // numbers begin anew
  const OpenTable::Slot slot = table_.insert(key);
  const std::uint32_t number = nodes_.make();
  Node& node = nodes_[number];
  node.item = item;
  if (slot.has_list()) {
    Node& first = nodes_[slot.head()];
    nodes_[first.sequence_or_last].next = number;
    node.sequence_or_last = sequence_;
    first.sequence_or_last = number;
  } else {
    slot.head() = number;
    slot.word() = sequence_;
    node.sequence_or_last = number;
    table_.got_list();
  }
  ++sequence_;
  ++of_shape_[shape_of(key)];
  if (++in_table_ > most_in_table_) most_in_table_ = in_table_;
}

Item OwnPosted::take_from_table(std::uint64_t key, std::uint64_t* looked_at) {
  OpenTable::Slot oldest;
  int shape_of_oldest = 0;
  for (int shape = 0; shape < shapes; ++shape) {
    if (of_shape_[shape] == 0) continue;
    const OpenTable::Slot slot = table_.find(key | wild_bits[shape]);
    if (!slot || !slot.has_list()) continue;
    ++*looked_at;
    if (oldest && oldest.word() < slot.word()) continue;
    oldest = slot;
    shape_of_oldest = shape;
  }
  if (!oldest) return nullptr;
  --of_shape_[shape_of_oldest];
  --in_table_;
  return take_first(oldest);
}

Item OwnPosted::take_first(OpenTable::Slot slot) {
  const std::uint32_t number = slot.head();
  const Node& node = nodes_[number];
  const Item item = node.item;
  if (node.sequence_or_last == number) {
    slot.head() = OpenTable::none;
    table_.lost_list();
  } else {
    Node& next = nodes_[node.next];
    slot.head() = node.next;
    slot.word() = next.sequence_or_last;
    next.sequence_or_last = node.sequence_or_last;
  }
  nodes_.free(number);
  return item;
}

bool OwnPosted::cancel(std::uint64_t key, Item item) {
  if (const int place = array_.find_item(item); place != ShortArray::nowhere) {
    array_.erase(place);
    return true;
  }
  if (in_table_ == 0) return false;
  const OpenTable::Slot slot = table_.find(key);
  if (!slot || !slot.has_list()) return false;
  const std::uint32_t head = slot.head();
  if (nodes_[head].item == item) {
    take_first(slot);
  } else {
    const std::uint32_t last = nodes_[head].sequence_or_last;
    std::uint32_t before = head;
    while (before != last && nodes_[nodes_[before].next].item != item) before = nodes_[before].next;
    if (before == last) return false;
    const std::uint32_t number = nodes_[before].next;
    if (number == last)
      nodes_[head].sequence_or_last = before;
    else
      nodes_[before].next = nodes_[number].next;
    nodes_.free(number);
  }
  --of_shape_[shape_of(key)];
  --in_table_;
  return true;
}

std::vector<OwnPosted::Waiting> OwnPosted::all_in_order() {
  std::vector<Waiting> all;
  all.reserve(in_table_);
  table_.for_each_list([&](OpenTable::Slot slot) {
    const std::uint32_t last = nodes_[slot.head()].sequence_or_last;
    std::uint32_t sequence = slot.word();
    for (std::uint32_t number = slot.head();; number = nodes_[number].next) {
      if (number != slot.head()) sequence = nodes_[number].sequence_or_last;
      all.push_back({sequence, slot.key(), nodes_[number].item});
      if (number == last) break;
    }
  });
  std::ranges::sort(all, {}, &Waiting::sequence);
  return all;
}

void OwnPosted::review() {
  appended_ = 0;
  if (nodes_.is_far_larger_than(most_in_table_)) build_anew();
  table_.review();
  most_in_table_ = in_table_;
}

void OwnPosted::build_anew() {
  const std::vector<Waiting> all = all_in_order();
  table_.forget_all(table_.lists());
  nodes_.forget_all(static_cast<std::uint32_t>(all.size()));
  std::ranges::fill(of_shape_, 0);
  in_table_ = 0;
  sequence_ = 0;
  for (const Waiting& one : all) append_to_table(one.key, one.item);
}

}  // namespace unisono::matching
