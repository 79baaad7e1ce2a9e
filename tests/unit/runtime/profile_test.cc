// SPDX-License-Identifier: BSD-3-Clause
// What several ranks have counted, as one profile.
#include <gtest/gtest.h>

#include "runtime/reports/job_profile.h"

namespace unisono::runtime::profile_test {
namespace {

ProfiledFunction function(const char* name, FunctionKind kind, const ProfileCell& cell) {
  return {.name = name, .kind = kind, .cells = {cell}};
}

RankProfile rank(std::uint64_t calls, double time_s) {
  return {.run_s = 10,
          .threads = 1,
          .functions = {function("MPI_Send", FunctionKind::point_to_point,
                                 {.size_class = 4,
                                  .distance = Distance::same_node,
                                  .calls = calls,
                                  .bytes = 8 * calls,
                                  .time_s = time_s}),
                        function("MPI_Init", FunctionKind::start_and_end, {.calls = 1, .time_s = 5})}};
}

TEST(Profile, SumsOfCallsAndSpreadOfTimes) {
  ProfileOfRanks all;
  all.add(rank(10, 1));
  all.add(rank(30, 3));
  const JobProfile joined = all.joined();
  ASSERT_EQ(joined.functions.size(), 2U);
  const JobFunction& send = joined.functions[1];  // MPI_Init takes longer
  EXPECT_EQ(send.function.name, "MPI_Send");
  EXPECT_EQ(send.calls, 40U);
  EXPECT_EQ(send.least_calls, 10U);
  EXPECT_EQ(send.most_calls, 30U);
  EXPECT_EQ(send.bytes, 320U);
  EXPECT_EQ(send.time.least_s, 1);
  EXPECT_EQ(send.time.most_s, 3);
  ASSERT_EQ(send.function.cells.size(), 1U);
  EXPECT_EQ(send.function.cells[0].time_s, 4);
}

TEST(Profile, StartAndEndAreNoPartOfTheRun) {
  ProfileOfRanks all;
  all.add(rank(10, 1));
  all.add(rank(30, 3));
  const JobProfile joined = all.joined();
  EXPECT_EQ(joined.in_mpi.sum_s, 4);
  EXPECT_EQ(joined.outside.least_s, 7);
  EXPECT_EQ(joined.outside.most_s, 9);
}

TEST(Profile, ARankThatDoesNotCallHasNoTime) {
  ProfileOfRanks all;
  all.add(rank(10, 1));
  all.add({.run_s = 10, .threads = 1});
  const JobProfile joined = all.joined();
  const JobFunction& send = joined.functions[1];
  EXPECT_EQ(send.ranks, 1);
  EXPECT_EQ(send.least_calls, 0U);
  EXPECT_EQ(send.time.least_s, 0);
}

TEST(Profile, PartsMakeNoMoreThanTheRun) {
  ProfileOfRanks all;
  RankProfile twice = rank(10, 15);
  twice.functions.push_back(function("MPI_Recv", FunctionKind::point_to_point, {.calls = 1, .time_s = 5}));
  all.add(twice);
  const JobProfile joined = all.joined();
  EXPECT_EQ(joined.in_mpi.most_s, 10);
  EXPECT_EQ(joined.outside.most_s, 0);
  double sum_s = 0;
  for (const JobFunction& one : joined.functions) sum_s += one.time.most_s;
  EXPECT_EQ(sum_s, 15);  // MPI_Init's 5 s are no part of it
}

TEST(Profile, ThreadsShareTheRun) {
  RankProfile two = rank(10, 16);
  two.threads = 2;
  ProfileOfRanks all;
  all.add(two);
  EXPECT_EQ(all.joined().in_mpi.most_s, 8);
}

}  // namespace
}  // namespace unisono::runtime::profile_test
