// SPDX-License-Identifier: BSD-3-Clause
#include "shm/pool/allocator.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace unisono::shm {
namespace {

constexpr std::size_t page = 4096;

TEST(Allocator, takes_the_first_gap_that_is_large_enough) {
  const auto state = std::make_unique<AllocatorState>();
  Allocator allocator(state.get(), 100, 10 * page);
  EXPECT_EQ(allocator.reserve(1), 1 * static_cast<std::int64_t>(page));
  EXPECT_EQ(allocator.reserve(3 * page), 2 * static_cast<std::int64_t>(page));
  EXPECT_EQ(allocator.reserve(page + 1), 5 * static_cast<std::int64_t>(page));
  EXPECT_EQ(allocator.reserve(4 * page), -1);
  EXPECT_EQ(allocator.reserve(3 * page), 7 * static_cast<std::int64_t>(page));
  EXPECT_EQ(allocator.reserve(1), -1);
  EXPECT_EQ(allocator.reserved_bytes(5 * page), 2 * page);
  allocator.free(2 * page);
  EXPECT_EQ(allocator.reserved_bytes(2 * page), 0U);
  EXPECT_EQ(allocator.reserve(4 * page), -1);
  EXPECT_EQ(allocator.reserve(2 * page), 2 * static_cast<std::int64_t>(page));
  EXPECT_EQ(allocator.reserve(page), 4 * static_cast<std::int64_t>(page));
  EXPECT_EQ(allocator.reserve(0), -1);
}

TEST(Allocator, has_room_for_so_many_extents) {
  const auto state = std::make_unique<AllocatorState>();
  Allocator allocator(state.get(), 0, 2 * max_extents * page);
  for (std::size_t i = 0; i < max_extents; ++i) ASSERT_GE(allocator.reserve(1), 0);
  EXPECT_EQ(allocator.reserve(1), -1);
  allocator.free(0);
  EXPECT_EQ(allocator.reserve(1), 0);
}

TEST(Allocator, threads_never_get_the_same_bytes) {
  const auto state = std::make_unique<AllocatorState>();
  std::vector<std::atomic<int>> owner(64);
  std::vector<std::thread> threads;
  for (int me = 1; me <= 4; ++me) {
    threads.emplace_back([&, me] {
      Allocator allocator(state.get(), 0, owner.size() * page);
      std::minstd_rand random(static_cast<unsigned>(me));
      std::map<std::int64_t, std::size_t> mine;
      for (int i = 0; i < 3000; ++i) {
        const std::size_t pages = random() % 9 + 1;
        if (const std::int64_t offset = allocator.reserve(pages * page); offset >= 0) {
          for (std::size_t p = 0; p < pages; ++p) {
            EXPECT_EQ(owner[static_cast<std::size_t>(offset) / page + p].exchange(me), 0);
          }
          mine[offset] = pages;
        }
        while (!mine.empty() && random() % 2 == 0) {
          const auto [offset, held] = *mine.begin();
          for (std::size_t p = 0; p < held; ++p) {
            EXPECT_EQ(owner[static_cast<std::size_t>(offset) / page + p].exchange(0), me);
          }
          allocator.free(offset);
          mine.erase(mine.begin());
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Allocator, says_whether_there_is_room_without_taking_it) {
  const auto state = std::make_unique<AllocatorState>();
  Allocator allocator(state.get(), 0, 10 * page);
  const std::int64_t offset = allocator.reserve(7 * page);
  EXPECT_TRUE(allocator.has_room(3 * page));
  EXPECT_FALSE(allocator.has_room(3 * page + 1));
  EXPECT_FALSE(allocator.has_room(page, 0, 7 * page));
  EXPECT_EQ(allocator.used_bytes(), 7 * page);
  allocator.free(offset);
  EXPECT_TRUE(allocator.has_room(10 * page));
}

// The rank that held the lock was killed.
TEST(Allocator, a_lock_that_nobody_drops_counts_as_full) {
  const auto state = std::make_unique<AllocatorState>();
  Allocator allocator(state.get(), 0, 10 * page);
  state->lock.store(1);
  EXPECT_EQ(allocator.reserve(1), -1);
}

}  // namespace
}  // namespace unisono::shm
