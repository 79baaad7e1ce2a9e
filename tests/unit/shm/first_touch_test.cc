// SPDX-License-Identifier: BSD-3-Clause
// Which memory has pages behind it.
#include <vector>

#include "ranks.h"
#include "shm/slice/slice_state.h"

namespace unisono::shm {
namespace {

std::size_t pages_there(const SharedMemory& memory, std::size_t begin, std::size_t end) {
  std::vector<unsigned char> there((end - begin) / page_bytes);
  if (mincore(static_cast<char*>(memory.get()) + begin, end - begin, there.data()) != 0) std::abort();
  std::size_t count = 0;
  for (const unsigned char page : there) count += page & 1;
  return count;
}

TEST(FirstTouch, a_slice_that_nobody_uses_has_no_pages) {
  const SliceShape shape{.local_size = 2, .area_bytes = 1 << 20, .stream_bytes = 1 << 20};
  const SharedMemory memory(shape.bytes());
  const Slice first(memory.get(), shape, 0, {}), second(memory.get(), shape, 1, {});
  EXPECT_EQ(pages_there(memory, 0, shape.bytes()), 0u);
}

TEST(FirstTouch, small_messages_have_all_their_pages_and_large_ones_none) {
  const SliceShape shape{.local_size = 2, .area_bytes = 1 << 20, .stream_bytes = 1 << 20};
  const SliceLayout layout(shape);
  const SharedMemory memory(shape.bytes());
  const Slice first(memory.get(), shape, 0, {}), second(memory.get(), shape, 1, {});
  first.touch_own_share();
  const std::size_t of_one = pages_there(memory, 0, layout.areas);
  EXPECT_GE(of_one, layout.areas / page_bytes / 2 - 1);
  EXPECT_LE(of_one, layout.areas / page_bytes / 2 + 1);
  second.touch_own_share();
  EXPECT_EQ(pages_there(memory, 0, layout.areas), layout.areas / page_bytes);
  first.touch_shares();
  EXPECT_EQ(pages_there(memory, layout.areas, shape.bytes()), 0u);
}

TEST(FirstTouch, it_is_bounded_with_many_ranks) {
  const SliceShape shape{.local_size = 128, .area_bytes = 64 * 1024};
  const SliceLayout layout(shape);
  const SharedMemory memory(shape.bytes());
  for (const int rank : {0, 63, 127}) {
    const Slice slice(memory.get(), shape, rank, {});
    slice.touch_own_share();
    slice.touch_shares();
  }
  EXPECT_LE(pages_there(memory, layout.rings, shape.bytes()), (std::size_t{1} << 20) / page_bytes);
}

}  // namespace
}  // namespace unisono::shm
