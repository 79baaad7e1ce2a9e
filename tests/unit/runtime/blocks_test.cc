// SPDX-License-Identifier: BSD-3-Clause
// Uneven blocks of one node, many calls in a row, lengths drawn anew for each. They go in lines, through
// streams, by the kernel, as messages, and by several of these in one call. TEST_SEED repeats a run.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "../seed.h"
#include "program.h"

namespace unisono::runtime::blocks_test {
namespace {

using Values = std::vector<std::int32_t>;

const host::Datatype int32 = fake_host::datatype(ElementType::int32);

// One call, the same on all ranks: how many elements each rank has for each other one.
struct Plan {
  Operation operation = Operation::gatherv;
  int ranks = 2, root = 0, number = 0;
  bool is_in_place = false;
  std::vector<int> lengths;  // [from * ranks + to]; of an allgatherv equal for all `to`

  Plan(std::minstd_rand& random, int size, int call) : ranks(size), number(call) {
    constexpr Operation operations[] = {Operation::gatherv, Operation::scatterv, Operation::alltoallv,
                                        Operation::allgatherv};
    // Elements: around what lines take (1 KiB), what a ring takes, what is copied by the kernel on shared
    // cores.
    constexpr int around[] = {0, 0, 1, 14, 70, 255, 256, 257, 1000, 4096, 8191, 8192, 8193, 20000, 70000};
    operation = operations[random() % std::size(operations)];
    root = static_cast<int>(random() % static_cast<std::uint32_t>(size));
    is_in_place = random() % 4 == 0;
    for (int i = 0; i < size * size; ++i) lengths.push_back(around[random() % std::size(around)]);
    for (int i = 0; operation == Operation::allgatherv && i < size * size; ++i)
      lengths[i] = lengths[i / size * size];
    // In place both directions are equally long.
    for (int i = 0; i < size * size && is_in_place && operation == Operation::alltoallv; ++i)
      lengths[i] = lengths[std::min(i, i % size * size + i / size)];
  }
  int length(int from, int to) const { return lengths[static_cast<std::size_t>(from * ranks + to)]; }
  Values block(int from, int to) const {
    Values values(static_cast<std::size_t>(length(from, to)));
    if (operation == Operation::allgatherv) to = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = number * 1'000'000 + from * 100'000 + to * 10'000 + static_cast<std::int32_t>(i % 9973);
    return values;
  }
};

// The blocks of a side in memory, in reverse order and with holes where `is_scattered`.
struct Side {
  Values memory;
  std::vector<int> counts, places;

  template <class Block>
  void lay_out(int ranks, bool is_scattered, Block block) {
    places.resize(static_cast<std::size_t>(ranks));
    std::vector<Values> blocks;
    for (int i = 0; i < ranks; ++i) {
      blocks.push_back(block(i));
      counts.push_back(static_cast<int>(blocks.back().size()));
    }
    for (int i = 0; i < ranks; ++i) {
      const int at = is_scattered ? ranks - 1 - i : i;
      places[at] = static_cast<int>(memory.size());
      memory.insert(memory.end(), blocks[at].begin(), blocks[at].end());
      if (is_scattered) memory.insert(memory.end(), 3, -7);
    }
    memory.push_back(-7);  // there is an address where all blocks are empty
  }
  BlockArguments all() {
    return {.buffer = memory.data(), .counts = counts.data(), .displacements = places.data(), .type = int32};
  }
  BlockArguments one() {
    return {.buffer = memory.data(), .count = static_cast<std::size_t>(counts[0]), .type = int32};
  }
};

void run_call(Job& job, FakeHost& host, const Plan& plan, int rank) {
  const bool is_root = rank == plan.root, is_scattered = plan.number % 2 == 0;
  const int root = plan.root;
  Call call{.operation = plan.operation, .root = root, .comm = host.world()};
  Side in, out, expected;
  const bool is_to_all = plan.operation == Operation::alltoallv,
             is_scatter = plan.operation == Operation::scatterv;
  const bool is_gather = plan.operation == Operation::gatherv;
  const bool sends_all = is_to_all || (is_scatter && is_root), gets_all = is_to_all || !is_scatter;
  call.is_in_place = plan.is_in_place && (is_root || is_to_all || plan.operation == Operation::allgatherv);
  const auto sent = [&](int to) { return plan.block(rank, to); };
  const auto got = [&](int from) { return plan.block(from, is_gather ? root : rank); };
  if (sends_all) in.lay_out(plan.ranks, is_scattered, sent);
  if (!sends_all) in.lay_out(1, false, [&](int) { return plan.block(rank, root); });
  if (gets_all) expected.lay_out(plan.ranks, is_scattered, got);
  if (!gets_all) expected.lay_out(1, false, [&](int) { return plan.block(root, rank); });
  out = expected;
  for (std::size_t i = 0; i < out.counts.size(); ++i) {
    const auto begin = out.memory.begin() + out.places[i];
    const bool is_kept = call.is_in_place && !is_to_all && static_cast<int>(i) == rank && gets_all;
    if (!is_kept) std::fill(begin, begin + out.counts[i], -1);
    if (call.is_in_place && is_to_all) {
      const Values own = plan.block(rank, static_cast<int>(i));
      std::copy(own.begin(), own.end(), begin);
    }
  }
  const bool has_input = !call.is_in_place || is_scatter;
  if (has_input && (!is_scatter || is_root)) call.send_blocks = sends_all ? in.all() : in.one();
  const bool has_output = (!is_gather || is_root) && !(is_scatter && call.is_in_place);
  if (has_output) call.recv_blocks = gets_all ? out.all() : out.one();
  int error = -1;
  ASSERT_EQ(job.collective(call, &error), Outcome::done);
  ASSERT_EQ(error, host::success);
  if (has_output) {
    ASSERT_TRUE(out.memory == expected.memory)
        << name(plan.operation) << " " << plan.number << " rank " << rank;
  }
}

// All channels of 4 MiB take 12 MiB, rings of lines less than one, and streams would take 4.
constexpr std::int64_t without_room_for_streams = 13 << 20;

struct Ways {
  const char* name;
  std::int64_t channel_bytes;  // streams together take as much
  bool use_single_copy;
  std::int64_t pool_bytes = 64 << 20;
};

class BlocksTest : public ProgramTest, public ::testing::WithParamInterface<Ways> {};

TEST_P(BlocksTest, RandomLengthsInManyCalls) {
  for (const int ranks : {2, 3, 4, 6}) {
    options_.algorithm = "gatherv:fused,scatterv:fused,alltoallv:fused,allgatherv:fused";
    options_.channel_bytes = GetParam().channel_bytes;
    options_.use_single_copy = GetParam().use_single_copy;
    options_.pool_bytes = GetParam().pool_bytes;
    run_jobs(ranks, [&](Job& job, FakeHost& host, int rank) {
      std::minstd_rand common(seed() + static_cast<std::uint32_t>(ranks));
      std::minstd_rand own(seed() + static_cast<std::uint32_t>(100 + rank));
      for (int call = 0; call < 60 && !HasFailure(); ++call) {
        const Plan plan(common, ranks, call);
        if (own() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(own() % 1000));
        run_call(job, host, plan, rank);
      }
    });
  }
}

INSTANTIATE_TEST_SUITE_P(All, BlocksTest,
                         ::testing::Values(Ways{"streams", 4 << 20, false},
                                           Ways{"streams_and_kernel", 4 << 20, true},
                                           Ways{"short_streams", 512 << 10, false},
                                           Ways{"kernel", 4 << 20, true, without_room_for_streams},
                                           Ways{"messages", 4 << 20, false, without_room_for_streams}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace unisono::runtime::blocks_test
