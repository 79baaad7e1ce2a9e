// SPDX-License-Identifier: BSD-3-Clause
// Rank counts: 1 to 9 and 16.
#include <sys/resource.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <string>
#include <thread>
#include <tuple>

#include "base/clock.h"
#include "ranks.h"

namespace unisono::shm {
namespace {

// x -> scale * x + shift; composing two of them does not commute.
struct Affine {
  std::uint32_t scale = 1;
  std::uint32_t shift = 0;
  bool operator==(const Affine&) const = default;
};
Affine compose(const Affine& a, const Affine& b) {
  return {a.scale * b.scale, a.scale * b.shift + a.shift};
}

void call_compose(const void* context, void* into, const void* left, const void* right, std::size_t count) {
  EXPECT_EQ(context, nullptr);
  for (std::size_t i = 0; i < count; ++i) {
    Affine a, b;
    std::memcpy(&a, static_cast<const char*>(left) + i * sizeof a, sizeof a);
    std::memcpy(&b, static_cast<const char*>(right) + i * sizeof b, sizeof b);
    const Affine c = compose(a, b);
    std::memcpy(static_cast<char*>(into) + i * sizeof c, &c, sizeof c);
  }
}
const Combine composition = {.call = call_compose, .element_bytes = sizeof(Affine)};

// What rank `rank` gives in call `call`.
std::vector<Affine> given(int rank, std::uint32_t call, std::size_t count) {
  const std::uint32_t seed = call * 2654435761U + static_cast<std::uint32_t>(rank) * 40503U;
  std::vector<Affine> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = {seed | 1U, seed ^ static_cast<std::uint32_t>(i)};
  return values;
}
std::vector<Affine> combined(int ranks, std::uint32_t call, std::size_t count) {
  std::vector<Affine> values = given(0, call, count);
  for (int rank = 1; rank < ranks; ++rank) {
    const std::vector<Affine> next = given(rank, call, count);
    for (std::size_t i = 0; i < count; ++i) values[i] = compose(values[i], next[i]);
  }
  return values;
}

// One rank's calls, each checked.
struct Caller {
  Slice& slice;
  int ranks = slice.local_size();
  int rank = slice.local_rank();

  void bcast(std::uint32_t call, std::size_t count, int root) {
    std::vector<Affine> data =
        rank == root ? given(root, call, count) : std::vector<Affine>(count, Affine{7, 7});
    slice.bcast(data.data(), count * sizeof(Affine), root);
    EXPECT_EQ(data, given(root, call, count)) << "bcast " << call << " rank " << rank;
  }
  void reduce(std::uint32_t call, std::size_t count, int root, bool is_in_place) {
    std::vector<Affine> from = given(rank, call, count);
    std::vector<Affine> into(count);
    const bool is_over_input = is_in_place && rank == root;
    slice.reduce(is_over_input ? from.data() : into.data(), from.data(), count, composition, root);
    if (rank == root) {
      EXPECT_EQ(is_over_input ? from : into, combined(ranks, call, count)) << "reduce " << call;
    } else {
      EXPECT_EQ(from, given(rank, call, count)) << "reduce " << call << " rank " << rank;
    }
  }
  void allreduce(std::uint32_t call, std::size_t count, bool is_in_place) {
    std::vector<Affine> from = given(rank, call, count);
    std::vector<Affine> into(count);
    slice.allreduce(is_in_place ? from.data() : into.data(), from.data(), count, composition);
    EXPECT_EQ(is_in_place ? from : into, combined(ranks, call, count)) << "allreduce " << call;
  }
  void scan(std::uint32_t call, std::size_t count, bool is_in_place) {
    std::vector<Affine> from = given(rank, call, count);
    std::vector<Affine> into(count);
    slice.scan(is_in_place ? from.data() : into.data(), from.data(), count, composition);
    EXPECT_EQ(is_in_place ? from : into, combined(rank + 1, call, count)) << "scan " << call;
  }
  void exscan(std::uint32_t call, std::size_t count, bool is_in_place) {
    std::vector<Affine> from = given(rank, call, count);
    std::vector<Affine> into(count, Affine{7, 7});
    const std::vector<Affine> untouched = is_in_place ? from : into;
    slice.exscan(is_in_place ? from.data() : into.data(), from.data(), count, composition);
    EXPECT_EQ(is_in_place ? from : into, rank == 0 ? untouched : combined(rank, call, count))
        << "exscan " << call << " rank " << rank;
  }
  void reduce_scatter(std::uint32_t call, std::size_t count, bool is_in_place) {
    const std::size_t all = count * static_cast<std::size_t>(ranks);
    std::vector<Affine> from = given(rank, call, all);
    std::vector<Affine> into(count);
    slice.reduce_scatter(is_in_place ? from.data() : into.data(), from.data(), count, composition);
    const std::vector<Affine> sum = combined(ranks, call, all);
    const auto first = sum.begin() + static_cast<std::ptrdiff_t>(count * static_cast<std::size_t>(rank));
    const std::vector<Affine> expected(first, first + static_cast<std::ptrdiff_t>(count));
    if (is_in_place) from.resize(count);
    EXPECT_EQ(is_in_place ? from : into, expected) << "reduce_scatter " << call << " rank " << rank;
  }
  void allgather(std::uint32_t call, std::size_t count, bool is_in_place) {
    const std::vector<Affine> from = given(rank, call, count);
    std::vector<Affine> into(count * static_cast<std::size_t>(ranks));
    Affine* own = into.data() + count * static_cast<std::size_t>(rank);
    if (is_in_place) std::copy(from.begin(), from.end(), own);
    slice.allgather(into.data(), is_in_place ? own : from.data(), count * sizeof(Affine));
    for (int peer = 0; peer < ranks; ++peer) {
      const auto* block = into.data() + count * static_cast<std::size_t>(peer);
      EXPECT_EQ(std::vector<Affine>(block, block + count), given(peer, call, count)) << "allgather " << call;
    }
  }
  void gather(std::uint32_t call, std::size_t count, int root, bool is_in_place) {
    const std::vector<Affine> from = given(rank, call, count);
    std::vector<Affine> into(rank == root ? count * static_cast<std::size_t>(ranks) : 0, Affine{7, 7});
    const bool is_there = is_in_place && rank == root;
    Affine* own = into.data() + (rank == root ? count * static_cast<std::size_t>(rank) : 0);
    if (is_there) std::copy(from.begin(), from.end(), own);
    slice.gather(rank == root ? into.data() : nullptr, is_there ? own : from.data(), count * sizeof(Affine),
                 root);
    if (rank == root) {
      EXPECT_EQ(into, all_given(call, count)) << "gather " << call;
    }
  }
  void scatter(std::uint32_t call, std::size_t count, int root, bool is_in_place) {
    std::vector<Affine> from;
    if (rank == root) from = all_given(call, count);
    std::vector<Affine> into(count, Affine{7, 7});
    const bool is_there = is_in_place && rank == root;
    Affine* own = from.data() + (is_there ? count * static_cast<std::size_t>(rank) : 0);
    slice.scatter(is_there ? own : into.data(), rank == root ? from.data() : nullptr, count * sizeof(Affine),
                  root);
    if (!is_there) {
      EXPECT_EQ(into, given(rank, call, count)) << "scatter " << call << " rank " << rank;
    }
    if (rank == root) {
      EXPECT_EQ(from, all_given(call, count)) << "scatter " << call << ", the root's input";
    }
  }
  void alltoall(std::uint32_t call, std::size_t count, bool is_in_place) {
    std::vector<Affine> from, expected;
    for (int peer = 0; peer < ranks; ++peer) {
      append(&from, given(rank * ranks + peer, call, count));
      append(&expected, given(peer * ranks + rank, call, count));
    }
    std::vector<Affine> into(from.size(), Affine{7, 7});
    slice.alltoall(is_in_place ? from.data() : into.data(), from.data(), count * sizeof(Affine));
    EXPECT_EQ(is_in_place ? from : into, expected) << "alltoall " << call << " rank " << rank;
  }

  // Blocks of lengths that only the two ranks of a pair know; those of no slot's length are copied from
  // memory to memory, where that is possible.
  void blocks(std::uint32_t call, int lines, bool has_single_copy) {
    const auto most = static_cast<std::uint32_t>(Slice::most_block_bytes(lines));
    const auto length = [&](int from, int to) -> std::size_t {
      const std::uint32_t draw = (call * 2654435761U ^ static_cast<std::uint32_t>(from * 131 + to * 17)) >> 7;
      if (draw % 4 == 0) return 0;
      return has_single_copy && draw % 4 == 1 ? most + 1 + draw % 3000 : 1 + draw % most;
    };
    const auto block = [&](int from, int to) {
      std::vector<unsigned char> bytes(length(from, to));
      std::iota(bytes.begin(), bytes.end(),
                static_cast<unsigned char>(call + static_cast<std::uint32_t>(from)));
      return bytes;
    };
    std::vector<std::vector<unsigned char>> given;
    for (int to = 0; to < ranks; ++to) given.push_back(block(rank, to));
    slice.begin_blocks(ranks, lines);
    for (int to = 0; to < ranks; ++to) {
      const auto& bytes = given[static_cast<std::size_t>(to)];
      if (to == rank || bytes.empty()) continue;
      if (bytes.size() > most) {
        slice.offer_block(bytes.data(), to, rank);
      } else {
        slice.put_block(bytes.data(), bytes.size(), to, rank);
      }
    }
    for (int from = 0; from < ranks; ++from) {
      std::vector<unsigned char> got(length(from, rank), 0xEE);
      if (from == rank || got.empty()) continue;
      if (got.size() > most) {
        EXPECT_TRUE(slice.take_block(got.data(), got.size(), from, rank, from));
      } else {
        slice.get_block(got.data(), got.size(), rank, from);
      }
      EXPECT_EQ(got, block(from, rank)) << "blocks " << call << " from " << from << " to " << rank;
    }
    for (int to = 0; to < ranks; ++to) {
      if (to != rank && given[static_cast<std::size_t>(to)].size() > most) {
        EXPECT_TRUE(slice.await_taken(to, rank));
      }
    }
    slice.end_blocks();
  }
  void reduce_part(std::uint32_t call, std::size_t total, bool is_in_place) {
    std::vector<Affine> from = given(rank, call, total);
    // In turns parts are alike, or the first rank's is empty. The last one's takes what the others leave.
    const std::size_t share = total / static_cast<std::size_t>(ranks);
    const std::size_t end = static_cast<std::size_t>(rank) + call % 2;
    const std::size_t first = end == 0 ? 0 : (end - 1) * share;
    const std::size_t last = rank + 1 == ranks ? total : end * share;
    std::vector<Affine> into(last - first);
    slice.reduce_part(is_in_place ? from.data() : into.data(), from.data(), first, into.size(), total,
                      composition);
    const std::vector<Affine> sum = combined(ranks, call, total);
    if (is_in_place) std::copy_n(from.begin(), into.size(), into.begin());
    EXPECT_TRUE(std::equal(into.begin(), into.end(), sum.begin() + static_cast<std::ptrdiff_t>(first)))
        << "reduce_part " << call << " rank " << rank;
  }

  static void append(std::vector<Affine>* to, const std::vector<Affine>& more) {
    to->insert(to->end(), more.begin(), more.end());
  }
  std::vector<Affine> all_given(std::uint32_t call, std::size_t count) const {
    std::vector<Affine> all;
    for (int peer = 0; peer < ranks; ++peer) append(&all, given(peer, call, count));
    return all;
  }
};

enum class Kind : std::uint8_t {
  barrier,
  bcast,
  reduce,
  allreduce,
  allgather,
  gather,
  scatter,
  alltoall,
  scan,
  exscan,
  reduce_scatter,
  reduce_part,
  blocks
};
constexpr unsigned kinds = 13;

// Mixed operations with random sizes and roots; the ring is as small as it may be, so it wraps many times.
void mixed_operations(Slice& slice, std::uint32_t seed, std::uint32_t calls, bool has_single_copy) {
  std::minstd_rand common(seed);  // the same on all ranks
  Delays delays(seed + 1 + static_cast<std::uint32_t>(slice.local_rank()));
  Caller caller{slice};
  const std::size_t longest = slice.fused_max_bytes() / sizeof(Affine);
  for (std::uint32_t call = 0; call < calls && !::testing::Test::HasFailure(); ++call) {
    const auto kind = static_cast<Kind>(common() % kinds);
    const bool has_all_blocks =
        kind == Kind::scatter || kind == Kind::alltoall || kind == Kind::reduce_scatter;
    const std::size_t most =
        has_all_blocks ? longest / static_cast<std::size_t>(slice.local_size()) : longest;
    const std::size_t bound = common() % 8 == 0 ? most : std::min<std::size_t>(most, 16);
    const std::size_t count = common() % (bound + 1);
    const int root = static_cast<int>(common() % static_cast<std::uint32_t>(slice.local_size()));
    const bool is_in_place = common() % 2 == 0;
    delays.maybe();
    if (kind == Kind::barrier) slice.barrier();
    if (kind == Kind::bcast) caller.bcast(call, count, root);
    if (kind == Kind::reduce) caller.reduce(call, count, root, is_in_place);
    if (kind == Kind::allreduce) caller.allreduce(call, count, is_in_place);
    if (kind == Kind::allgather) caller.allgather(call, count, is_in_place);
    if (kind == Kind::gather) caller.gather(call, count, root, is_in_place);
    if (kind == Kind::scatter) caller.scatter(call, count, root, is_in_place);
    if (kind == Kind::alltoall) caller.alltoall(call, count, is_in_place);
    if (kind == Kind::scan) caller.scan(call, count, is_in_place);
    if (kind == Kind::exscan) caller.exscan(call, count, is_in_place);
    if (kind == Kind::reduce_scatter) caller.reduce_scatter(call, count, is_in_place);
    if (kind == Kind::reduce_part) caller.reduce_part(call, count, is_in_place);
    if (kind == Kind::blocks)
      caller.blocks(call, std::min(2 + root * 3, Slice::most_block_lines(slice.shape(), caller.ranks)),
                    has_single_copy);
  }
}

// Does the kernel let a process read a child's memory? (Containers may forbid it.)
bool may_copy_singly() {
  char from = 1, into = 0;
  const iovec local = {&into, 1}, remote = {&from, 1};
  return process_vm_readv(getppid(), &local, 1, &remote, 1, 0) == 1;
}

class Fused : public ::testing::TestWithParam<std::tuple<int, WaitPolicy>> {
 protected:
  SliceShape shape_{.local_size = std::get<0>(GetParam()), .ring_lines = 256};
  WaitConfig wait_{.policy = std::get<1>(GetParam())};
};

TEST_P(Fused, mixed_operations_in_threads) {
  run_threads(shape_, wait_, [](Slice& slice) { mixed_operations(slice, 11, 1500, false); });
}

TEST_P(Fused, mixed_operations_in_processes) {
  run_processes(shape_, wait_, [](Slice& slice) { mixed_operations(slice, 12, 1500, may_copy_singly()); });
}

// One root, then another one: whoever is ahead must not overwrite what others have still to read.
TEST_P(Fused, roots_run_ahead) {
  run_threads(shape_, wait_, [](Slice& slice) {
    Delays delays(static_cast<std::uint32_t>(slice.local_rank()) + 1);
    Caller caller{slice};
    for (std::uint32_t call = 0; call < 2000; ++call) {
      const int root = static_cast<int>(call / 700) % slice.local_size();
      if (slice.local_rank() != root) delays.maybe();
      switch (call % 1000 / 250) {
        case 0:
          caller.bcast(call, 1, root);
          break;
        case 1:
          caller.scatter(call, 1, root, false);
          break;
        case 2:
          caller.gather(call, 1, root, false);
          break;
        default:
          caller.reduce(call, 1, root, false);
      }
    }
  });
}

TEST_P(Fused, barrier_holds_everybody) {
  std::array<std::atomic<int>, 16> arrived{};
  run_threads(shape_, wait_, [&](Slice& slice) {
    Delays delays(static_cast<std::uint32_t>(slice.local_rank()) + 1);
    for (int call = 1; call <= 500; ++call) {
      delays.maybe();
      arrived[static_cast<std::size_t>(slice.local_rank())].store(call);
      slice.barrier();
      for (int peer = 0; peer < slice.local_size(); ++peer) {
        EXPECT_GE(arrived[static_cast<std::size_t>(peer)].load(), call);
      }
    }
  });
}

std::string case_name(const ::testing::TestParamInfo<Fused::ParamType>& info) {
  return std::to_string(std::get<0>(info.param)) + "_ranks_" + std::string(name(std::get<1>(info.param)));
}
INSTANTIATE_TEST_SUITE_P(Yield, Fused,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 16),
                                            ::testing::Values(WaitPolicy::yield)),
                         case_name);
INSTANTIATE_TEST_SUITE_P(Policies, Fused,
                         ::testing::Combine(::testing::Values(2, 3),
                                            ::testing::Values(WaitPolicy::spin, WaitPolicy::pause,
                                                              WaitPolicy::futex, WaitPolicy::sleep)),
                         case_name);

TEST(FusedRunAhead, the_first_rank_of_a_scan_is_at_least_256_calls_ahead) {
  std::atomic<bool> is_first_done = false;
  run_threads({.local_size = 2}, {.policy = WaitPolicy::yield}, [&](Slice& slice) {
    Caller caller{slice};
    if (slice.local_rank() == 1) {
      while (!is_first_done.load()) sched_yield();
    }
    for (std::uint32_t call = 0; call < 256; ++call) caller.scan(call, 1, false);
    is_first_done.store(true);
  });
}

TEST(FusedRunAhead, a_root_is_at_least_256_calls_ahead) {
  std::atomic<bool> is_root_done = false;
  run_threads({.local_size = 2}, {.policy = WaitPolicy::yield}, [&](Slice& slice) {
    Caller caller{slice};
    if (slice.local_rank() == 1) {
      while (!is_root_done.load()) sched_yield();
    }
    for (std::uint32_t call = 0; call < 256; ++call) caller.bcast(call, 1, 0);
    is_root_done.store(true);
  });
}

// Whole lines, one byte less, one byte more, up to the longest.
TEST(FusedSizes, every_length_around_the_lines) {
  run_threads({.local_size = 3, .ring_lines = 256}, {.policy = WaitPolicy::yield}, [](Slice& slice) {
    for (std::size_t bytes = 1; bytes <= slice.fused_max_bytes(); bytes += bytes < 180 ? 1 : 55) {
      std::vector<unsigned char> expected(bytes + 1, 0xEE);
      std::iota(expected.begin(), expected.end() - 1, static_cast<unsigned char>(bytes));
      const int root = static_cast<int>(bytes % 3);
      std::vector<unsigned char> data(bytes + 1, 0xEE);
      if (slice.local_rank() == root) data = expected;
      slice.bcast(data.data(), bytes, root);
      ASSERT_EQ(data, expected) << bytes;
    }
  });
}

// Where all wait for all the last one rings, once for all of them. What is left are rings for room.
TEST(FusedSleep, one_ring_a_call_wakes_all) {
  constexpr std::uint32_t calls = 200;
  std::atomic<std::uint32_t> rings = 0;
  run_threads({.local_size = 5}, {.policy = WaitPolicy::sleep}, [&](Slice& slice) {
    Caller caller{slice};
    // Those who wait for long sleep at once for some time.
    if (slice.local_rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    for (std::uint32_t call = 0; call < calls; ++call) {
      slice.barrier();
      caller.allreduce(call, 1, false);
    }
    if (slice.local_rank() == 0) rings = slice.wait_config().doorbell->rings.load();
  });
  EXPECT_GT(rings.load(), 0U) << "nobody ever slept";
  EXPECT_LE(rings.load(), 2 * calls + calls / 2);
}

// A wait makes the host progress: rank 0 in Isend, Barrier must serve rank 1 in Recv, Barrier.
TEST(FusedProgress, a_waiting_rank_calls_the_hook) {
  for (const WaitPolicy policy :
       {WaitPolicy::spin, WaitPolicy::pause, WaitPolicy::yield, WaitPolicy::futex, WaitPolicy::sleep}) {
    std::atomic<int> calls = 0;
    const ProgressHook hook = {[](void* counter) { static_cast<std::atomic<int>*>(counter)->fetch_add(1); },
                               &calls};
    run_threads({.local_size = 2}, {.policy = policy, .progress = hook}, [&](Slice& slice) {
      // Rank 1 comes only when rank 0, which waits, has made progress three times.
      if (slice.local_rank() == 1) {
        while (calls.load() < 3) sched_yield();
      }
      slice.barrier();
    });
    EXPECT_GE(calls.load(), 3) << name(policy);
  }
}

// What the program has begun may need many answers of a rank that sleeps. As long as the host has something
// to do it is asked again, without a sleep in between.
TEST(FusedProgress, a_host_with_work_is_not_slept_beside) {
  constexpr int answers = 400;
  std::atomic<int> calls = 0;
  const ProgressHook hook = {[](void* counter) {
                               auto* calls = static_cast<std::atomic<int>*>(counter);
                               // Every second look finds something.
                               const std::uint64_t end =
                                   now_ns() + (calls->fetch_add(1) % 2 == 0 ? 0 : 20'000);
                               while (now_ns() < end) {
                               }
                             },
                             &calls};
  long sleeps = 0;
  run_threads({.local_size = 2}, {.policy = WaitPolicy::sleep, .progress = hook}, [&](Slice& slice) {
    if (slice.local_rank() == 1) {
      while (calls.load() < answers) sched_yield();
      slice.barrier();
      return;
    }
    const auto switches = [] {
      rusage usage{};
      getrusage(RUSAGE_THREAD, &usage);
      return usage.ru_nvcsw;
    };
    const long before = switches();
    slice.barrier();
    sleeps = switches() - before;
  });
  EXPECT_LT(sleeps, answers / 4);
}

}  // namespace
}  // namespace unisono::shm
