// SPDX-License-Identifier: BSD-3-Clause
// Messages that go at once, in pieces, while something happens between their pieces.
#include <gtest/gtest.h>

#include <algorithm>
#include <ranges>
#include <vector>

#include "endpoint_node.h"

namespace unisono::runtime::endpoint_pieces_test {
namespace {

using matching::any_source;
using matching::any_tag;

// A message that goes at once, of which the arena has room for a part only.
class PiecesTest : public testing::Test {
 protected:
  static constexpr std::size_t bytes = 60'000;
  PiecesTest() { node_.open(2); }
  // As many pieces as there is room for are on their way, and one rank has taken them in.
  MessageRequest* send_some() {
    MessageRequest* send = node_[0].send(2, sent_.data(), bytes, 1, 7);
    node_[1].progress();
    EXPECT_FALSE(send->is_done);
    return send;
  }
  void expect_the_rest(MessageRequest* send, MessageRequest* receive) {
    EXPECT_FALSE(receive->is_done);
    node_.progress(50);
    ASSERT_TRUE(send->is_done && receive->is_done);
    EXPECT_EQ(got_, sent_);
    node_[0].release(send);
    node_[1].release(receive);
    for (MessageRequest* buffered : node_[0].ended()) node_[0].release(buffered);
    expect_nothing_left();
  }
  void expect_nothing_left() {
    EXPECT_TRUE(node_[0].is_idle());
    EXPECT_EQ(node_[1].unexpected_bytes(), 0u);
    EXPECT_EQ(node_[0].live_requests() + node_[1].live_requests(), 0u);
  }
  const std::vector<std::uint8_t> sent_ = pattern(bytes, 9);
  std::vector<std::uint8_t> got_ = std::vector<std::uint8_t>(bytes);
  Node node_{2, options_of(2), 64 << 10};
};

TEST_F(PiecesTest, AReceiveBehindTheFirstPiecesGetsAll) {
  MessageRequest* send = send_some();
  expect_the_rest(send, node_[1].receive(2, got_.data(), bytes, any_source, any_tag));
}

TEST_F(PiecesTest, AProbedMessageIsReceivedBeforeItsLastPieceIsThere) {
  MessageRequest* send = send_some();
  const WaitingMessage* probed = node_[1].probe(2, 0, 7);
  ASSERT_NE(probed, nullptr);
  EXPECT_EQ(probed->bytes, bytes);
  WaitingMessage* taken = node_[1].take(2, 0, 7);
  node_[1].progress();
  expect_the_rest(send, node_[1].receive_taken(taken, got_.data(), bytes));
}

TEST_F(PiecesTest, ATruncatedReceiveGetsItsBeginning) {
  MessageRequest* send = send_some();
  got_.assign(bytes, 0);
  MessageRequest* receive = node_[1].receive(2, got_.data(), 5000, 0, 7);
  node_.progress(50);
  ASSERT_TRUE(send->is_done && receive->is_done);
  EXPECT_TRUE(receive->is_truncated());
  EXPECT_TRUE(std::equal(sent_.begin(), sent_.begin() + 5000, got_.begin()));
  EXPECT_EQ(std::ranges::count(got_ | std::views::drop(5000), 0), static_cast<std::ptrdiff_t>(bytes - 5000));
  node_[0].release(send);
  node_[1].release(receive);
  expect_nothing_left();
}

TEST_F(PiecesTest, ACommunicatorIsFreedBetweenPieces) {
  MessageRequest* send = send_some();
  node_[1].close(2);
  node_.progress(50);
  EXPECT_TRUE(send->is_done);
  node_[0].release(send);
  expect_nothing_left();
}

TEST_F(PiecesTest, WhatHadNoRoomIsBuffered) {
  std::vector<std::uint8_t> buffer = sent_;
  MessageRequest* send = node_[0].send(2, buffer.data(), bytes, 1, 7);
  EXPECT_FALSE(send->is_done);
  node_[0].buffer_held_back();
  EXPECT_TRUE(send->is_done);
  buffer.assign(bytes, 0);  // it is the caller's again
  expect_the_rest(send, node_[1].receive(2, got_.data(), bytes, 0, 7));
}

}  // namespace
}  // namespace unisono::runtime::endpoint_pieces_test
