// SPDX-License-Identifier: BSD-3-Clause
// M5, section 6.2.2, figure 6.4: a list of vectors. A block has its elements field by field. The search
// begins at the start of the vector that the head is in, so that holes before it are compared, too.
//
// The source does not say which 32 bits it compares. Here it is the key of 64 bits, source and tag, with its
// mask, and the context of what fits.
#pragma once

#include <algorithm>

#include "matching/block_list.h"
#include "matching/vector_search.h"

namespace unisono::matching {

class VectorLayout {
 public:
  // Blocks are whole vectors.
  explicit VectorLayout(int capacity)
      : capacity_(std::min((capacity + vector_keys - 1) / vector_keys * vector_keys,
                           largest_block / vector_keys * vector_keys)),
        find_key_(best_find_key()) {}

  int capacity() const { return capacity_; }
  std::size_t block_bytes() const { return line + static_cast<std::size_t>(capacity_) * 32; }

  void put(BlockHead* block, int index, const Element& element) const {
    if (index % vector_keys == 0) begin_vector(block, index);
    keys(block)[index] = element.key;
    masks(block)[index] = mask_of(element.key);
    items(block)[index] = element.item;
    contexts(block)[index] = element.context;
    offsets(block)[index] = block->offset_of(element.sequence);
  }
  Element at(BlockHead* block, int index) const {
    return {keys(block)[index], items(block)[index], block->number_at(offsets(block)[index]),
            contexts(block)[index]};
  }
  Element at(const BlockHead* block, int index) const { return at(const_cast<BlockHead*>(block), index); }
  bool is_hole(const BlockHead* block, int index) const {
    return contexts(const_cast<BlockHead*>(block))[index] == hole;
  }
  void make_hole(BlockHead* block, int index) const { contexts(block)[index] = hole; }

  int find(BlockHead* block, const Pattern& pattern, bool has_wildcards, std::uint64_t* looked_at) const {
    const int begin = static_cast<int>(block->head) / vector_keys * vector_keys;
    const int end = static_cast<int>(block->tail);
    const int index = find_key_({keys(block), has_wildcards ? masks(block) : nullptr, contexts(block)}, begin,
                                end, pattern.key, pattern.mask, pattern.context);
    const int last = (index < 0 ? end : index + 1) + vector_keys - 1;
    *looked_at += static_cast<std::uint64_t>(last / vector_keys * vector_keys - begin);
    return index;
  }

 private:
  static constexpr std::size_t line = 64;

  // Whole vectors are compared, with places that nothing was put into yet.
  void begin_vector(BlockHead* block, int index) const {
    std::fill_n(keys(block) + index, vector_keys, 0);
    std::fill_n(masks(block) + index, vector_keys, ~0ULL);
    std::fill_n(contexts(block) + index, vector_keys, hole);
  }

  static std::byte* bytes(BlockHead* block) { return reinterpret_cast<std::byte*>(block) + line; }
  std::uint64_t* keys(BlockHead* block) const { return reinterpret_cast<std::uint64_t*>(bytes(block)); }
  std::uint64_t* masks(BlockHead* block) const { return keys(block) + capacity_; }
  Item* items(BlockHead* block) const { return reinterpret_cast<Item*>(masks(block) + capacity_); }
  std::uint32_t* contexts(BlockHead* block) const {
    return reinterpret_cast<std::uint32_t*>(items(block) + capacity_);
  }
  std::uint32_t* offsets(BlockHead* block) const { return contexts(block) + capacity_; }

  int capacity_;
  FindKey find_key_;
};

using VectorList = BlockList<VectorLayout>;

}  // namespace unisono::matching
