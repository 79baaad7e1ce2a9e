// SPDX-License-Identifier: BSD-3-Clause
// Messages that are cancelled, by who receives them and by who sends them.
#include <gtest/gtest.h>

#include <vector>

#include "endpoint_node.h"
#include "endpoint_nodes.h"
#include "runtime/messages/endpoint.h"

namespace unisono::runtime::endpoint_cancel_test {
namespace {

using matching::any_source;
using matching::any_tag;

TEST(EndpointCancel, AReceiveIsCancelledWhereNothingHasCome) {
  Node node(2, options_of(2));
  node.open(1);
  int got[2] = {-1, -1};
  MessageRequest* receives[] = {node[1].receive(1, &got[0], sizeof(int), 0, 3),
                                node[1].receive(1, &got[1], sizeof(int), 0, any_tag)};
  node[1].cancel(receives[0]);
  EXPECT_TRUE(receives[0]->is_done && receives[0]->is_cancelled);
  const int value = 42;
  node[0].send(1, &value, sizeof value, 1, 3);
  node.progress();
  EXPECT_TRUE(receives[1]->is_done);
  node[1].cancel(receives[1]);
  EXPECT_FALSE(receives[1]->is_cancelled);
  EXPECT_EQ(got[0], -1);
  EXPECT_EQ(got[1], 42);
}

// Long ones and those that wait for their receive, of any length; what comes behind them is not touched.
TEST(EndpointCancel, ASendIsCancelledWhereNoReceiveHasGotIt) {
  for (const int to : {0, 1}) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{200'000}}) {
      Node node(2, options_of(2));
      node.open(1);
      const auto data = pattern(bytes, 1), next = pattern(bytes, 2);
      std::vector<std::uint8_t> got(bytes);
      MessageRequest* sends[] = {node[0].send(1, data.data(), bytes, to, 3, true),
                                 node[0].send(1, data.data(), bytes, to, 3, true),
                                 node[0].send(1, next.data(), bytes, to, 3, true)};
      node.progress();
      node[0].cancel(sends[0]);
      node[0].cancel(sends[1]);
      node[0].cancel(sends[1]);
      node.progress();
      for (MessageRequest* send : {sends[0], sends[1]}) EXPECT_TRUE(send->is_done && send->is_cancelled);
      EXPECT_FALSE(sends[2]->is_done);
      WaitingMessage* taken = bytes == 8 ? node[to].take(1, 0, 3) : nullptr;
      if (bytes != 8) {
        EXPECT_NE(node[to].probe(1, 0, any_tag), nullptr);
      }
      // What a probe has given to one receive is no longer to be cancelled.
      if (bytes == 8) node[0].cancel(sends[2]);
      node.progress();
      MessageRequest* receive = taken != nullptr ? node[to].receive_taken(taken, got.data(), bytes)
                                                 : node[to].receive(1, got.data(), bytes, 0, 3);
      node[0].cancel(sends[2]);
      for (int i = 0; i < 100; ++i) node.progress();
      EXPECT_TRUE(receive->is_done && sends[2]->is_done && !sends[2]->is_cancelled);
      EXPECT_EQ(got, next);
      EXPECT_EQ(node[to].probe(1, any_source, any_tag), nullptr);
    }
  }
}

TEST(EndpointCancel, ASendThatHasNoRoomYetIsTakenBack) {
  Node node(2, options_of(2));
  node.open(1);
  std::vector<int> values(2000);
  std::vector<MessageRequest*> sends;
  for (int i = 0; i < std::ssize(values); ++i) {
    values[static_cast<std::size_t>(i)] = i;
    sends.push_back(node[0].send(1, &values[static_cast<std::size_t>(i)], sizeof(int), 1, 3, i % 2 == 1));
  }
  int cancelled = 0;
  for (int i = 1900; i < std::ssize(values); i += 3) {
    MessageRequest* send = sends[static_cast<std::size_t>(i)];
    node[0].cancel(send);
    EXPECT_TRUE(send->is_done && send->is_cancelled) << i;
    ++cancelled;
  }
  int last = -1, received = 0;
  for (int i = 0; i < std::ssize(values) - cancelled; ++i) {
    int got = -1;
    MessageRequest* receive = node[1].receive(1, &got, sizeof got, 0, 3);
    for (int turn = 0; turn < 100 && !receive->is_done; ++turn) node.progress();
    ASSERT_TRUE(receive->is_done) << i;
    EXPECT_GT(got, last);
    EXPECT_FALSE(sends[static_cast<std::size_t>(got)]->is_cancelled) << got;
    last = got;
    ++received;
    node[1].release(receive);
  }
  node.progress();
  EXPECT_EQ(node[1].probe(1, any_source, any_tag), nullptr);
  for (MessageRequest* send : sends) EXPECT_TRUE(send->is_done);
}

// Its data is with the host already, which somebody has to take.
TEST(EndpointCancel, ASendToAnotherNodeIsCancelled) {
  for (const bool is_synchronous : {false, true}) {
    for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{100'000}}) {
      run_on_nodes({0, 1}, is_synchronous, options_of(2), [&](Endpoint* end, int rank) {
        const auto data = pattern(bytes, 1), next = pattern(bytes, 2);
        std::vector<std::uint8_t> got(bytes);
        std::uint8_t go = 0;
        if (rank == 0) {
          MessageRequest* first = end->send(0, data.data(), bytes, 1, 3, true);
          end->cancel(first);
          end->cancel(first);
          EXPECT_TRUE(wait_for(end, first)->is_cancelled);
          MessageRequest* second = end->send(0, next.data(), bytes, 1, 3, true);
          end->release(wait_for(end, end->send(1, &go, 1, 1, 0)));
          // The other one has got it by now.
          end->release(wait_for(end, end->receive(1, &go, 1, 1, 0)));
          end->cancel(second);
          EXPECT_FALSE(wait_for(end, second)->is_cancelled);
          end->release(first);
          end->release(second);
          return;
        }
        end->release(wait_for(end, end->receive(1, &go, 1, 0, 0)));
        MessageRequest* receive = wait_for(end, end->receive(0, got.data(), bytes, 0, 3));
        EXPECT_EQ(got, next);
        EXPECT_EQ(end->probe(0, any_source, any_tag), nullptr);
        end->release(receive);
        end->release(wait_for(end, end->send(1, &go, 1, 0, 0)));
      });
    }
  }
}

}  // namespace
}  // namespace unisono::runtime::endpoint_cancel_test
