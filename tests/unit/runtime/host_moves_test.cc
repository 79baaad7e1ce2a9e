// SPDX-License-Identifier: BSD-3-Clause
// Many messages' data that the host carries at a time.
#include "runtime/messages/host_moves.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "../seed.h"
#include "fake_host/fake_host.h"

namespace unisono::runtime::host_moves_test {
namespace {

constexpr int messages = 500, length = 40;

int value_of(int message, int at) {
  return message * 1000 + at;
}

// What all have under way ends, whatever order it ends in. `fetch(message)` tells its receiver's order.
template <class Order>
void move_all(Order order) {
  fake_host::Options options;
  options.seed = seed();
  options.max_delay = 5;
  fake_host::FakeWorld world(2, options);
  world.run([&](fake_host::FakeHost& host, int rank) {
    host::Comm comm{};
    ASSERT_EQ(host.comm_copy(host.world(), &comm), host::success);
    HostMoves moves(host, comm);
    std::vector<MessageRequest> requests(messages);
    std::vector<std::vector<int>> data(messages, std::vector<int>(length));
    int finished = 0;
    const auto poll_until = [&](int count) {
      while (finished < count) {
        moves.poll([&](MessageRequest* request) {
          EXPECT_FALSE(request->is_done);
          request->is_done = true;
          ++finished;
        });
        std::this_thread::yield();
      }
    };
    for (int i = 0; i < messages; ++i) {
      MessageRequest& request = requests[static_cast<std::size_t>(i)];
      request.buffer = data[static_cast<std::size_t>(i)].data();
      request.bytes = request.message_bytes = length * sizeof(int);
    }
    for (int i = 0; i < messages; ++i) {
      if (rank == 0) {
        for (int at = 0; at < length; ++at)
          data[static_cast<std::size_t>(i)][static_cast<std::size_t>(at)] = value_of(i, at);
        moves.send(1, &requests[static_cast<std::size_t>(i)], i + 1, true);
      } else {
        // Each is done before the next one is asked for.
        const int message = order(i);
        moves.fetch(0, &requests[static_cast<std::size_t>(message)], message + 1);
        poll_until(i + 1);
        EXPECT_TRUE(requests[static_cast<std::size_t>(message)].is_done);
      }
    }
    poll_until(messages);
    EXPECT_TRUE(moves.is_idle());
    for (int i = 0; i < messages; ++i) {
      for (int at = 0; at < length; ++at)
        ASSERT_EQ(data[static_cast<std::size_t>(i)][static_cast<std::size_t>(at)], value_of(i, at));
    }
    host.comm_free(&comm);
  });
  EXPECT_EQ(world.leftovers(), "");
}

TEST(HostMoves, EndInTheOrderInWhichTheyBegan) {
  move_all([](int i) { return i; });
}

TEST(HostMoves, EndFromTheLastOneBack) {
  move_all([](int i) { return messages - 1 - i; });
}

TEST(HostMoves, EndWithSomeOfEachAgeLeft) {
  // 7 has no divisor in common with 500: each comes once.
  move_all([](int i) { return i * 7 % messages; });
}

// Those that are given up, and those that are kept, are somewhere among many others.
TEST(HostMoves, AreGivenUpAmongMany) {
  fake_host::FakeWorld world(1, {});
  world.run([&](fake_host::FakeHost& host, int) {
    HostMoves moves(host, host.world());
    std::vector<MessageRequest> sends(messages), receives(messages);
    std::vector<int> sent(messages, 5), got(messages, 0);
    for (std::size_t i = 0; i < messages; ++i) {
      receives[i].buffer = &got[i];
      sends[i].buffer = &sent[i];
      for (MessageRequest* request : {&receives[i], &sends[i]})
        request->bytes = request->message_bytes = sizeof(int);
      moves.fetch(0, &receives[i], static_cast<int>(i) + 1);
    }
    for (std::size_t i = 0; i < messages; i += 3) EXPECT_TRUE(moves.give_up(&receives[i]));
    for (std::size_t i = 1; i < messages; i += 3) EXPECT_TRUE(moves.keep_from_ending(&receives[i]));
    int finished = 0;
    const auto poll = [&] {
      for (int look = 0; look < 100; ++look) moves.poll([&](MessageRequest*) { ++finished; });
    };
    poll();
    EXPECT_EQ(finished, 0);
    int expected = 0;
    for (std::size_t i = 0; i < messages; ++i) {
      if (i % 3 == 0) continue;
      moves.send(0, &sends[i], static_cast<int>(i) + 1, false);
      expected += i % 3 == 1 ? 1 : 2;
    }
    poll();
    EXPECT_EQ(finished, expected);
    for (std::size_t i = 1; i < messages; i += 3) EXPECT_TRUE(moves.let_end(&receives[i]));
    poll();
    EXPECT_TRUE(moves.is_idle());
    EXPECT_FALSE(moves.give_up(&receives[0]));
    for (std::size_t i = 0; i < messages; ++i) EXPECT_EQ(got[i], i % 3 == 0 ? 0 : 5);
  });
}

}  // namespace
}  // namespace unisono::runtime::host_moves_test
