// SPDX-License-Identifier: BSD-3-Clause
// Memory for the nodes of lists: in chunks, with a list of free nodes. When no node is left in use all
// chunks but one are given back.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <vector>

namespace unisono::matching {

template <class Node>
class Pool {
 public:
  static_assert(std::is_trivially_destructible_v<Node>);

  Node* make() {
    if (free_ == nullptr) grow();
    Cell* cell = free_;
    free_ = cell->next;
    ++in_use_;
    return new (&cell->node) Node;
  }

  void free(Node* node) {
    Cell* cell = reinterpret_cast<Cell*>(node);
    cell->next = free_;
    free_ = cell;
    if (--in_use_ == 0 && chunks_.size() > 1) give_back();
  }

  std::size_t bytes() const { return chunks_.capacity() * sizeof(chunks_[0]) + chunks_.size() * chunk_bytes; }

 private:
  union Cell {
    Cell() {}
    Cell* next;
    Node node;
  };
  static constexpr std::size_t chunk_cells = sizeof(Cell) < 2048 ? 4096 / sizeof(Cell) : 2;
  static constexpr std::size_t chunk_bytes = chunk_cells * sizeof(Cell);

  void grow() {
    chunks_.emplace_back(new Cell[chunk_cells]);
    free_all_of(chunks_.back().get());
  }
  void give_back() {
    chunks_.resize(1);
    chunks_.shrink_to_fit();
    free_ = nullptr;
    free_all_of(chunks_.front().get());
  }
  void free_all_of(Cell* chunk) {
    for (std::size_t i = chunk_cells; i-- > 0;) {
      chunk[i].next = free_;
      free_ = &chunk[i];
    }
  }

  std::vector<std::unique_ptr<Cell[]>> chunks_;
  Cell* free_ = nullptr;
  std::size_t in_use_ = 0;
};

}  // namespace unisono::matching
