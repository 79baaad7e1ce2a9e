// SPDX-License-Identifier: BSD-3-Clause
#include "base/short_copy.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <vector>

namespace unisono {
namespace {

constexpr std::size_t page = 4096, room = 64 * page;

// Memory that begins a page, filled with what tells every byte's place.
std::unique_ptr<char, decltype(&std::free)> pages(char seed) {
  auto* made = static_cast<char*>(std::aligned_alloc(page, room));
  for (std::size_t i = 0; i < room; ++i)
    made[i] = static_cast<char>(i * 7 + i / page + static_cast<std::size_t>(seed));
  return {made, &std::free};
}

TEST(CopyTest, CopiesJustWhatItIsTold) {
  const auto source = pages(1), empty = pages(101);
  for (const std::size_t bytes : {0, 1, 63, 2047, 2048, 2049, 4096, 5000, 70000}) {
    for (const std::size_t behind : {0, 1, 8, 16, 40, 63, 64, 65, 2048, 4080}) {
      for (const std::size_t offset : {0, 5, 16}) {
        const auto into = pages(101);
        const std::size_t at = page + offset + behind;
        copy_bytes(into.get() + at, source.get() + offset, bytes);
        ASSERT_EQ(std::memcmp(into.get() + at, source.get() + offset, bytes), 0) << bytes << " " << behind;
        ASSERT_EQ(std::memcmp(into.get(), empty.get(), at), 0) << bytes << " " << behind;
        ASSERT_EQ(std::memcmp(into.get() + at + bytes, empty.get() + at + bytes, room - at - bytes), 0)
            << bytes << " " << behind;
      }
    }
  }
}

TEST(CopyTest, MovesWhatOverlaps) {
  for (const std::ptrdiff_t shift : {-4097, -4080, -64, -16, -1, 0, 1, 16, 63, 4097, 4112}) {
    const auto memory = pages(1), before = pages(1);
    const std::ptrdiff_t from = 3 * page;
    copy_bytes(memory.get() + from + shift, memory.get() + from, 20000);
    EXPECT_EQ(std::memcmp(memory.get() + from + shift, before.get() + from, 20000), 0) << shift;
  }
}

TEST(CopyTest, VectorsLeaveNoRemainder) {
  for (std::size_t bytes = 0; bytes < 200; ++bytes) {
    const auto source = pages(1), into = pages(101), empty = pages(101);
    copy_by_vectors(into.get() + 3, source.get() + 1, bytes);
    ASSERT_EQ(std::memcmp(into.get() + 3, source.get() + 1, bytes), 0) << bytes;
    ASSERT_EQ(std::memcmp(into.get() + 3 + bytes, empty.get() + 3 + bytes, page), 0) << bytes;
  }
}

}  // namespace
}  // namespace unisono
