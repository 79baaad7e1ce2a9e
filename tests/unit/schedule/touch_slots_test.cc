// SPDX-License-Identifier: BSD-3-Clause
// touch_slots maps what the first calls of a schedule write, and no more. One rank of two, which need not
// wait for the other until all slots have been written once.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <vector>

#include "../shm/ranks.h"
#include "algorithms/descriptor.h"
#include "rank_of_world.h"
#include "schedule/executor.h"
#include "shm/slice_state.h"

namespace unisono::schedule {
namespace {

constexpr std::size_t area_bytes = 128 * 1024;

std::size_t mapped_pages(const shm::SharedMemory& memory, const shm::SliceShape& shape) {
  const shm::SliceLayout layout(shape);
  const std::size_t bytes = layout.stream_counters - layout.areas;
  std::vector<unsigned char> pages((bytes + shm::page_bytes - 1) / shm::page_bytes);
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

void expect_mapped(const Case& c) {
  const shm::SliceShape shape{.local_size = 2, .area_bytes = area_bytes};
  const shm::SharedMemory memory(shape.bytes());
  shm::Slice slice(memory.get(), shape, c.rank, {.policy = shm::WaitPolicy::yield});
  const algorithms::Descriptor& shared = *algorithms::find(c.operation, "shared");
  const Problem problem = problem_on_node(c.operation, 2, c.rank);
  algorithms::Parameters parameters;
  parameters.set("buffers", c.buffers);
  parameters.set("piece", c.piece);
  const auto compiled =
      compile(problem, shared.build(problem, algorithms::with_standards(shared, parameters)));

  touch_slots(*compiled, slice, static_cast<std::int64_t>(c.bytes));
  EXPECT_EQ(mapped_pages(memory, shape), c.pages);

  host::fake::World world(1);
  world.run([&](host::fake::FakeHost& host, int) {
    Executor executor;
    std::vector<char> input(2 * c.bytes, 1), output(2 * c.bytes);
    for (int call = 0; call < c.calls; ++call) {
      const Data data{
          .input = input.data(), .output = output.data(), .elements = static_cast<std::int64_t>(c.bytes)};
      ASSERT_EQ(executor.run(*compiled, {.host = &host, .slice = &slice}, data), host::success);
    }
  });
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

}  // namespace
}  // namespace unisono::schedule
