// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/communicators/identifiers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <climits>

#include "runtime/communicators/communicator.h"

namespace unisono::runtime::identifiers_test {
namespace {

// What one set-up of `turn` takes, with nothing else under way.
int take(Identifiers& ids, Identifiers::Turn turn) {
  bool is_held = false;
  ids.enter(turn);
  const int id = Identifiers::lowest(ids.offer(turn, &is_held).data());
  EXPECT_TRUE(is_held);
  ids.settle(id);
  ids.leave(turn);
  return id;
}

TEST(IdentifiersTest, TakesTheLowestAndGivesItBack) {
  Identifiers ids;
  for (int expected : {0, 1, 2}) EXPECT_EQ(take(ids, ids.propose(0)), expected);
  ids.release(1);
  EXPECT_EQ(take(ids, ids.propose(0)), 1);
}

TEST(IdentifiersTest, ASecondSetUpSeesNothingWhileTheFirstIsUnderWay) {
  Identifiers ids;
  bool is_first = false, is_second = false;
  const Identifiers::Turn late = ids.propose(0), later = ids.propose(0);
  ids.enter(later);
  ids.offer(later, &is_first);
  ids.enter(late);
  const Identifiers::Set none = ids.offer(late, &is_second);
  EXPECT_TRUE(is_first);
  EXPECT_FALSE(is_second);
  EXPECT_EQ(Identifiers::lowest(none.data()), -1);
  ids.settle(0);
  EXPECT_EQ(Identifiers::lowest(ids.offer(late, &is_second).data()), 1);
  EXPECT_TRUE(is_second);
}

// Two that hold what the other one needs, each on another rank, would retry for ever.
TEST(IdentifiersTest, TheEarliestTurnComesFirst) {
  Identifiers ids;
  const Identifiers::Turn first = ids.propose(3), second = ids.propose(3);
  bool is_held = true;
  ids.enter(second);
  ids.enter(first);
  EXPECT_EQ(Identifiers::lowest(ids.offer(second, &is_held).data()), -1);
  EXPECT_FALSE(is_held);
  EXPECT_EQ(Identifiers::lowest(ids.offer(first, &is_held).data()), 0);
  EXPECT_TRUE(is_held);
  ids.settle(0);
  ids.leave(first);
  EXPECT_EQ(Identifiers::lowest(ids.offer(second, &is_held).data()), 1);
  EXPECT_TRUE(is_held);
}

TEST(IdentifiersTest, NoTwoSetUpsHaveOneTurn) {
  Identifiers of_rank_0, of_rank_1;
  const Identifiers::Turn first = std::max(of_rank_0.propose(0), of_rank_1.propose(1));
  const Identifiers::Turn second = std::max(of_rank_0.propose(0), of_rank_1.propose(1));
  EXPECT_LT(first, second);
  EXPECT_NE(Identifiers().propose(0), Identifiers().propose(1));
}

TEST(IdentifiersTest, RunsOut) {
  Identifiers ids;
  for (int i = 0; i < Identifiers::count; ++i) ASSERT_EQ(take(ids, ids.propose(0)), i);
  EXPECT_EQ(take(ids, ids.propose(0)), -1);
}

TEST(IdentifiersTest, HasNoMoreThanItIsGiven) {
  Identifiers ids(3);
  for (int i = 0; i < 3; ++i) ASSERT_EQ(take(ids, ids.propose(0)), i);
  EXPECT_EQ(take(ids, ids.propose(0)), -1);
  Identifiers none(0);
  EXPECT_EQ(take(none, none.propose(0)), -1);
  EXPECT_EQ(Communicator::numbers_within(32766), 3);  // the least that MPI allows, but one that stays free
  EXPECT_EQ(Communicator::numbers_within((1 << 19) - 1), 64);
  EXPECT_EQ(Communicator::numbers_within(INT_MAX), 1 << 18);
}

}  // namespace
}  // namespace unisono::runtime::identifiers_test
