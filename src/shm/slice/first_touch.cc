// SPDX-License-Identifier: BSD-3-Clause
// Memory that is mapped before it is used. The kernel takes some microseconds for each page that nobody has
// touched. Pages that are there already it maps sixteen at a time where they are read.
#include <algorithm>

#include "shm/slice/slice_state.h"

namespace unisono::shm {
namespace {

// Of all ranks' lines, and of all ranks' blocks.
constexpr std::size_t most_bytes = std::size_t{512} * 1024;

}  // namespace

void Slice::touch_rings() const {
  touch_pages(reinterpret_cast<const char*>(state_->row(0)),
              reinterpret_cast<const char*>(state_->row(state_->ring_mask) + state_->size));
}

// Counters, flags and lines: ranks write into the same pages there.
void Slice::touch_common(std::size_t share, std::size_t shares) const {
  const SliceLayout layout(shape_);
  const std::size_t line_bytes =
      static_cast<std::size_t>(shape_.local_size) * shape_.ring_lines * sizeof(Line);
  const std::size_t pages = (layout.rings + std::min(line_bytes, most_bytes)) / page_bytes;
  touch_pages(state_->memory + share * pages / shares * page_bytes,
              state_->memory + (share + 1) * pages / shares * page_bytes);
}

void Slice::touch_blocks(int owner) const {
  const std::size_t of_rank = std::min(shape_.ring_lines * cache_line_bytes,
                                       most_bytes / static_cast<std::size_t>(shape_.local_size));
  const char* begin = state_->block(owner, 0);
  touch_pages(begin, begin + of_rank);
}

void Slice::touch_own_share() const {
  if (shape_.local_size == 1) return;
  touch_common(static_cast<std::size_t>(local_rank_), static_cast<std::size_t>(shape_.local_size));
  touch_blocks(local_rank_);
}

void Slice::touch_shares() const {
  if (shape_.local_size == 1) return;
  touch_common(0, 1);
  for (int owner = 0; owner < shape_.local_size; ++owner) touch_blocks(owner);
}

}  // namespace unisono::shm
