// SPDX-License-Identifier: BSD-3-Clause
// What ranks tell each other is whole, or not there; nobody waits.
#include "shm/board.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace unisono::shm {
namespace {

using Numbers = std::vector<std::uint64_t>;

TEST(BoardTest, WhatOneWritesOthersRead) {
  const auto board = std::make_unique<Board>();
  EXPECT_TRUE(board->read(5).empty());
  board->write(5, {1, 2});
  board->write(5 + Board::most_keys, {3});
  EXPECT_EQ(board->read(5), (Numbers{1, 2}));
  EXPECT_EQ(board->read(5 + Board::most_keys), (Numbers{3})) << "its place was taken";
  board->write(5, {4, 5, 6});
  EXPECT_EQ(board->read(5), (Numbers{4, 5, 6}));
  board->write(6, Numbers(1000, 7));
  EXPECT_EQ(board->read(6), Numbers(Board::most_numbers, 7));
  EXPECT_FALSE(board->has_begun(9));
  board->begin(9);
  board->begin(9);
  board->end(9);
  EXPECT_TRUE(board->has_begun(9));
  board->end(9);
  EXPECT_FALSE(board->has_begun(9));
  EXPECT_TRUE(board->read(9).empty()) << "nothing was found yet";
}

TEST(BoardTest, WhatFindsNoRoomIsNotTold) {
  const auto board = std::make_unique<Board>();
  for (std::uint64_t key = 1; key <= Board::most_keys; ++key) board->write(key, {key});
  board->write(1000, {1});
  board->begin(1000);
  EXPECT_TRUE(board->read(1000).empty());
  EXPECT_FALSE(board->has_begun(1000));
  for (std::uint64_t key = 1; key <= Board::most_keys; ++key) EXPECT_EQ(board->read(key), Numbers{key});
}

// Each row holds one number alone: half of one and half of another would show.
TEST(BoardTest, RowsAreWholeWhoeverWrites) {
  const auto board = std::make_unique<Board>();
  constexpr std::uint64_t rounds = 20000;
  const auto write = [&](std::uint64_t first) {
    for (std::uint64_t i = 0; i < rounds; ++i)
      board->write(1, Numbers(1 + i % Board::most_numbers, first + i));
  };
  std::thread one(write, 0), other(write, rounds);
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const Numbers row = board->read(1);
    for (const std::uint64_t number : row) ASSERT_EQ(number, row[0]);
  }
  one.join();
  other.join();
  EXPECT_FALSE(board->read(1).empty());
}

}  // namespace
}  // namespace unisono::shm
