// SPDX-License-Identifier: BSD-3-Clause
// Rank counts: 2 and 3.
#include "shm/slice/costs.h"

#include <string>

#include "ranks.h"

namespace unisono::shm {
namespace {

constexpr WaitConfig yielding = {.policy = WaitPolicy::yield};

struct Case {
  Measured what;
  std::size_t bytes;
  // Which of the ranks have a part.
  bool first, second, others;
};

constexpr Case cases[] = {
    {Measured::put, 4096, true, false, false},         {Measured::put, 0, true, false, false},
    {Measured::get, 100, false, true, true},           {Measured::pipeline, 4096, true, true, true},
    {Measured::pair_sync, 0, true, false, false},      {Measured::group_sync, 0, true, true, true},
    {Measured::group_seg_put, 4096, true, true, true}, {Measured::group_seg_get, 4096, true, true, true},
    {Measured::signal, 0, true, false, false},         {Measured::await, 0, true, false, false},
    {Measured::copy, 4096, true, false, false},        {Measured::copy_by_all, 4096, true, true, true},
    {Measured::combine, 4096, true, false, false},     {Measured::single_copy, 4096, false, true, false},
    {Measured::barrier, 0, true, true, true},          {Measured::bcast, 64, true, true, true},
    {Measured::allreduce, 64, true, true, true},
};

// All one after the other on one slice, twice: each leaves flags and slots as the next one needs them.
void measure_all(Slice& slice) {
  for (int round = 0; round < 2; ++round) {
    for (const Case& c : cases) {
      const double seconds =
          measure(slice, {.what = c.what, .bytes = c.bytes, .buffers = 1 + round * 3, .repetitions = 5});
      const int rank = slice.local_rank();
      const bool has_part = rank == 0 ? c.first : rank == 1 ? c.second : c.others;
      EXPECT_EQ(seconds >= 0, has_part) << name(c.what) << " on rank " << rank;
    }
    // Everything is in order for collectives.
    double sum = 0;
    const double one = 1;
    const Combine add = {.element_bytes = sizeof(double),
                         .kernel = reduce_kernel(ReduceOp::sum, ElementType::float64)};
    slice.allreduce(&sum, &one, 1, add);
    EXPECT_EQ(sum, slice.local_size());
  }
}

TEST(Costs, every_operation_between_processes) {
  for (const int ranks : {2, 3}) {
    run_processes({.local_size = ranks, .area_bytes = 64 * 1024}, yielding, measure_all);
  }
}

TEST(Costs, what_does_not_fit_is_not_measured) {
  run_threads({.local_size = 2, .area_bytes = 64 * 1024}, yielding, [](Slice& slice) {
    EXPECT_LT(measure(slice, {.what = Measured::pipeline, .bytes = 32 * 1024, .buffers = 4}), 0);
    EXPECT_GE(measure(slice, {.what = Measured::pipeline, .bytes = 16 * 1024, .buffers = 4}), 0);
    EXPECT_LT(measure(slice, {.what = Measured::bcast, .bytes = slice.fused_max_bytes() + 8}), 0);
    EXPECT_LT(measure(slice, {.what = Measured::group_seg_put, .bytes = 64}), 0);  // no line for each
    EXPECT_LT(measure(slice, {.what = Measured::barrier, .repetitions = 0}), 0);
  });
}

TEST(Costs, more_bytes_take_longer) {
  run_threads({.local_size = 2, .area_bytes = 8 << 20}, yielding, [](Slice& slice) {
    for (const Measured what : {Measured::copy, Measured::combine, Measured::put}) {
      double least[2] = {1, 1};  // what disturbs makes it longer alone
      for (int i = 0; i < 20; ++i) {
        for (const int large : {0, 1}) {
          const double seconds = measure(
              slice,
              {.what = what, .bytes = std::size_t{64} << (14 * large), .buffers = 2, .repetitions = 5});
          least[large] = std::min(least[large], seconds);
        }
      }
      if (slice.local_rank() == 0) {
        EXPECT_LT(least[0], least[1]) << name(what);
      }
    }
  });
}

TEST(Costs, names_lead_back) {
  for (const Case& c : cases) EXPECT_EQ(measured_from_name(name(c.what)), c.what);
  EXPECT_FALSE(measured_from_name("nonsense"));
}

}  // namespace
}  // namespace unisono::shm
