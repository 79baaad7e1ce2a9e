// SPDX-License-Identifier: BSD-3-Clause
// A lock with an owner: nobody is inside beside another one, and a visitor gets in while the owner is busy.
#include "base/biased_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace unisono {
namespace {

// Two numbers that are equal but while somebody is inside.
struct Guarded {
  volatile std::uint64_t first = 0, second = 0;
  void step() {
    first = first + 1;
    EXPECT_EQ(first, second + 1);
    second = second + 1;
  }
};

void count_together(bool has_owner, int owners) {
  BiasedLock lock;
  if (has_owner) lock.give_to_owner();
  Guarded guarded;
  constexpr int visits = 300, steps = 200'000;
  std::atomic<int> left{owners};
  std::vector<std::thread> threads;
  for (int i = 0; i < owners; ++i) {
    threads.emplace_back([&] {
      for (int step = 0; step < steps; ++step) {
        const BiasedGuard guard(lock);
        guarded.step();
      }
      --left;
    });
  }
  int visited = 0;
  while (visited < visits || left != 0) {
    if (!lock.try_visit()) continue;
    guarded.step();
    ++visited;
    lock.end_visit();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(guarded.first, static_cast<std::uint64_t>(owners) * steps + static_cast<std::uint64_t>(visited));
  EXPECT_EQ(guarded.first, guarded.second);
}

TEST(BiasedLock, OwnerAndVisitorAreNeverInsideTogether) {
  count_together(true, 1);
}

TEST(BiasedLock, WithoutAnOwnerAllAreAlike) {
  count_together(false, 2);
}

TEST(BiasedLock, WhoIsInsideIsNotLetInAgain) {
  for (const bool has_owner : {true, false}) {
    BiasedLock lock;
    if (has_owner) lock.give_to_owner();
    ASSERT_TRUE(lock.try_lock());
    EXPECT_FALSE(lock.try_lock());
    EXPECT_FALSE(lock.try_visit());
    lock.unlock();
    ASSERT_TRUE(lock.try_visit());
    lock.end_visit();
    ASSERT_TRUE(lock.try_lock());
    lock.unlock();
  }
}

}  // namespace
}  // namespace unisono
