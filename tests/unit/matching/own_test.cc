// SPDX-License-Identifier: BSD-3-Clause
// Unisono's own structure: its memory, its table as it grows and shrinks, numbers that begin anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>

#include "../seed.h"
#include "matching/catalogue.h"
#include "traces.h"

namespace unisono::matching {
namespace {

std::unique_ptr<Queues> own(const Setup& setup = {.ranks = 1024}) {
  return make_queues(*find("own"), setup);
}

Item item_of(int number) {
  return reinterpret_cast<Item>(static_cast<std::intptr_t>(number) + 1);
}

Envelope exact(int number) {
  return {.source = number % 64, .tag = number / 64};
}

TEST(Own, MemoryIsProportionalToDepth) {
  constexpr double most_bytes_an_entry = 64;
  const auto queues = own();
  const std::size_t empty = queues->memory_bytes();
  double worst = 0;
  for (int depth = 1; depth <= 200'000; ++depth) {
    EXPECT_EQ(queues->post(exact(depth), item_of(depth)), nullptr);
    if (depth < 1000) continue;
    worst = std::max(worst, static_cast<double>(queues->memory_bytes() - empty) / depth);
  }
  EXPECT_LE(worst, most_bytes_an_entry);
}

TEST(Own, AnUnexpectedMessageTakesANodeAndItsIndexNoMoreThanAReceive) {
  constexpr double most_bytes_of_nodes = 64, most_bytes_of_an_index = 48;
  const auto queues = own();
  const std::size_t empty = queues->memory_bytes();
  double worst = 0, worst_with_index = 0;
  for (int depth = 1; depth <= 100'000; ++depth) {
    EXPECT_EQ(queues->arrive(exact(depth), item_of(depth)), nullptr);
    if (depth >= 1000) worst = std::max(worst, static_cast<double>(queues->memory_bytes() - empty) / depth);
  }
  EXPECT_LE(worst, most_bytes_of_nodes);
  // From here on there is an index of exact receives.
  EXPECT_EQ(queues->take(exact(99'999)), item_of(99'999));
  for (int depth = 100'000; depth <= 200'000; ++depth) {
    queues->arrive(exact(depth + 1), item_of(depth + 1));
    worst_with_index =
        std::max(worst_with_index, static_cast<double>(queues->memory_bytes() - empty) / depth);
  }
  EXPECT_LE(worst_with_index, most_bytes_of_nodes + most_bytes_of_an_index);
}

// A burst, and afterwards `left` entries with short exchanges around them.
void expect_memory_back(bool are_receives, int left) {
  SCOPED_TRACE(std::to_string(left) + (are_receives ? " receives" : " messages") + " are left");
  constexpr int burst = 50'000;
  constexpr std::size_t small = 32 << 10;
  const auto queues = own();
  const auto begin = [&](int n) {
    EXPECT_EQ(are_receives ? queues->post(exact(n), item_of(n)) : queues->arrive(exact(n), item_of(n)),
              nullptr);
  };
  const auto end = [&](int n) {
    EXPECT_EQ(are_receives ? queues->arrive(exact(n), item_of(n)) : queues->post(exact(n), item_of(n)),
              item_of(n));
  };
  for (int n = 0; n < burst; ++n) begin(n);
  EXPECT_GT(queues->memory_bytes(), small);
  for (int n = left; n < burst; ++n) end(n);
  for (int n = burst; n < 10 * burst; ++n) {
    begin(n);
    end(n);
  }
  EXPECT_LT(queues->memory_bytes(), small);
  for (int n = 0; n < left; ++n) end(n);
}

TEST(Own, MemoryOfABurstIsGivenBack) {
  for (const bool are_receives : {false, true})
    for (const int left : {0, 1, 20}) expect_memory_back(are_receives, left);
}

// The nodes are still needed, the table's places are not.
TEST(Own, ATableOfFewKeysBecomesSmallWhateverTheNodes) {
  constexpr int burst = 20'000, waiting = 5'000;
  const auto queues = own();
  for (int n = 0; n < burst; ++n) queues->post(exact(n), item_of(n));
  const std::size_t large = queues->memory_bytes();
  for (int n = 0; n < burst; ++n) queues->arrive(exact(n), item_of(n));
  for (int n = 0; n < 10 * burst; ++n) {
    if (n >= waiting) {
      EXPECT_EQ(queues->arrive(exact(1), item_of(n)), item_of(n - waiting));
    }
    queues->post(exact(1), item_of(n));
  }
  EXPECT_LT(queues->memory_bytes(), large / 2);
}

TEST(Own, MessagesThatLeftByOneIndexAreSweptFromOthers) {
  constexpr int waiting = 100, rounds = 200'000;
  const auto queues = own();
  std::mt19937 random(seed());
  std::deque<int> numbers;
  int next = 0;
  std::size_t most = 0;
  const auto arrive = [&] {
    queues->arrive(exact(next), item_of(next));
    numbers.push_back(next++);
  };
  while (next < waiting) arrive();
  // The short array's messages leave, so that receives of all four shapes look into the table: each has an
  // index from here on.
  for (int number = 0; number < 8; ++number, numbers.pop_front())
    EXPECT_EQ(queues->take(exact(number)), item_of(number));
  for (const Envelope wild : {Envelope{any_source, 0}, Envelope{8, any_tag}, Envelope{any_source, any_tag}})
    EXPECT_EQ(queues->probe(wild), item_of(8));
  for (int i = 0; i < rounds; ++i) {
    arrive();
    const std::size_t at = random() % numbers.size();
    ASSERT_EQ(queues->take(exact(numbers[at])), item_of(numbers[at]));
    numbers.erase(numbers.begin() + static_cast<std::ptrdiff_t>(at));
    most = std::max(most, queues->memory_bytes());
  }
  EXPECT_LT(most, 32U << 10);
  for (const int number : numbers) EXPECT_EQ(queues->take({any_source, any_tag}), item_of(number));
}

TEST(Own, NumbersOfReceivesBeginAnew) {
  const Traffic traffic = {.name = "", .steps = 40'000, .depth = 200, .any_source = 0.3, .any_tag = 0.3};
  const Trace trace = TraceWriter(traffic, seed()).written();
  for (const std::uint32_t left : {0U, 1U, 7U, 500U, 2000U}) {
    SCOPED_TRACE(left);
    const auto queues = own({.ranks = 8, .first_sequence = 0xFFFFFFFF - left});
    EXPECT_EQ(first_wrong_step(queues.get(), trace), trace.steps.size());
  }
}

TEST(Own, FewElementsAreLookedAtWhateverTheTags) {
  constexpr int depth = 5000;
  for (const int stride : {1, 1021, 4096, 32768, 65536}) {
    SCOPED_TRACE(stride);
    const auto queues = own({.ranks = 1, .hash_seed = seed()});
    for (int n = 0; n < depth; ++n) queues->post({.tag = n * stride}, item_of(n));
    for (int n = depth; n-- > 0;) ASSERT_EQ(queues->arrive({.tag = n * stride}, item_of(n)), item_of(n));
    EXPECT_EQ(queues->posted().searches, static_cast<std::uint64_t>(depth));
    // The eight oldest are looked at one by one.
    EXPECT_LE(queues->posted().traversals, 9U * depth);
    EXPECT_EQ(queues->posted().deepest, static_cast<std::uint64_t>(depth));
    EXPECT_EQ(queues->posted().depth, 0U);
  }
}

}  // namespace
}  // namespace unisono::matching
