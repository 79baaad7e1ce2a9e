// SPDX-License-Identifier: BSD-3-Clause
// Memory for the nodes and blocks of lists: cells of one size, in chunks, with a list of free ones. When no
// cell is left in use all chunks but one are given back.
#pragma once

#include <cstddef>
#include <vector>

namespace unisono::matching {

class Pool {
 public:
  explicit Pool(std::size_t cell_bytes);
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  ~Pool();

  void* make() {
    if (free_ == nullptr) grow();
    Free* cell = free_;
    free_ = cell->next;
    ++in_use_;
    return cell;
  }
  void free(void* cell) {
    free_ = new (cell) Free{free_};
    if (--in_use_ == 0 && chunks_.size() > 1) give_back();
  }

  std::size_t bytes() const;

 private:
  struct Free {
    Free* next;
  };

  void grow();
  void give_back();
  void free_all_of(void* chunk);

  std::size_t cell_bytes_;
  std::size_t chunk_cells_;
  std::vector<void*> chunks_;
  Free* free_ = nullptr;
  std::size_t in_use_ = 0;
};

}  // namespace unisono::matching
