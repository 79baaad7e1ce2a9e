// SPDX-License-Identifier: BSD-3-Clause
#include "shm/pool/segment.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include "base/options.h"
#include "shm/slice/slice.h"

namespace unisono::shm {
namespace {

constexpr std::size_t capacity = std::size_t{1} << 20;

TEST(Segment, nonces_differ_and_are_not_zero) {
  EXPECT_NE(draw_nonce(), draw_nonce());
  EXPECT_NE(draw_nonce(), 0U);
}

// MPI_COMM_WORLD is set up in MPI_Init, with what is mapped by then. Without streams uneven blocks are the
// MPI's.
TEST(Segment, the_first_window_holds_a_world_with_streams) {
  const auto channel_bytes = static_cast<std::size_t>(Options{}.channel_bytes);
  constexpr std::size_t others_bytes = std::size_t{4} << 20;
  for (int ranks = 2; ranks <= 32; ++ranks) {
    const SliceShape shape{.local_size = ranks,
                           .area_bytes = channel_bytes / static_cast<std::size_t>(ranks) / 4096 * 4096,
                           .stream_bytes = SliceShape::stream_bytes_of(ranks, channel_bytes)};
    EXPECT_NE(shape.stream_bytes, 0U) << ranks;
    EXPECT_LE(shape.bytes() + others_bytes, Segment::first_window_bytes) << ranks;
  }
}

TEST(Segment, a_memfd_is_opened_by_its_own_name_only) {
  std::string why;
  const std::uint64_t nonce = draw_nonce();
  const auto made = Segment::create(SegmentKind::memfd, nonce, capacity, 4096, &why);
  ASSERT_NE(made, nullptr) << why;
  const auto opened = Segment::open_memfd(getpid(), made->descriptor(), nonce, &why);
  ASSERT_NE(opened, nullptr) << why;
  EXPECT_EQ(opened->capacity_bytes(), capacity);
  made->address()[100] = 'a';
  EXPECT_EQ(opened->address()[100], 'a');
  // What has no name and no descriptor left still is shared.
  made->forget_name();
  opened->forget_name();
  EXPECT_EQ(made->descriptor(), -1);
  opened->address()[capacity - 1] = 'b';
  EXPECT_EQ(made->address()[capacity - 1], 'b');

  EXPECT_EQ(Segment::open_memfd(getpid(), 0, nonce, &why), nullptr) << "another descriptor of that process";
  const auto other = Segment::create(SegmentKind::memfd, draw_nonce(), capacity, 4096, &why);
  EXPECT_EQ(Segment::open_memfd(getpid(), other->descriptor(), nonce, &why), nullptr) << "another memfd";
  EXPECT_NE(why.find("another file"), std::string::npos) << why;
}

TEST(Segment, a_named_one_is_gone_for_others_once_its_name_is_forgotten) {
  std::string why;
  const std::uint64_t nonce = draw_nonce();
  const auto made = Segment::create(SegmentKind::named, nonce, capacity, 4096, &why);
  ASSERT_NE(made, nullptr) << why;
  const auto opened = Segment::open_named(nonce, &why);
  ASSERT_NE(opened, nullptr) << why;
  opened->address()[7] = 'c';
  EXPECT_EQ(made->address()[7], 'c');
  made->forget_name();
  EXPECT_EQ(Segment::open_named(nonce, &why), nullptr);
  EXPECT_TRUE(opened->back(4096, capacity - 4096));
}

TEST(Segment, clear_leaves_zeroes) {
  std::string why;
  for (const SegmentKind kind : {SegmentKind::memfd, SegmentKind::named, SegmentKind::alone}) {
    const auto segment = Segment::create(kind, draw_nonce(), capacity, 4096, &why);
    ASSERT_NE(segment, nullptr) << why;
    ASSERT_TRUE(segment->back(8192, 8192));
    for (std::size_t i = 4096; i < 20480; ++i) segment->address()[i] = 'x';
    segment->clear(8192, 8192);
    EXPECT_EQ(segment->address()[8191], 'x');
    EXPECT_EQ(segment->address()[8192], 0);
    EXPECT_EQ(segment->address()[16383], 0);
    EXPECT_EQ(segment->address()[16384], 'x');
  }
}

// The program closed the pool's descriptor, and its own file has the number now: it must not be touched.
TEST(Segment, a_descriptor_that_is_another_file_by_now_is_left_alone) {
  std::string why;
  const auto segment = Segment::create(SegmentKind::named, draw_nonce(), capacity, 4096, &why);
  ASSERT_NE(segment, nullptr) << why;
  const auto other = Segment::create(SegmentKind::memfd, draw_nonce(), 4096, 4096, &why);
  ASSERT_EQ(dup2(other->descriptor(), segment->descriptor()), segment->descriptor());
  EXPECT_FALSE(segment->back(8192, 8192));
  EXPECT_EQ(lseek(other->descriptor(), 0, SEEK_END), 4096);
}

// Bytes of shared memory that this process has in its page tables.
std::size_t resident_shared_bytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    std::size_t kib = 0;
    if (word == "RssShmem:" && status >> kib) return kib << 10;
  }
  return 0;
}

// A program that has all memory to come locked would have the pool's windows there at once.
TEST(Segment, windows_of_a_program_that_locks_its_memory_take_pages_as_they_are_touched) {
  constexpr std::size_t large = 4 * Segment::first_window_bytes;
  for (const SegmentKind kind : {SegmentKind::memfd, SegmentKind::alone}) {
    if (mlockall(MCL_FUTURE) != 0) GTEST_SKIP() << "mlockall is not permitted here";
    const std::size_t before = resident_shared_bytes();
    std::string why;
    const auto made = Segment::create(kind, draw_nonce(), large, 4096, &why);
    const bool has_windows = made != nullptr && made->map_window(1) && made->map_window(2);
    const std::size_t after = resident_shared_bytes();
    munlockall();
    ASSERT_TRUE(has_windows) << why;
    EXPECT_LT(after - before, std::size_t{1} << 20);
    *made->at(large - 1) = 'd';
    EXPECT_EQ(*made->at(large - 1), 'd');
  }
}

}  // namespace
}  // namespace unisono::shm
