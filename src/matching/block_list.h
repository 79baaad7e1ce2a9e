// SPDX-License-Identifier: BSD-3-Clause
// M5, section 6.2, figures 6.2 to 6.4: a linked list of blocks. New elements go behind the tail of the last
// block. An element that leaves from the middle of a block leaves a hole. When one leaves from an end, head
// or tail skip the holes there. A block without elements leaves the list.
//
// `Layout` says how elements lie in a block, and looks for one there.
#pragma once

#include <cstddef>
#include <new>

#include "matching/block.h"
#include "matching/cell_pool.h"

namespace unisono::matching {

template <class Layout>
class BlockList {
 public:
  // Of all lists of one queue.
  struct Memory {
    explicit Memory(ListSettings settings) : layout(settings.block), blocks(layout.block_bytes()) {}
    Layout layout;
    Pool blocks;
    std::size_t bytes() const { return blocks.bytes(); }
  };
  struct Place {
    const Layout* layout = nullptr;
    BlockHead* block = nullptr;
    BlockHead* before = nullptr;
    int index = 0;
    explicit operator bool() const { return block != nullptr; }
    std::uint64_t sequence() const { return layout->at(block, index).sequence; }
    Item item() const { return layout->at(block, index).item; }
  };

  explicit BlockList(Memory* memory) : memory_(memory) {}

  void append(const Element& element) {
    if (last_ == nullptr || static_cast<int>(last_->tail) == layout().capacity() ||
        !last_->can_number(element.sequence))
      add_block(element.sequence);
    layout().put(last_, static_cast<int>(last_->tail), element);
    last_->tail = last_->tail + 1;
    if (shape_of(element.key) != 0) ++wild_;
    ++length_;
  }

  Place find(const Pattern& pattern, std::uint64_t* looked_at) const {
    for (BlockHead *block = first_, *before = nullptr; block != nullptr;
         before = block, block = after(block)) {
      const int index = layout().find(block, pattern, wild_ != 0, looked_at);
      if (index >= 0) return {&layout(), block, before, index};
    }
    return {};
  }

  Place find_item(Item item) const {
    for (BlockHead *block = first_, *before = nullptr; block != nullptr; before = block, block = after(block))
      for (int index = static_cast<int>(block->head); index < static_cast<int>(block->tail); ++index)
        if (!layout().is_hole(block, index) && layout().at(block, index).item == item)
          return {&layout(), block, before, index};
    return {};
  }

  Item erase(const Place& place) {
    BlockHead* block = place.block;
    const Element element = layout().at(block, place.index);
    layout().make_hole(block, place.index);
    const auto index = static_cast<unsigned>(place.index);
    if (index == block->head)
      while (block->head < block->tail && layout().is_hole(block, static_cast<int>(block->head)))
        block->head = block->head + 1;
    else if (index + 1 == block->tail)
      while (layout().is_hole(block, static_cast<int>(block->tail) - 1)) block->tail = block->tail - 1;
    if (block->head == block->tail) remove(block, place.before);
    if (shape_of(element.key) != 0) --wild_;
    --length_;
    return element.item;
  }

  std::size_t length() const { return length_; }

  template <class Visit>
  void for_each(Visit visit) const {
    for (const BlockHead* block = first_; block != nullptr; block = after(block))
      for (int index = static_cast<int>(block->head); index < static_cast<int>(block->tail); ++index)
        if (!layout().is_hole(block, index)) visit(layout().at(block, index));
  }

 private:
  static BlockHead* after(const BlockHead* block) { return static_cast<BlockHead*>(block->next); }
  const Layout& layout() const { return memory_->layout; }

  void add_block(std::uint64_t sequence) {
    auto* block = new (memory_->blocks.make()) BlockHead{nullptr, sequence >> BlockHead::base_shift, 0, 0};
    if (last_ == nullptr)
      first_ = block;
    else
      last_->next = block;
    last_ = block;
  }
  void remove(BlockHead* block, BlockHead* before) {
    if (before == nullptr)
      first_ = after(block);
    else
      before->next = block->next;
    if (block == last_) last_ = before;
    memory_->blocks.free(block);
  }

  Memory* memory_;
  BlockHead* first_ = nullptr;
  BlockHead* last_ = nullptr;
  std::size_t length_ = 0;
  std::size_t wild_ = 0;  // elements that have wildcards
};

}  // namespace unisono::matching
