// SPDX-License-Identifier: BSD-3-Clause
// Rank counts: 2 and 3.
#include <cstring>
#include <numeric>

#include "base/clock.h"
#include "ranks.h"
#include "shm/slice/slot_copy.h"

namespace unisono::shm {
namespace {

std::vector<unsigned char> pattern(std::size_t bytes, unsigned seed) {
  std::vector<unsigned char> data(bytes);
  std::minstd_rand random(seed + 1);
  for (unsigned char& byte : data) byte = static_cast<unsigned char>(random() >> 7);
  return data;
}

TEST(CopyStreaming, any_length_at_any_address) {
  for (const std::size_t bytes : {0, 1, 15, 63, 64, 65, 127, 128, 1000, 4096, 70'001}) {
    for (std::size_t to = 0; to < 70; to += 9) {
      for (const std::size_t from : {0, 1, 8}) {
        const std::vector<unsigned char> source = pattern(bytes + from + 1, 3);  // never null
        std::vector<unsigned char> target(bytes + to + 1, 0xAB);
        copy_streaming(target.data() + to, source.data() + from, bytes);
        ASSERT_EQ(std::memcmp(target.data() + to, source.data() + from, bytes), 0) << bytes << ' ' << to;
        ASSERT_EQ(target[to + bytes], 0xAB);
        for (std::size_t i = 0; i < to; ++i) ASSERT_EQ(target[i], 0xAB);
      }
    }
  }
}

// Enough puts for trials of both kinds; the flag alone says that the bytes are there.
void pass_on(Slice& slice, std::size_t bytes, int calls) {
  Slice::Use use = slice.plan(0, false, 2, 1);
  for (int call = 0; call < calls; ++call) {
    slice.begin(&use, 1, 1);
    const std::vector<unsigned char> expected = pattern(bytes, static_cast<unsigned>(call));
    Backoff backoff(slice.wait_config());
    // An odd place in the slot, as a part of a piece may have.
    char* slot = slice.slot(use, 0, 0, 0) + 3;
    if (slice.local_rank() == 0) {
      while (!slice.all_reached(0, Slice::space_tick(use, 0))) backoff.step();
      slice.put(slot, expected.data(), bytes, 0);
    } else {
      std::vector<unsigned char> got(bytes);
      while (slice.flag(0, 0) < use.base_tick + 1) backoff.step();
      slice.get(got.data(), slot, bytes, 0, call % 2 == 0);
      ASSERT_EQ(got, expected) << call;
    }
    slice.end(use);
  }
}

TEST(Transfer, what_is_put_is_got) {
  for (const int ranks : {2, 3}) {
    run_threads({.local_size = ranks, .area_bytes = 256 * 1024}, {.policy = WaitPolicy::yield},
                [](Slice& slice) {
                  pass_on(slice, 16 * 1024 + 5, 2200);
                  pass_on(slice, 100'000, 60);
                  pass_on(slice, 77, 20);
                  pass_on(slice, 0, 2);
                });
  }
}

// Of `count` puts, how many were plain, where writing takes as long as is said and reading 10 us; the first
// eight so much longer.
int plain_puts(int count, std::uint64_t plain_us, std::uint64_t streamed_us, std::uint64_t first_us = 0) {
  constexpr std::size_t bytes = 64 * 1024;
  const SliceShape shape{.local_size = 2, .area_bytes = 256 * 1024};
  const SharedMemory memory(shape.bytes());
  Slice writer(memory.get(), shape, 0, {.policy = WaitPolicy::pause});
  Slice reader(memory.get(), shape, 1, {.policy = WaitPolicy::pause});
  const char* slot = writer.slot(writer.plan(0, false, 2, 1), 0, 0, 0);
  int plain = 0;
  for (int i = 0; i < count; ++i) {
    Slice::Transfer put = writer.begin_put(slot, bytes, 0);
    if (!put.is_past_caches) ++plain;
    const std::uint64_t more_us = i < 8 ? first_us : 0;
    const std::uint64_t put_us = (put.is_past_caches ? streamed_us : plain_us) + more_us;
    if (put.start_ns != 0) put.start_ns = now_ns() - 1000 * put_us;
    writer.end_put(put);
    Slice::Transfer get = reader.begin_get(slot, bytes, 0);
    if (get.start_ns != 0) get.start_ns = now_ns() - 1000 * (10 + more_us);
    reader.end_get(get);
  }
  return plain;
}

TEST(Transfer, a_hopeless_trial_ends_early) {
  EXPECT_LE(plain_puts(150, 2000, 10), 6);  // two trials
  EXPECT_LE(plain_puts(60, 25, 10), 12);    // as soon as all slots have been written twice
  EXPECT_GE(plain_puts(100, 12, 10), 16);   // what is not much worse is measured
  EXPECT_GE(plain_puts(400, 5, 40), 250);   // what is better is taken
}

// Both of putting and getting. Calls of 64 KiB took twice as long until the 105th.
TEST(Transfer, the_first_touch_of_slots_says_nothing_of_a_mode) {
  EXPECT_LE(plain_puts(60, 15, 10, 100), 16);  // one trial
}

TEST(Transfer, between_processes) {
  run_processes({.local_size = 2, .area_bytes = 256 * 1024}, {.policy = WaitPolicy::yield},
                [](Slice& slice) { pass_on(slice, 20'000, 2200); });
}

}  // namespace
}  // namespace unisono::shm
