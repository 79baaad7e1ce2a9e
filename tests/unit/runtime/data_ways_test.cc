// SPDX-License-Identifier: BSD-3-Clause
// How a receiver finds out which way long data comes faster, with times that the test makes up.
#include "runtime/messages/data_ways.h"

#include <gtest/gtest.h>

#include <functional>

#include "runtime/messages/message.h"

namespace unisono::runtime {
namespace {

constexpr std::uint64_t kib = 1024;

// Messages one after the other, which take what `ns_of` says.
class Sender {
 public:
  explicit Sender(std::function<std::uint64_t(DataWay, std::uint64_t)> ns_of) : ns_of_(std::move(ns_of)) {}

  // How many of `count` messages the host has carried.
  int send(int count, std::uint64_t bytes, bool is_refused = false) {
    int by_host = 0;
    for (int i = 0; i < count; ++i) {
      const DataWay way = ways_.next(bytes, &receive_);
      if (ways_.is_timed(&receive_)) ways_.began(now_ns_);
      now_ns_ += ns_of_(way, bytes);
      if (ways_.is_timed(&receive_)) ways_.ended(now_ns_, is_refused && way == DataWay::host);
      by_host += way == DataWay::host ? 1 : 0;
    }
    return by_host;
  }

 private:
  std::function<std::uint64_t(DataWay, std::uint64_t)> ns_of_;
  SendersWay ways_;
  MessageRequest receive_;
  std::uint64_t now_ns_ = 1000;
};

std::uint64_t host_is_faster_from_256k(DataWay way, std::uint64_t bytes) {
  return (way == DataWay::host) == (bytes >= 256 * kib) ? 10'000 : 20'000;
}

TEST(SendersWay, TheFasterOneOfEachLength) {
  Sender sender(host_is_faster_from_256k);
  EXPECT_EQ(sender.send(8, 100 * kib), 0);  // nothing is tried before
  EXPECT_EQ(sender.send(8, 100 * kib), 4);  // four of each
  EXPECT_EQ(sender.send(200, 100 * kib), 0);
  EXPECT_EQ(sender.send(16, 300 * kib), 4);
  EXPECT_EQ(sender.send(8, 300 * kib), 8);
  EXPECT_GT(sender.send(1000, 300 * kib), 950);
  EXPECT_GT(sender.send(1000, std::uint64_t{1} << 40), 950);
}

// What is far off is tried seldom: 4 of 1000 messages.
TEST(SendersWay, TriesTheSlowerOneSeldom) {
  Sender sender([](DataWay way, std::uint64_t) { return way == DataWay::host ? 30'000u : 10'000u; });
  EXPECT_LE(sender.send(1000, 100 * kib), 8);
  EXPECT_LE(sender.send(10'000, 100 * kib), 12);
}

TEST(SendersWay, FollowsWhereTheMachineChanges) {
  bool is_host_faster = true;
  Sender sender([&](DataWay way, std::uint64_t) {
    return (way == DataWay::host) == is_host_faster ? 10'000u : 15'000u;
  });
  sender.send(2000, 100 * kib);
  EXPECT_EQ(sender.send(10, 100 * kib), 10);
  is_host_faster = false;
  sender.send(5000, 100 * kib);
  EXPECT_LE(sender.send(100, 100 * kib), 4);
}

// A sender that cannot call the host sends through memory, and is not asked again soon.
TEST(SendersWay, ARefusalEndsTheTrial) {
  Sender sender(host_is_faster_from_256k);
  EXPECT_EQ(sender.send(200, 300 * kib, true), 1);
}

// Where the program goes on with another length the trial of the first one ends, and the other one's comes.
TEST(SendersWay, ATrialThatIsLeftEnds) {
  Sender sender(host_is_faster_from_256k);
  sender.send(10, 100 * kib);
  EXPECT_EQ(sender.send(8 + 64, 300 * kib), 0);
  EXPECT_GT(sender.send(100, 300 * kib), 80);
}

TEST(DataWays, AsTheOptionSays) {
  MessageRequest receive;
  DataWays memory(DataWays::Choice::memory, 2), host(DataWays::Choice::host, 2);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(memory.next(1, 100 * kib, &receive), DataWay::memory);
    EXPECT_EQ(host.next(1, 100 * kib, &receive), DataWay::host);
    memory.ended(1, &receive, false);
    host.ended(1, &receive, false);
  }
}

}  // namespace
}  // namespace unisono::runtime
