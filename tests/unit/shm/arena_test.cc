// SPDX-License-Identifier: BSD-3-Clause
// Arenas: places never overlap, whatever the order in which they are freed, and all memory comes back.
#include "shm/pairs/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "../seed.h"
#include "ranks.h"

namespace unisono::shm {
namespace {

TEST(Arena, PlacesNeverOverlap) {
  for (const std::size_t arena_bytes : {std::size_t{8} << 10, std::size_t{256} << 10, std::size_t{4} << 20}) {
    const SharedMemory memory(arena_bytes);
    Arena arena(memory.get(), arena_bytes);
    std::minstd_rand random(seed());
    struct Taken {
      ArenaPlace place;
      std::size_t bytes;
      std::byte mark;
    };
    std::vector<Taken> taken;
    std::size_t total = 0;
    int refused = 0;
    for (int step = 0; step < 60'000; ++step) {
      const std::size_t bytes = random() % (random() % 4 == 0 ? arena.most_bytes() + 1 : 700);
      if (const ArenaPlace place = arena.take(bytes); place.data != nullptr) {
        std::byte* first = place.data;
        ASSERT_EQ(reinterpret_cast<std::uintptr_t>(first) % 64, 0u);
        ASSERT_EQ(arena_address(memory.get(), place.name), first);
        ASSERT_GE(first, memory.get());
        ASSERT_LE(first + bytes, static_cast<std::byte*>(memory.get()) + arena_bytes);
        const auto mark = static_cast<std::byte>(step);
        std::memset(first, step & 0xff, bytes);
        taken.push_back({place, bytes, mark});
        total += bytes;
      } else {
        ++refused;
      }
      while (!taken.empty() && random() % 5 < 2) {
        const auto one =
            taken.begin() + static_cast<std::ptrdiff_t>(random() % std::min(taken.size(), std::size_t{6}));
        ASSERT_TRUE(std::all_of(one->place.data, one->place.data + one->bytes,
                                [&](std::byte b) { return b == one->mark; }));
        free_in_arena(memory.get(), one->place.name);
        taken.erase(one);
      }
    }
    EXPECT_GT(refused, 0);
    EXPECT_GT(total, 10 * arena_bytes);
    EXPECT_FALSE(taken.empty() ? false : arena.is_unused());
    for (const Taken& one : taken) free_in_arena(memory.get(), one.place.name);
    EXPECT_TRUE(arena.is_unused());
    // The longest place is there again, wherever the last lap has ended.
    EXPECT_NE(arena.take(arena.most_bytes()).data, nullptr);
  }
}

// In bytes of `memory` that were ever written.
std::size_t touched(const SharedMemory& memory, std::size_t bytes) {
  std::vector<unsigned char> pages(bytes / 4096);
  mincore(memory.get(), bytes, pages.data());
  return 4096 *
         static_cast<std::size_t>(std::ranges::count_if(pages, [](unsigned char p) { return (p & 1) != 0; }));
}

TEST(Arena, FewMessagesTouchLittle) {
  constexpr std::size_t arena_bytes = std::size_t{4} << 20;
  const SharedMemory memory(arena_bytes);
  Arena arena(memory.get(), arena_bytes);
  const auto send = [&](std::size_t bytes, int count) {
    for (int i = 0; i < count; ++i) {
      const ArenaPlace place = arena.take(bytes);
      ASSERT_NE(place.data, nullptr);
      std::memset(place.data, 1, bytes);
      free_in_arena(memory.get(), place.name);
    }
  };
  send(4000, 300);
  EXPECT_LE(touched(memory, arena_bytes), std::size_t{48} << 10);
  // However many they are.
  send(4000, 100'000);
  EXPECT_LE(touched(memory, arena_bytes), std::size_t{300} << 10);
  // Readers that are behind need more.
  std::vector<std::uint64_t> unread;
  for (int step = 0; step < 2000; ++step) {
    const ArenaPlace place = arena.take(4000);
    if (place.data != nullptr) {
      std::memset(place.data, 1, 4000);
      unread.push_back(place.name);
    } else {
      for (const std::uint64_t name : unread) free_in_arena(memory.get(), name);
      unread.clear();
    }
  }
  EXPECT_GE(touched(memory, arena_bytes), std::size_t{500} << 10);
}

TEST(Arena, TooLongAPlaceIsRefused) {
  const SharedMemory memory(64 << 10);
  Arena arena(memory.get(), 64 << 10);
  EXPECT_EQ(arena.take(arena.most_bytes() + 1).data, nullptr);
  EXPECT_NE(arena.take(arena.most_bytes()).data, nullptr);
}

}  // namespace
}  // namespace unisono::shm
