// SPDX-License-Identifier: BSD-3-Clause
// touch_slots maps what the next calls of a schedule write, and no more.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <memory>
#include <thread>
#include <vector>

#include "../shm/ranks.h"
#include "algorithms/catalogue/descriptor.h"
#include "rank_of_world.h"
#include "schedule/executor.h"
#include "shm/slice/slice_state.h"

namespace unisono::schedule {
namespace {

constexpr std::size_t area_bytes = 128 * 1024;

std::size_t mapped_pages(const shm::SharedMemory& memory, const shm::SliceShape& shape) {
  const shm::SliceLayout layout(shape);
  const std::size_t bytes = layout.stream_counters - layout.areas;
  std::vector<unsigned char> pages(up_to_whole_pages(bytes) / page_bytes);
  EXPECT_EQ(mincore(static_cast<char*>(memory.get()) + layout.areas, bytes, pages.data()), 0);
  std::size_t count = 0;
  for (const unsigned char page : pages) count += page & 1;
  return count;
}

struct Case {
  Operation operation = Operation::bcast;
  int rank = 0;
  std::size_t bytes = 0;
  int buffers = 2;
  std::int64_t piece = 0;
  int calls = 1;          // that need not wait for the other rank
  std::size_t pages = 0;  // that are written
};

// One rank of two on a node.
class Rank {
 public:
  Rank(const shm::SharedMemory& memory, const shm::SliceShape& shape, const Case& c, int rank)
      : bytes_(c.bytes), slice_(memory.get(), shape, rank, {.policy = shm::WaitPolicy::yield}) {
    const algorithms::Descriptor& shared = *algorithms::find(c.operation, "shared");
    const Problem problem = problem_on_node(c.operation, 2, rank);
    algorithms::Parameters parameters;
    parameters.set("buffers", c.buffers);
    parameters.set("piece", c.piece);
    compiled_ = compile(problem, shared.build(problem, algorithms::with_standards(shared, parameters)));
  }
  void touch(int calls) { touch_slots(*compiled_, slice_, static_cast<std::int64_t>(bytes_), calls_, calls); }
  void call(int calls) {
    world_.run([&](fake_host::FakeHost& host, int) {
      std::vector<char> input(2 * bytes_, 1), output(2 * bytes_);
      const Data data{
          .input = input.data(), .output = output.data(), .elements = static_cast<std::int64_t>(bytes_)};
      for (int i = 0; i < calls; ++i)
        ASSERT_EQ(executor_.run(*compiled_, {.host = &host, .slice = &slice_}, data), host::success);
    });
    calls_ += calls;
  }

 private:
  std::size_t bytes_;
  shm::Slice slice_;
  std::shared_ptr<const Compiled> compiled_;
  Executor executor_;
  fake_host::FakeWorld world_{1};
  int calls_ = 0;
};

void expect_mapped(const Case& c) {
  const shm::SliceShape shape{.local_size = 2, .area_bytes = area_bytes};
  const shm::SharedMemory memory(shape.bytes());
  Rank rank(memory, shape, c, c.rank);
  rank.touch(1);
  EXPECT_EQ(mapped_pages(memory, shape), c.pages);
  rank.call(c.calls);
  EXPECT_EQ(mapped_pages(memory, shape), c.pages) << "the calls wrote elsewhere";
}

TEST(TouchSlots, of_the_rank_that_writes) {
  // Slots of a channel in common, which the root writes; the other rank's own ones.
  expect_mapped({.operation = Operation::bcast, .bytes = 20'000, .buffers = 2, .calls = 2, .pages = 2 * 5});
  expect_mapped({.operation = Operation::bcast, .bytes = 4096, .buffers = 4, .calls = 4, .pages = 4});
  const Operation gather = Operation::gather;
  expect_mapped({.operation = gather, .rank = 1, .bytes = 20'000, .buffers = 4, .calls = 4, .pages = 4 * 5});
  expect_mapped({.operation = gather, .rank = 0, .bytes = 20'000, .buffers = 4, .calls = 0, .pages = 0});
}

TEST(TouchSlots, of_the_lanes_that_are_written) {
  // The root's own block is put nowhere.
  expect_mapped({.operation = Operation::scatter, .bytes = 20'000, .buffers = 2, .calls = 2, .pages = 2 * 5});
}

TEST(TouchSlots, of_the_longest_piece) {
  // Two pieces a call, one slot each.
  expect_mapped({.operation = Operation::gather, .rank = 1, .bytes = 16'384, .piece = 8192, .pages = 2 * 2});
}

// Pieces of four pages, in two slots of sixteen. The root of a gather writes nothing.
TEST(TouchSlots, of_all_memory_of_the_slots_where_pieces_begin_to_go_through_it) {
  const Case c{.operation = Operation::gather, .bytes = 16'384, .buffers = 2};
  const shm::SliceShape shape{.local_size = 2, .area_bytes = area_bytes};
  const shm::SharedMemory memory(shape.bytes());
  Rank root(memory, shape, c, 0), other(memory, shape, c, 1);
  const auto call = [&](int calls) {
    std::jthread of_other([&] { other.call(calls); });
    root.call(calls);
  };
  const auto expect_touched = [&](int calls, std::size_t pages) {
    root.touch(calls);
    other.touch(calls);
    EXPECT_EQ(mapped_pages(memory, shape), pages);
    call(calls);
    EXPECT_EQ(mapped_pages(memory, shape), pages) << "the calls wrote elsewhere";
  };
  // A call of one piece each; a turn goes through both slots.
  constexpr int calls_of_place = 2 * static_cast<int>(shm::Slice::bytes_for_a_new_byte(16'384));
  expect_touched(2 * calls_of_place - 10, 2 * 4);
  expect_touched(10, 2 * 4);
  expect_touched(1, 2 * 4);  // its turn begins with the first place
  expect_touched(calls_of_place - 1, 2 * 8);
  expect_touched(calls_of_place, 2 * 12);
  expect_touched(5 * calls_of_place, 2 * 16);
}

}  // namespace
}  // namespace unisono::schedule
