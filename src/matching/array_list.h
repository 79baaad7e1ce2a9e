// SPDX-License-Identifier: BSD-3-Clause
// M5, section 6.2.1, figures 6.2, 6.3 and 6.5: a list of arrays.
#pragma once

#include "matching/block_list.h"

namespace unisono::matching {

class ArrayLayout {
 public:
  explicit ArrayLayout(int capacity) : capacity_(capacity) {}

  int capacity() const { return capacity_; }
  std::size_t block_bytes() const {
    return sizeof(BlockHead) + static_cast<std::size_t>(capacity_) * sizeof(Entry);
  }

  void put(BlockHead* block, int index, const Element& element) const {
    entries(block)[index] = {element.key, element.item,
                             element.context | static_cast<std::uint32_t>(shape_of(element.key))
                                                   << shape_shift,
                             block->offset_of(element.sequence)};
  }
  Element at(const BlockHead* block, int index) const {
    const Entry& entry = entries(block)[index];
    return {entry.key, entry.item, block->number_at(entry.offset), entry.context_and_shape & most_contexts};
  }
  bool is_hole(const BlockHead* block, int index) const {
    return (entries(block)[index].context_and_shape & most_contexts) == hole;
  }
  void make_hole(BlockHead* block, int index) const { entries(block)[index].context_and_shape = hole; }

  int find(const BlockHead* block, const Pattern& pattern, bool, std::uint64_t* looked_at) const {
    const Entry* entry = entries(block);
    const int head = static_cast<int>(block->head);
    const int tail = static_cast<int>(block->tail);
    for (int index = head; index < tail; ++index) {
      const std::uint32_t word = entry[index].context_and_shape;
      if (((entry[index].key ^ pattern.key) & ~wild_bits[word >> shape_shift] & pattern.mask) != 0 ||
          (word & most_contexts) != pattern.context)
        continue;
      *looked_at += static_cast<std::uint64_t>(index - head + 1);
      return index;
    }
    *looked_at += static_cast<std::uint64_t>(tail - head);
    return -1;
  }

 private:
  static constexpr int shape_shift = 30;
  static_assert(most_contexts == (1U << shape_shift) - 1);

  struct Entry {
    std::uint64_t key;
    Item item;
    std::uint32_t context_and_shape;
    std::uint32_t offset;
  };
  static_assert(sizeof(Entry) == 24);

  static Entry* entries(BlockHead* block) { return reinterpret_cast<Entry*>(block + 1); }
  static const Entry* entries(const BlockHead* block) { return reinterpret_cast<const Entry*>(block + 1); }

  int capacity_;
};

using ArrayList = BlockList<ArrayLayout>;

}  // namespace unisono::matching
