// SPDX-License-Identifier: BSD-3-Clause
// The channel protocol (docs/inside/memory.md) with collectives written by hand: a pipelined bcast out
// of the root's own slots, and a gather-like exchange through the common area. Rank counts: 1 to 8.
#include <array>
#include <atomic>
#include <cstring>
#include <set>
#include <string>

#include "ranks.h"

namespace unisono::shm {
namespace {

void await(Slice& slice, int channel, int rank, std::uint64_t tick) {
  Backoff backoff(slice.wait_config());
  while (slice.flag(channel, rank) < tick) backoff.step();
}
void await_all(Slice& slice, int channel, std::uint64_t tick) {
  Backoff backoff(slice.wait_config());
  while (!slice.all_reached(channel, tick)) backoff.step();
}
std::uint64_t tick_of(const Slice::Use& use, std::int64_t piece, int tick) {
  return use.base_tick + static_cast<std::uint64_t>(piece * use.ticks + tick);
}

std::uint32_t word(int rank, std::uint32_t call, std::int64_t piece) {
  return call * 1000003U + static_cast<std::uint32_t>(piece) * 101U + static_cast<std::uint32_t>(rank);
}
void fill(char* into, std::size_t bytes, std::uint32_t value) {
  for (std::size_t i = 0; i + 4 <= bytes; i += 4) std::memcpy(into + i, &value, 4);
}
void expect_filled(const char* from, std::size_t bytes, std::uint32_t value) {
  for (std::size_t i = 0; i + 4 <= bytes; i += 4) {
    std::uint32_t got = 0;
    std::memcpy(&got, from + i, 4);
    ASSERT_EQ(got, value);
  }
}

// What a piece takes of a lane: all of it, or one of `shares` of it.
std::size_t piece_bytes(const Slice::Use& use, int shares) {
  return use.lane_bytes / static_cast<std::size_t>(shares);
}

// sender_put, group_sync, group_get (A1, table 2.3), two ticks a piece: written, finished.
void bcast(Slice& slice, std::uint32_t call, int root, std::int64_t pieces, int buffers, int shares,
           Delays* delays) {
  Slice::Use use = slice.plan(0, false, buffers, 1);
  slice.begin(&use, pieces, 2);
  const std::size_t bytes = piece_bytes(use, shares);
  slice.spread(&use, bytes);
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    delays->maybe();
    char* slot = slice.slot(use, piece, root, 0);
    if (slice.local_rank() == root) {
      await_all(slice, 0, Slice::space_tick(use, piece));
      fill(slot, bytes, word(root, call, piece));
    } else {
      await(slice, 0, root, tick_of(use, piece, 1));
      expect_filled(slot, bytes, word(root, call, piece));
    }
    slice.set_flag(0, tick_of(use, piece, slice.local_rank() == root && piece + 1 < pieces ? 1 : 2));
    if (slice.local_rank() == root) slice.set_flag(0, tick_of(use, piece, 2));
  }
  slice.end(use);
}

// Everybody puts its lane into the common slot, everybody gets all lanes (group_seg_put, group_sync,
// group_get).
void exchange(Slice& slice, Slice::Use use, std::uint32_t call, int shares, Delays* delays) {
  const std::size_t bytes = piece_bytes(use, shares);
  slice.spread(&use, bytes);
  for (std::int64_t piece = 0; piece < use.pieces; ++piece) {
    delays->maybe();
    await_all(slice, 1, Slice::space_tick(use, piece));
    fill(slice.slot(use, piece, 0, slice.local_rank()), bytes, word(slice.local_rank(), call, piece));
    slice.set_flag(1, tick_of(use, piece, 1));
    await_all(slice, 1, tick_of(use, piece, 1));
    for (int peer = 0; peer < slice.local_size(); ++peer) {
      expect_filled(slice.slot(use, piece, 0, peer), bytes, word(peer, call, piece));
    }
    slice.set_flag(1, tick_of(use, piece, 3));
  }
}

// In two uses, the second of which goes on with the first.
void exchange(Slice& slice, std::uint32_t call, std::int64_t pieces, int buffers, int shares,
              Delays* delays) {
  Slice::Use use = slice.plan(1, true, buffers, slice.local_size());
  slice.begin(&use, pieces / 2, 3);
  const Slice::Use first = use;
  const Slice::Use second = Slice::go_on(&use, pieces - pieces / 2);
  EXPECT_EQ(use.pieces, pieces);
  exchange(slice, first, call, shares, delays);
  exchange(slice, second, call + 1000, shares + 1, delays);
  slice.end(use);
}

class Channels : public ::testing::TestWithParam<int> {
 protected:
  SliceShape shape_{.local_size = GetParam(), .area_bytes = 4096, .ring_lines = 256};
};

// Different roots, numbers and lengths of pieces, buffers and ticks follow each other on the same channels.
void mixed_calls(Slice& slice, std::uint32_t calls) {
  std::minstd_rand common(3);
  Delays delays(static_cast<std::uint32_t>(slice.local_rank()) + 1);
  for (std::uint32_t call = 0; call < calls && !::testing::Test::HasFatalFailure(); ++call) {
    const int root = static_cast<int>(common() % static_cast<std::uint32_t>(slice.local_size()));
    const auto pieces = static_cast<std::int64_t>(common() % 8);
    const int buffers = std::array<int, 4>{2, 2, 4, 16}[common() % 4];
    const int shares = std::array<int, 4>{1, 2, 3, 7}[common() % 4];
    const bool is_bcast = common() % 2 == 0;
    if (is_bcast) {
      bcast(slice, call, root, pieces, buffers, shares, &delays);
    } else {
      exchange(slice, call, pieces, buffers, shares, &delays);
    }
  }
}

TEST_P(Channels, mixed_calls_in_threads) {
  for (const WaitPolicy policy : {WaitPolicy::yield, WaitPolicy::futex, WaitPolicy::sleep}) {
    run_threads(shape_, {.policy = policy}, [](Slice& slice) { mixed_calls(slice, 400); });
  }
}

TEST_P(Channels, mixed_calls_in_processes) {
  run_processes(shape_, {.policy = WaitPolicy::yield}, [](Slice& slice) { mixed_calls(slice, 400); });
}

TEST_P(Channels, mixed_calls_with_room_to_spread) {
  shape_.area_bytes = 32 * 1024;
  run_threads(shape_, {.policy = WaitPolicy::yield}, [](Slice& slice) { mixed_calls(slice, 100); });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Channels, ::testing::Range(1, 9));

// Where the first piece of so many lies, behind the slot's beginning, in pages.
std::vector<std::ptrdiff_t> places(Slice& slice, std::size_t longest_bytes, int pieces) {
  Slice::Use use = slice.plan(0, false, 2, 1);
  slice.begin(&use, pieces, 1);
  slice.spread(&use, longest_bytes);
  std::vector<std::ptrdiff_t> found;
  for (int piece = 0; piece < pieces; ++piece) {
    Slice::Use unspread = use;
    unspread.places = 1;
    found.push_back((slice.slot(use, piece, 0, 0) - slice.slot(unspread, piece, 0, 0)) / 4096);
  }
  slice.set_flag(0, tick_of(use, pieces - 1, 1));
  slice.end(use);
  return found;
}

// As if so many pieces of a whole slot had gone through two slots.
void skip(Slice& slice, std::int64_t pieces) {
  Slice::Use use = slice.plan(0, false, 2, 1);
  slice.begin(&use, pieces, 1);
  slice.end(use);
}

constexpr auto bytes_for_a_new_byte = static_cast<std::int64_t>(Slice::bytes_for_a_new_byte(1 << 20));

TEST(ChannelRules, short_pieces_go_through_all_of_a_slot) {
  SliceShape shape{.local_size = 1, .area_bytes = 64 * 1024};
  run_threads(shape, {}, [](Slice& slice) {
    using Places = std::vector<std::ptrdiff_t>;
    skip(slice, 4 * bytes_for_a_new_byte);
    EXPECT_EQ(places(slice, 10000, 7), (Places{0, 0, 3, 3, 0, 0, 3}))
        << "two of three pages in each of two slots";
    EXPECT_EQ(places(slice, 10000, 3), (Places{3, 0, 0})) << "where the call before has ended";
    EXPECT_EQ(places(slice, 32 * 1024, 3), (Places{0, 0, 0})) << "as long as a slot";
    EXPECT_EQ(places(slice, 8192, 3), (Places{0, 0, 0})) << "little enough to stay near";
  });
  shape.is_spread = false;
  run_threads(shape, {}, [](Slice& slice) {
    skip(slice, 4 * bytes_for_a_new_byte);
    EXPECT_EQ(places(slice, 10000, 4), (std::vector<std::ptrdiff_t>(4, 0)));
  });
}

// How many places of a slot calls of one piece have come to.
std::size_t places_of_calls(Slice& slice, std::size_t longest_bytes, int calls) {
  std::set<std::ptrdiff_t> found;
  for (int call = 0; call < calls; ++call) found.insert(places(slice, longest_bytes, 1).front());
  return found.size();
}

// A page costs as much at its first touch as spreading gains with tens of pieces.
TEST(ChannelRules, a_slots_memory_comes_into_use_as_bytes_go_through_it) {
  constexpr std::size_t piece_bytes = 12 * 1024, places_in_all = 10;
  const SliceShape shape{.local_size = 1, .area_bytes = 2 * places_in_all * piece_bytes};
  constexpr int calls_of_place = 2 * static_cast<int>(Slice::bytes_for_a_new_byte(piece_bytes));
  run_threads(shape, {}, [&](Slice& slice) {
    EXPECT_EQ(places_of_calls(slice, piece_bytes, 2 * calls_of_place), 1u) << "the first calls";
    EXPECT_EQ(places_of_calls(slice, piece_bytes, calls_of_place), 2u);
    EXPECT_EQ(places_of_calls(slice, piece_bytes, calls_of_place), 3u);
    places_of_calls(slice, piece_bytes, 6 * calls_of_place);
    EXPECT_EQ(places_of_calls(slice, piece_bytes, 2 * calls_of_place), places_in_all);
    EXPECT_EQ(places_of_calls(slice, piece_bytes, calls_of_place), places_in_all) << "and no more";
    EXPECT_EQ(places_of_calls(slice, 2 * piece_bytes, calls_of_place), places_in_all / 2) << "longer ones";
  });
}

TEST(ChannelRules, longer_pieces_come_into_fresh_memory_more_seldom) {
  constexpr std::size_t piece_bytes = 64 * 1024;
  run_threads({.local_size = 1, .area_bytes = 20 * piece_bytes}, {}, [&](Slice& slice) {
    EXPECT_EQ(places_of_calls(slice, piece_bytes, 4 * static_cast<int>(bytes_for_a_new_byte)), 1u);
    EXPECT_EQ(places_of_calls(slice, piece_bytes, 2 * static_cast<int>(bytes_for_a_new_byte)), 2u);
    places_of_calls(slice, 2 * piece_bytes, 8 * static_cast<int>(bytes_for_a_new_byte));
    EXPECT_EQ(places_of_calls(slice, 2 * piece_bytes, 8), 1u) << "they leave caches by themselves";
  });
}

TEST(ChannelRules, plan_makes_aligned_slots_and_lanes) {
  run_threads({.local_size = 3, .area_bytes = 8192}, {}, [](Slice& slice) {
    const Slice::Use own = slice.plan(0, false, 3, 5);
    EXPECT_EQ(own.slot_bytes, 8192U / 3 / 64 * 64);
    EXPECT_EQ(own.lane_bytes, own.slot_bytes / 5 / 64 * 64);
    const Slice::Use common = slice.plan(0, true, 2, 3);
    EXPECT_EQ(common.slot_bytes, 3U * 8192U / 2);
    EXPECT_EQ(common.lane_bytes, 4096U);
    EXPECT_EQ(slice.plan(0, false, 1000, 1).buffers, max_buffers);
    EXPECT_EQ(slice.plan(0, false, 64, 3).lane_bytes, 0U);
  });
}

TEST(ChannelRules, slots_do_not_overlap_and_lie_in_the_slice) {
  const SliceShape shape{.local_size = 3, .area_bytes = 8192};
  const SharedMemory memory(shape.bytes());
  Slice slice(memory.get(), shape, 1, {});
  std::vector<char*> starts;
  for (int channel = 0; channel < channel_count; ++channel) {
    Slice::Use use = slice.plan(channel, false, 4, 2);
    slice.begin(&use, 4, 1);
    for (int owner = 0; owner < 3; ++owner) {
      for (std::int64_t piece = 0; piece < 4; ++piece) {
        for (int lane = 0; lane < 2; ++lane) starts.push_back(slice.slot(use, piece, owner, lane));
      }
    }
  }
  std::sort(starts.begin(), starts.end());
  for (std::size_t i = 1; i < starts.size(); ++i) EXPECT_EQ(starts[i] - starts[i - 1], 1024);
  EXPECT_LE(starts.back() + 1024, static_cast<char*>(memory.get()) + shape.bytes());
}

// One rank alone, so that the counters can be followed.
TEST(ChannelRules, space_tick_is_the_end_of_the_piece_that_used_the_slot) {
  const SliceShape shape{.local_size = 1, .area_bytes = 4096};
  const SharedMemory memory(shape.bytes());
  Slice slice(memory.get(), shape, 0, {});
  const auto use = [&](int buffers, std::int64_t pieces, int ticks) {
    Slice::Use made = slice.plan(0, false, buffers, 1);
    slice.begin(&made, pieces, ticks);
    return made;
  };
  // First call: 3 pieces of 2 ticks through 2 slots: ticks 2, 4, 6.
  Slice::Use first = use(2, 3, 2);
  EXPECT_EQ(Slice::space_tick(first, 0), 0U);
  EXPECT_EQ(Slice::space_tick(first, 1), 0U);
  EXPECT_EQ(Slice::space_tick(first, 2), 2U);
  slice.end(first);
  EXPECT_EQ(slice.flag(0, 0), 6U);
  // Same geometry, other ticks: pieces 3, 4, 5 follow pieces 1 and 2 of the first call, then piece 3.
  Slice::Use second = use(2, 3, 5);
  EXPECT_EQ(second.base_tick, 6U);
  EXPECT_EQ(Slice::space_tick(second, 0), 4U);
  EXPECT_EQ(Slice::space_tick(second, 1), 6U);
  EXPECT_EQ(Slice::space_tick(second, 2), 11U);
  slice.end(second);
  EXPECT_EQ(slice.flag(0, 0), 21U);
  // Another geometry: all earlier calls must be finished.
  Slice::Use third = use(4, 5, 1);
  EXPECT_EQ(Slice::space_tick(third, 0), 21U);
  EXPECT_EQ(Slice::space_tick(third, 3), 21U);
  EXPECT_EQ(Slice::space_tick(third, 4), 22U);
  slice.end(third);
  // Many pieces in one call: only the last ones are remembered, and only they are asked for.
  Slice::Use fourth = use(4, 1000, 3);
  EXPECT_EQ(Slice::space_tick(fourth, 0), 23U);
  slice.end(fourth);
  Slice::Use fifth = use(4, 1, 3);
  EXPECT_EQ(Slice::space_tick(fifth, 0), 26U + 997U * 3U);
}

// A root may be `buffers` pieces ahead, over calls as well.
TEST(ChannelRules, a_root_runs_ahead_over_calls) {
  std::atomic<bool> is_root_done = false;
  run_threads({.local_size = 2, .area_bytes = 4096}, {.policy = WaitPolicy::yield}, [&](Slice& slice) {
    Delays delays(1);
    if (slice.local_rank() == 1) {
      while (!is_root_done.load()) sched_yield();
    }
    for (std::uint32_t call = 0; call < 4; ++call) bcast(slice, call, 0, 1, 4, 1, &delays);
    is_root_done.store(true);
  });
}

// Single copy: each rank reads what the other exposed, in the other process's memory.
TEST(SingleCopy, reads_another_process) {
  run_processes({.local_size = 3, .area_bytes = 4096}, {.policy = WaitPolicy::yield}, [](Slice& slice) {
    const std::size_t words = 300'000;
    std::vector<std::uint32_t> mine(words, static_cast<std::uint32_t>(slice.local_rank()) + 10);
    Slice::Use use = slice.plan(2, false, 2, 1);
    slice.begin(&use, 1, 2);
    await_all(slice, 2, Slice::space_tick(use, 0));
    slice.expose(use, 0, {.input = reinterpret_cast<std::uint64_t>(mine.data()), .output = 0});
    slice.set_flag(2, tick_of(use, 0, 1));
    await_all(slice, 2, tick_of(use, 0, 1));
    for (int owner = 0; owner < 3; ++owner) {
      std::vector<std::uint32_t> got(words);
      const Exposure exposure = slice.exposed(use, 0, owner);
      ASSERT_TRUE(slice.read_remote(owner, exposure.input, got.data(), words * 4)) << std::strerror(errno);
      EXPECT_EQ(got, std::vector<std::uint32_t>(words, static_cast<std::uint32_t>(owner) + 10));
      EXPECT_FALSE(slice.read_remote(owner, 8, got.data(), 4)) << "an address that is not mapped";
    }
    slice.set_flag(2, tick_of(use, 0, 2));
    await_all(slice, 2, tick_of(use, 0, 2));
    slice.end(use);
  });
}

}  // namespace
}  // namespace unisono::shm
