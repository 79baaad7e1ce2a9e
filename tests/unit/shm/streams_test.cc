// SPDX-License-Identifier: BSD-3-Clause
// Rank counts: 1 to 6 and 9.
#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <tuple>

#include "ranks.h"
#include "shm/slice/slice_state.h"

namespace unisono::shm {
namespace {

constexpr std::size_t ring_bytes = 8192;

// Around the ends of lines, of pieces, of the ring.
constexpr std::array<std::size_t, 20> lengths = {0,
                                                 0,
                                                 0,
                                                 1,
                                                 63,
                                                 64,
                                                 65,
                                                 1000,
                                                 4095,
                                                 4096,
                                                 4097,
                                                 ring_bytes - 64,
                                                 ring_bytes - 1,
                                                 ring_bytes,
                                                 ring_bytes + 1,
                                                 2 * ring_bytes - 1,
                                                 2 * ring_bytes,
                                                 3 * ring_bytes + 17,
                                                 9 * ring_bytes + 4097,
                                                 100'000};

using Bytes = std::vector<unsigned char>;

std::uint32_t drawn(std::uint32_t call, int from, int to) {
  std::minstd_rand random(call * 7919 + static_cast<std::uint32_t>(from * 131 + to) + 1);
  random.discard(3);
  return static_cast<std::uint32_t>(random());
}
// What rank `from` sends to rank `to` in call `call`.
Bytes block(std::uint32_t call, int from, int to) {
  Bytes bytes(lengths[drawn(call, from, to) % lengths.size()]);
  std::uint32_t next = drawn(call, from, to);
  for (unsigned char& byte : bytes)
    byte = static_cast<unsigned char>((next = next * 1664525U + 1013904223U) >> 24);
  return bytes;
}

// One rank's part of a call in which all pairs may have blocks; who neither sends nor gets any is not held.
void exchange(Slice& slice, std::uint32_t call) {
  const int rank = slice.local_rank(), ranks = slice.local_size();
  std::vector<Bytes> sent(static_cast<std::size_t>(ranks)), got(sent.size()), expected(sent.size());
  for (int distance = 1; distance < ranks; ++distance) {
    const int peer = (rank + distance) % ranks;
    const auto i = static_cast<std::size_t>(peer);
    sent[i] = block(call, rank, peer);
    expected[i] = block(call, peer, rank);
    got[i].assign(expected[i].size() + 1, 0xEE);
    expected[i].push_back(0xEE);
    slice.send_stream(sent[i].data(), sent[i].size(), peer);
    slice.get_stream(got[i].data(), got[i].size() - 1, peer);
  }
  slice.run_streams();
  EXPECT_TRUE(got == expected) << "call " << call << " rank " << rank;
}

class Streams : public ::testing::TestWithParam<std::tuple<int, WaitPolicy>> {
 protected:
  static void run_calls(Slice& slice) {
    Delays delays(static_cast<std::uint32_t>(slice.local_rank()) + 1);
    for (std::uint32_t call = 0; call < 150 && !HasFailure(); ++call) {
      delays.maybe();
      exchange(slice, call);
      if (call % 16 == 0) slice.barrier();
    }
  }
  SliceShape shape_{.local_size = std::get<0>(GetParam()), .ring_lines = 256, .stream_bytes = ring_bytes};
  WaitConfig wait_{.policy = std::get<1>(GetParam())};
};

TEST_P(Streams, random_lengths_in_threads) {
  run_threads(shape_, wait_, run_calls);
}

TEST_P(Streams, random_lengths_in_processes) {
  run_processes(shape_, wait_, run_calls);
}

std::string case_name(const ::testing::TestParamInfo<Streams::ParamType>& info) {
  return std::to_string(std::get<0>(info.param)) + "_ranks_" + std::string(name(std::get<1>(info.param)));
}
INSTANTIATE_TEST_SUITE_P(Yield, Streams,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4, 5, 6, 9),
                                            ::testing::Values(WaitPolicy::yield)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Policies, Streams,
                         ::testing::Combine(::testing::Values(2, 3),
                                            ::testing::Values(WaitPolicy::spin, WaitPolicy::pause,
                                                              WaitPolicy::futex, WaitPolicy::sleep)),
                         case_name);

SliceShape shape_of(int ranks) {
  return {.local_size = ranks, .ring_lines = 256, .stream_bytes = ring_bytes};
}
const WaitConfig yielding = {.policy = WaitPolicy::yield};

TEST(StreamsAlone, a_slice_without_them_takes_no_memory_for_them) {
  const SliceShape with = shape_of(4), without = {.local_size = 4, .ring_lines = 256};
  EXPECT_GE(with.bytes(), without.bytes() + 12 * ring_bytes);
  run_threads(with, yielding, [](Slice& slice) { EXPECT_TRUE(slice.has_streams()); });
  run_threads(without, yielding, [](Slice& slice) { EXPECT_FALSE(slice.has_streams()); });
}

// Every length up to beyond the ring, at every place of the ring where a block may begin.
TEST(StreamsAlone, many_lengths_one_after_the_other) {
  run_threads(shape_of(2), yielding, [](Slice& slice) {
    for (std::size_t bytes = 1; bytes < 2 * ring_bytes + 200; bytes += bytes % 64 == 1 ? 62 : 1) {
      Bytes sent(bytes, static_cast<unsigned char>(bytes)), got(bytes, 0);
      sent.back() = 1;
      if (slice.local_rank() == 0) slice.send_stream(sent.data(), bytes, 1);
      if (slice.local_rank() == 1) slice.get_stream(got.data(), bytes, 0);
      slice.run_streams();
      if (slice.local_rank() == 1) {
        ASSERT_TRUE(got == sent) << bytes;
      }
    }
  });
}

// Rings that begin with a part of themselves, and blocks from some lines to several of such parts. In the
// three lengths of a ring, what comes behind the first part is a multiple of it, one page, and no multiple.
TEST(StreamsAlone, a_ring_grows_under_what_is_on_its_way) {
  constexpr std::size_t first = StreamEnd::first_lap_bytes;
  constexpr std::size_t grown = 3 * first * StreamEnd::bytes_for_a_new_byte;
  for (const std::size_t whole : {2 * first, first + 4096, 3 * first - 8192}) {
    run_threads({.local_size = 2, .ring_lines = 256, .stream_bytes = whole}, yielding, [&](Slice& slice) {
      Delays delays(static_cast<std::uint32_t>(slice.local_rank()) + 1);
      std::minstd_rand common(7);
      const int other = 1 - slice.local_rank();
      std::size_t moved = 0;
      for (std::uint32_t call = 0; moved < grown + 5 * whole; ++call) {
        const std::size_t bytes = common() % (call % 4 == 0 ? 5 * first : first) + 1;
        moved += bytes;
        std::vector<std::uint32_t> sent(bytes / 4 + 1), got(bytes / 4 + 1), expected(bytes / 4 + 1);
        for (std::uint32_t i = 0; i < sent.size(); ++i) {
          sent[i] = i * 2654435761U + call * 2U + static_cast<std::uint32_t>(slice.local_rank());
          expected[i] = i * 2654435761U + call * 2U + static_cast<std::uint32_t>(other);
        }
        delays.maybe();
        slice.send_stream(sent.data(), sent.size() * 4, other);
        slice.get_stream(got.data(), got.size() * 4, other);
        slice.run_streams();
        ASSERT_TRUE(got == expected) << "call " << call << " of " << bytes << " bytes after " << moved;
      }
    });
  }
}

// Blocks of one rank to some of the others, and now and then of pairs, in the same memory.
bool reads(int writer, int reader) {
  return writer != reader && (writer + 2 * reader) % 3 != 0;
}
std::vector<int> readers_of(const Slice& slice) {
  std::vector<int> readers;
  for (int reader = 0; reader < slice.local_size(); ++reader)
    if (reads(slice.local_rank(), reader)) readers.push_back(reader);
  return readers;
}
void exchange_with_readers(Slice& slice, std::uint32_t call) {
  const int rank = slice.local_rank(), ranks = slice.local_size();
  const auto given = [&](int writer, std::uint32_t number) {
    return block(call * 2 + number, writer, writer);
  };
  const Bytes first = given(rank, 0), second = given(rank, 1);
  std::vector<Bytes> got, expected;
  got.reserve(2 * static_cast<std::size_t>(ranks));
  if (!readers_of(slice).empty()) {
    slice.send_to_readers(first.data(), first.size());
    slice.send_to_readers(second.data(), second.size());
  }
  for (int writer = 0; writer < ranks; ++writer) {
    if (!reads(writer, rank)) continue;
    for (const std::uint32_t number : {0U, 1U}) {
      expected.push_back(given(writer, number));
      got.emplace_back(expected.back().size(), 0xEE);
      slice.get_from_writer(got.back().data(), got.back().size(), writer);
    }
  }
  slice.run_streams();
  EXPECT_TRUE(got == expected) << "call " << call << " rank " << rank;
}

TEST_P(Streams, to_all_readers_and_to_single_ranks_in_one_memory) {
  run_threads(shape_, wait_, [](Slice& slice) {
    slice.set_readers(readers_of(slice));
    Delays delays(static_cast<std::uint32_t>(slice.local_rank()) + 1);
    for (std::uint32_t call = 0; call < 100 && !HasFailure(); ++call) {
      delays.maybe();
      if (drawn(call, 0, 0) % 3 == 0) {
        exchange(slice, call);
      } else {
        exchange_with_readers(slice, call);
      }
    }
  });
}

TEST(StreamsAlone, several_blocks_to_one_rank_come_in_order) {
  run_threads(shape_of(2), yielding, [](Slice& slice) {
    const int other = 1 - slice.local_rank();
    for (std::uint32_t call = 0; call < 50 && !HasFailure(); ++call) {
      std::vector<Bytes> sent, got, expected;
      for (std::uint32_t i = 0; i < 4; ++i) {
        sent.push_back(block(4 * call + i, slice.local_rank(), other));
        expected.push_back(block(4 * call + i, other, slice.local_rank()));
        got.emplace_back(expected.back().size());
      }
      for (std::size_t i = 0; i < sent.size(); ++i) {
        slice.send_stream(sent[i].data(), sent[i].size(), other);
        slice.get_stream(got[i].data(), got[i].size(), other);
      }
      slice.run_streams();
      EXPECT_TRUE(got == expected) << "call " << call;
    }
  });
}

// Of bytes that go through a ring, few are the first ones in their page.
TEST(StreamsAlone, a_ring_grows_page_by_page) {
  constexpr std::size_t first = StreamEnd::first_lap_bytes, whole = 3 * first + page_bytes;
  StreamEnd end;
  end.use_ring(nullptr, whole);
  EXPECT_EQ(end.lap_bytes, first);
  std::size_t furthest = first, fresh_in_block = 0;
  for (std::size_t moved = 0; moved < 3 * first * StreamEnd::bytes_for_a_new_byte; moved += 64) {
    if (moved % (128 * 1024) == 0) fresh_in_block = 0;
    const std::size_t behind = end.place() + 64;
    ASSERT_LE(behind, end.lap_bytes);
    if (behind > furthest) fresh_in_block += behind - furthest, furthest = behind;
    ASSERT_LE(fresh_in_block, whole / StreamEnd::bytes_for_a_new_byte + page_bytes) << moved;
    end.advance(64);
  }
  EXPECT_EQ(furthest, whole);
  EXPECT_EQ(end.lap_bytes, whole);
}

// A lap may be longer than the one before: what lay there may not have been read yet.
TEST(StreamsAlone, a_longer_lap_has_no_more_room) {
  constexpr std::size_t first = StreamEnd::first_lap_bytes;
  StreamEnd end;
  end.use_ring(nullptr, 3 * first);
  end.advance(first);
  EXPECT_EQ(end.place(), 0U);
  EXPECT_EQ(end.lap_bytes, first + page_bytes);
  EXPECT_EQ(end.room(), 0U) << "nothing has been read";
  end.seen = 64;
  EXPECT_EQ(end.room(), 64U);
  end.seen = end.position;
  EXPECT_EQ(end.room(), first);
}

TEST(StreamsAlone, a_short_ring_is_used_as_a_whole) {
  StreamEnd end;
  end.use_ring(nullptr, ring_bytes);
  end.advance(ring_bytes);
  EXPECT_EQ(end.lap_bytes, ring_bytes);
  EXPECT_EQ(end.place(), 0U);
}

TEST(StreamsAlone, who_has_written_all_leaves) {
  std::atomic<bool> is_first_done = false;
  run_threads(shape_of(2), yielding, [&](Slice& slice) {
    Bytes sent(ring_bytes / 2, 5), got(ring_bytes / 2);
    for (int call = 0; call < 2; ++call) {
      if (slice.local_rank() == 0) {
        slice.send_stream(sent.data(), sent.size(), 1);
        slice.run_streams();
        if (call == 1) is_first_done.store(true);
        continue;
      }
      while (!is_first_done.load()) sched_yield();
      slice.get_stream(got.data(), got.size(), 0);
      slice.run_streams();
      EXPECT_TRUE(got == sent);
    }
  });
}

// Blocks that the rings do not hold: rank 1 has all its own before rank 2 comes.
TEST(StreamsAlone, a_late_rank_holds_up_nobody_else) {
  std::atomic<bool> is_other_served = false;
  run_threads(shape_of(3), yielding, [&](Slice& slice) {
    const Bytes sent(10 * ring_bytes, 5);
    Bytes got(sent.size()), more(sent.size());
    const int rank = slice.local_rank();
    if (rank == 2) {
      while (!is_other_served.load()) sched_yield();
    }
    for (const int peer : {2, 1}) {
      if (rank != 0 && rank != peer) continue;
      slice.send_stream(sent.data(), sent.size(), rank == 0 ? peer : 0);
      slice.get_stream(rank == 0 && peer == 2 ? more.data() : got.data(), got.size(), rank == 0 ? peer : 0);
    }
    slice.run_streams();
    EXPECT_TRUE(got == sent);
    if (rank == 0) {
      EXPECT_TRUE(more == sent);
    }
    if (rank == 1) is_other_served.store(true);
  });
}

// Both who waits and who moves on and on makes the host progress.
TEST(StreamsAlone, ranks_call_the_hook) {
  for (const WaitPolicy policy :
       {WaitPolicy::spin, WaitPolicy::pause, WaitPolicy::yield, WaitPolicy::futex, WaitPolicy::sleep}) {
    struct Calls {
      std::atomic<int> all = 0, late = 0;
    } calls;
    const ProgressHook hook = {[](void* argument) { static_cast<Calls*>(argument)->all.fetch_add(1); },
                               &calls};
    const Bytes sent(std::size_t{4} << 20, 3);
    run_threads(shape_of(2), {.policy = policy, .progress = hook}, [&](Slice& slice) {
      Bytes got(sent.size());
      // Rank 1 comes only when rank 0, which waits, has made progress three times.
      if (slice.local_rank() == 1) {
        while (calls.all.load() < 3) sched_yield();
        calls.late.store(calls.all.load());
        slice.send_stream(sent.data(), sent.size(), 0);
      } else {
        slice.get_stream(got.data(), got.size(), 1);
      }
      slice.run_streams();
      if (slice.local_rank() == 0) {
        EXPECT_TRUE(got == sent);
      }
    });
    EXPECT_GE(calls.late.load(), 3) << name(policy);
    EXPECT_GE(calls.all.load(), calls.late.load() + 32) << name(policy);
  }
}

}  // namespace
}  // namespace unisono::shm
