// SPDX-License-Identifier: BSD-3-Clause
#include "matching/cell_pool.h"

#include <algorithm>
#include <new>

namespace unisono::matching {
namespace {

constexpr std::size_t chunk_bytes = 4096;
constexpr std::align_val_t line{64};

}  // namespace

Pool::Pool(std::size_t cell_bytes)
    : cell_bytes_(cell_bytes), chunk_cells_(std::max<std::size_t>(1, chunk_bytes / cell_bytes)) {}

Pool::~Pool() {
  for (void* chunk : chunks_) ::operator delete(chunk, line);
}

std::size_t Pool::bytes() const {
  return chunks_.capacity() * sizeof(void*) + chunks_.size() * chunk_cells_ * cell_bytes_;
}

void Pool::grow() {
  chunks_.push_back(::operator new(chunk_cells_* cell_bytes_, line));
  free_all_of(chunks_.back());
}

void Pool::give_back() {
  while (chunks_.size() > 1) {
    ::operator delete(chunks_.back(), line);
    chunks_.pop_back();
  }
  chunks_.shrink_to_fit();
  free_ = nullptr;
  free_all_of(chunks_.front());
}

void Pool::free_all_of(void* chunk) {
  for (std::size_t i = chunk_cells_; i-- > 0;)
    free_ = new (static_cast<std::byte*>(chunk) + i * cell_bytes_) Free{free_};
}

}  // namespace unisono::matching
