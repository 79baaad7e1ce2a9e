// SPDX-License-Identifier: BSD-3-Clause
// Messages inside a node: what MPI promises of order, matching, truncation and probes, with ranks as
// threads.
#include "runtime/messages/endpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "../seed.h"
#include "endpoint_node.h"
#include "endpoint_nodes.h"
#include "fake_host/fake_host.h"

namespace unisono::runtime::endpoint_test {
namespace {

using matching::any_source;
using matching::any_tag;

// In lines, at their ends, in the arena, and in pieces.
constexpr std::size_t lengths[] = {0,      1,      40,     41,    264,   265,      4000,
                                   12'288, 12'289, 50'001, 65536, 65537, 1'000'000};

TEST(Endpoint, MessagesOfAllLengthsArriveBeforeAndAfterTheirReceive) {
  Node node(2, options_of(2));
  node.open(5);
  std::uint32_t number = 0;
  for (const std::size_t bytes : lengths) {
    for (const bool is_posted_first : {true, false}) {
      for (const bool waits : {false, true}) {
        for (const int to : {1, 0}) {
          const auto sent = pattern(bytes, ++number);
          std::vector<std::uint8_t> got(bytes);
          MessageRequest *receive = nullptr, *send = nullptr;
          if (is_posted_first) receive = node[to].receive(5, got.data(), bytes, 0, 7);
          send = node[0].send(5, sent.data(), bytes, to, 7, waits);
          node.progress(20);
          EXPECT_EQ(send->is_done, is_posted_first || (!waits && bytes <= 65536)) << bytes << ' ' << waits;
          if (!is_posted_first) receive = node[to].receive(5, got.data(), bytes, any_source, any_tag);
          for (int i = 0; i < 100 && !(send->is_done && receive->is_done); ++i) node.progress();
          ASSERT_TRUE(send->is_done && receive->is_done) << bytes;
          EXPECT_EQ(got, sent) << bytes;
          EXPECT_EQ(receive->envelope.source, 0);
          EXPECT_EQ(receive->envelope.tag, 7);
          EXPECT_EQ(receive->message_bytes, bytes);
          EXPECT_FALSE(receive->is_truncated());
          node[to].release(receive);
          node[0].release(send);
        }
      }
    }
  }
  EXPECT_EQ(node[0].live_requests() + node[1].live_requests(), 0u);
  EXPECT_EQ(node[1].unexpected_bytes(), 0u);
  EXPECT_TRUE(node[0].is_idle());
}

TEST(Endpoint, RequestsThatNobodyWaitsForEndByThemselves) {
  for (const std::size_t bytes : lengths) {
    Node node(2, options_of(2));
    node.open(3);
    const auto sent = pattern(bytes, 4);
    std::vector<std::uint8_t> got(bytes);
    MessageRequest* receive = node[1].receive(3, got.data(), bytes, 0, 1);
    node[1].abandon(receive);
    node[0].abandon(node[0].send(3, sent.data(), bytes, 1, 1, true));
    EXPECT_TRUE(node[0].has_unfinished() && node[1].has_unfinished());
    node.progress(200);
    EXPECT_EQ(got, sent);
    EXPECT_FALSE(node[0].has_unfinished() || node[1].has_unfinished());
    EXPECT_EQ(node[0].live_requests() + node[1].live_requests(), 0u);
    EXPECT_TRUE(node[1].ended().empty());
    // One that holds something of its caller's is the caller's to release.
    MessageRequest* holding = node[1].receive(3, got.data(), bytes, 0, 2);
    holding->callers.kept = std::make_shared<int>(0);
    node[1].abandon(holding);
    node[0].release(node[0].send(3, nullptr, 0, 1, 2));
    node.progress();
    ASSERT_EQ(node[1].ended(), std::vector<MessageRequest*>{holding});
    node[1].release(holding);
  }
}

TEST(Endpoint, ACommunicatorThatIsHeldOutlivesItsClose) {
  Node node(2, options_of(2));
  node.open(9);
  for (int rank : {0, 1}) {
    node[rank].hold(9);
    node[rank].close(9);
  }
  int value = 0;
  const int sent = 5;
  MessageRequest* receive = node[1].receive(9, &value, sizeof value, 0, 0);
  node[0].release(node[0].send(9, &sent, sizeof sent, 1, 0));
  node.progress();
  EXPECT_TRUE(receive->is_done);
  EXPECT_EQ(value, 5);
  node[1].release(receive);
  for (int rank : {0, 1}) node[rank].drop(9);
}

// A sender that is faster than its receiver keeps requests, and no copies: what it has sent may not be
// changed.
TEST(Endpoint, ShortMessagesWithoutRoomWaitInTheirBuffers) {
  Node node(2, options_of(2));
  node.open(2);
  constexpr int count = 300;
  std::vector<int> values(count);
  std::vector<MessageRequest*> sends;
  for (int i = 0; i < count; ++i) {
    values[static_cast<std::size_t>(i)] = i;
    sends.push_back(node[0].send(2, &values[static_cast<std::size_t>(i)], sizeof(int), 1, i));
  }
  EXPECT_TRUE(sends.front()->is_done);
  EXPECT_FALSE(sends.back()->is_done);
  EXPECT_FALSE(node[0].is_idle());
  node.progress(20);
  for (int i = 0; i < count; ++i) {
    EXPECT_TRUE(sends[static_cast<std::size_t>(i)]->is_done);
    int got = -1;
    MessageRequest* receive = node[1].receive(2, &got, sizeof got, 0, i);
    EXPECT_TRUE(receive->is_done);
    EXPECT_EQ(got, i);
    node[1].release(receive);
  }
}

TEST(Endpoint, AMessageThatIsTooLongFillsTheBufferAndNoMore) {
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{5000}, std::size_t{300'000}}) {
    for (const int to : {0, 1}) {
      Node node(2, options_of(2));
      node.open(1);
      const auto sent = pattern(bytes, 3);
      std::vector<std::uint8_t> got(bytes, 0xEE);
      MessageRequest* receive = node[to].receive(1, got.data(), bytes / 2, 0, 0);
      MessageRequest* send = node[0].send(1, sent.data(), bytes, to, 0);
      for (int i = 0; i < 100; ++i) node.progress();
      ASSERT_TRUE(receive->is_done && send->is_done);
      EXPECT_TRUE(receive->is_truncated());
      EXPECT_EQ(receive->message_bytes, bytes);
      EXPECT_TRUE(
          std::equal(got.begin(), got.begin() + static_cast<std::ptrdiff_t>(bytes / 2), sent.begin()));
      EXPECT_TRUE(std::all_of(got.begin() + static_cast<std::ptrdiff_t>(bytes / 2), got.end(),
                              [](std::uint8_t byte) { return byte == 0xEE; }));
    }
  }
}

TEST(Endpoint, ProbedMessagesStayAndTakenOnesAreNobodyElses) {
  Node node(2, options_of(2));
  node.open(1);
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{200'000}}) {
    EXPECT_EQ(node[1].probe(1, any_source, any_tag), nullptr);
    const auto first = pattern(bytes, 1), second = pattern(bytes, 2);
    MessageRequest* sends[] = {node[0].send(1, first.data(), bytes, 1, 4),
                               node[0].send(1, second.data(), bytes, 1, 4)};
    node.progress();
    const WaitingMessage* seen = node[1].probe(1, 0, any_tag);
    ASSERT_NE(seen, nullptr);
    EXPECT_EQ(seen->bytes, bytes);
    EXPECT_EQ(seen->envelope.tag, 4);
    WaitingMessage* taken = node[1].take(1, any_source, 4);
    EXPECT_EQ(taken, seen);
    std::vector<std::uint8_t> got_second(bytes), got_first(bytes);
    MessageRequest* receives[] = {node[1].receive(1, got_second.data(), bytes, 0, 4),
                                  node[1].receive_taken(taken, got_first.data(), bytes)};
    for (int i = 0; i < 100; ++i) node.progress();
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(sends[i]->is_done && receives[i]->is_done);
    EXPECT_EQ(got_first, first);
    EXPECT_EQ(got_second, second);
  }
  EXPECT_EQ(node[1].unexpected_bytes(), 0u);
}

TEST(Endpoint, CommunicatorsAreApartAndMayComeLateAndGoEarly) {
  Node node(3, options_of(3));
  // The second rank is the first one of this communicator, and has opened it before the other.
  node[1].open(8, {1, 0});
  const int value = 7;
  node[1].send(8, &value, sizeof value, 1, 2);
  node.progress();
  node[0].open(8, {1, 0});
  node.open(9);
  int of_8 = 0, of_9 = 0;
  MessageRequest* other = node[0].receive(9, &of_9, sizeof of_9, any_source, any_tag);
  MessageRequest* receive = node[0].receive(8, &of_8, sizeof of_8, any_source, any_tag);
  EXPECT_TRUE(receive->is_done);
  EXPECT_EQ(receive->envelope.source, 0);
  EXPECT_EQ(of_8, 7);
  EXPECT_FALSE(other->is_done);
  // Freed with a receive that waits: it gets its message all the same (MPI 4.1, section 7.4.3).
  node[0].close(9);
  const int last = 11;
  node[2].send(9, &last, sizeof last, 0, 0);
  node.progress();
  EXPECT_TRUE(other->is_done);
  EXPECT_EQ(of_9, 11);
}

TEST(Endpoint, AFloodIsBoundedAndComesInOrder) {
  EndpointOptions options = options_of(2);
  options.most_unexpected_bytes = 64 << 10;
  Node node(2, options);
  node.open(1);
  constexpr int messages = 4000;
  constexpr std::size_t bytes = 1000;
  std::vector<std::vector<std::uint8_t>> sent;
  std::vector<MessageRequest*> sends;
  for (int i = 0; i < messages; ++i) {
    sent.push_back(pattern(bytes, static_cast<std::uint32_t>(i)));
    sends.push_back(node[0].send(1, sent.back().data(), bytes, 1, i % 5));
    node.progress(1);
    // What was under way when it asked for headers alone may still come: a ring and an arena.
    ASSERT_LE(node[1].unexpected_bytes(), (64u << 10) + (320u << 10));
  }
  const auto done = std::ranges::count_if(sends, [](MessageRequest* send) { return send->is_done; });
  EXPECT_LT(done, messages / 2);
  for (int i = 0; i < messages; ++i) {
    std::vector<std::uint8_t> got(bytes);
    MessageRequest* receive = node[1].receive(1, got.data(), bytes, 0, any_tag);
    for (int turn = 0; turn < 100 && !receive->is_done; ++turn) node.progress();
    ASSERT_TRUE(receive->is_done);
    ASSERT_EQ(got, sent[static_cast<std::size_t>(i)]) << i;
    ASSERT_EQ(receive->envelope.tag, i % 5);
  }
  node.progress();
  EXPECT_TRUE(std::ranges::all_of(sends, [](MessageRequest* send) { return send->is_done; }));
  EXPECT_EQ(node[1].unexpected_bytes(), 0u);
}

// Everybody sends to everybody, with few tags, in two communicators. A message says which one of its source
// and tag it is. In the first communicator each receive names both; in the second one none does.
struct Traffic {
  int ranks = 4, messages = 400;  // to each rank, of each communicator
  const char* structure = "own";
  bool is_aside_too = false;  // a thread beside the program makes progress as well
};

void exchange(const Traffic& traffic, Endpoint* end, int rank) {
  constexpr int tags = 3;
  const int ranks = traffic.ranks;
  const auto peers = static_cast<std::size_t>(ranks);
  struct Post {
    MessageRequest* request;
    std::vector<std::uint8_t> data;
    int from, tag;
  };
  std::mt19937 random(seed() + static_cast<std::uint32_t>(rank));
  const auto length_of = [&](int from, int to, int number) {
    std::minstd_rand own(static_cast<std::uint32_t>(from * 7919 + to * 104729 + number * 31 + 1));
    own.discard(3);
    const std::uint32_t kind = own() % 16;
    return 12 + (kind == 0 ? own() % 200'000 : kind < 5 ? own() % 9000 : own() % 300);
  };
  constexpr std::size_t longest = 200'100;
  std::vector<std::vector<std::uint8_t>> sent;
  std::vector<MessageRequest*> sends;
  std::array<std::vector<Post>, 2> posts;
  // What there is to do, in an order of this rank's own; numbers of one pair and tag stay in order.
  std::vector<std::function<void()>> work;
  std::vector<int> next_sent(2 * peers * tags), next_of_pair(2 * peers);
  for (const std::uint32_t context : {0u, 1u}) {
    for (int other = 0; other < ranks; ++other) {
      for (int i = 0; i < traffic.messages; ++i) {
        work.push_back([&, context, other] {
          const std::size_t pair = context * peers + static_cast<std::size_t>(other);
          const int number = next_of_pair[pair]++, tag = number % tags;
          auto data = pattern(length_of(rank, other, number), static_cast<std::uint32_t>(number));
          const std::int32_t head[] = {rank, tag, number / tags};
          std::memcpy(data.data(), head, sizeof head);
          sent.push_back(std::move(data));
          sends.push_back(
              end->send(context, sent.back().data(), sent.back().size(), other, tag, number % 11 == 0));
        });
        work.push_back([&, context, other, i] {
          std::vector<std::uint8_t> room(longest);
          const int from = context == 0 ? other : any_source, tag = context == 0 ? i % tags : any_tag;
          MessageRequest* request = end->receive(context, room.data(), room.size(), from, tag);
          posts[context].push_back({request, std::move(room), from, tag});
        });
      }
    }
  }
  std::ranges::shuffle(work, random);
  sent.reserve(work.size());
  // Not all at once: rooms are large.
  std::map<std::array<int, 3>, int> seen;
  std::array<std::size_t, 2> checked{};
  const auto check = [&] {
    for (const std::size_t context : {0, 1}) {
      for (; checked[context] < posts[context].size(); ++checked[context]) {
        Post& post = posts[context][checked[context]];
        if (!post.request->is_done) break;
        std::int32_t head[3];
        std::memcpy(head, post.data.data(), sizeof head);
        const auto [from, tag, number] = head;
        EXPECT_EQ(post.request->envelope.source, from);
        EXPECT_EQ(post.request->envelope.tag, tag);
        if (context == 0) {
          EXPECT_EQ(from, post.from);
          EXPECT_EQ(tag, post.tag);
        }
        // Posted in this order, so matched in this order.
        EXPECT_EQ(number, (seen[{static_cast<int>(context), from, tag}]++))
            << "of " << from << ", tag " << tag;
        const int of_pair = number * tags + tag;
        EXPECT_EQ(post.request->message_bytes, length_of(from, rank, of_pair));
        auto expected = pattern(post.request->message_bytes, static_cast<std::uint32_t>(of_pair));
        std::memcpy(expected.data(), head, sizeof head);
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), post.data.begin()));
        end->release(post.request);
        post.data = {};
      }
    }
  };
  for (const auto& one : work) {
    one();
    if (random() % 3 == 0) traffic.is_aside_too&& random() % 2 == 0 ? end->progress_aside() : end->progress();
    check();
  }
  const auto is_over = [&] {
    return checked[0] == posts[0].size() && checked[1] == posts[1].size() &&
           std::ranges::all_of(sends, [](MessageRequest* send) { return send->is_done; });
  };
  while (!is_over()) {
    traffic.is_aside_too&& random() % 4 != 0 ? end->progress_aside() : end->progress();
    check();
    std::this_thread::yield();
  }
  // Others may still wait for what this rank has to pass on.
  while (!end->is_idle()) end->progress();
}

TEST(Endpoint, RandomTrafficOfThreads) {
  for (const Traffic& traffic : {Traffic{2, 600, "own"}, Traffic{4, 150, "own"}, Traffic{3, 150, "list"}}) {
    const shm::MailboxShape shape{.ranks = traffic.ranks, .arena_bytes = 256 << 10};
    const shm::SharedMemory memory(shape.bytes());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < traffic.ranks; ++rank) {
      threads.emplace_back([&, rank] {
        shm::Mailbox mail(memory.get(), shape, rank, shm::WaitPolicy::yield);
        Endpoint end(&mail, options_of(traffic.ranks, traffic.structure));
        for (const std::uint32_t context : {0u, 1u}) end.open(context, all_of(traffic.ranks));
        exchange(traffic, &end, rank);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(Endpoint, RandomTrafficBetweenNodes) {
  struct Case {
    std::vector<int> nodes;
    bool is_synchronous;
    const char* structure;
    std::uint64_t most_unexpected_bytes = 256 << 20;
  };
  for (const Case& one :
       {Case{{0, 1}, false, "own"}, Case{{0, 0, 1}, true, "own"}, Case{{0, 1, 0, 2}, false, "list"},
        Case{{0, 1}, true, "own", 2 << 10}, Case{{0, 1, 0, 2}, false, "own", 2 << 10}}) {
    const int ranks = static_cast<int>(one.nodes.size());
    EndpointOptions like = options_of(ranks, one.structure);
    like.most_unexpected_bytes = one.most_unexpected_bytes;
    run_on_nodes(one.nodes, one.is_synchronous, like, [&](Endpoint* end, int rank) {
      exchange({ranks, 60, one.structure}, end, rank);
    });
  }
}

// The host carries data inside a node too. Where a thread beside the program must not call it, it sends all
// the same, through memory.
TEST(Endpoint, RandomTrafficWithDataByTheHost) {
  struct Case {
    std::vector<int> nodes;
    DataWays::Choice long_data;
    bool may_call_host_aside;
  };
  using Choice = DataWays::Choice;
  for (const Case& one : {Case{{0, 0}, Choice::host, true}, Case{{0, 0, 0}, Choice::host, false},
                          Case{{0, 0, 1}, Choice::host, true}, Case{{0, 0}, Choice::learned, true},
                          Case{{0, 0, 0}, Choice::learned, false}}) {
    const int ranks = static_cast<int>(one.nodes.size());
    EndpointOptions like = options_of(ranks);
    like.eager_bytes = 2000;
    like.long_data = one.long_data;
    like.may_call_host_aside = one.may_call_host_aside;
    std::atomic<std::uint64_t> by_host{0};
    run_on_nodes(one.nodes, false, like, [&](Endpoint* end, int rank) {
      exchange({ranks, 120, "own", !one.may_call_host_aside}, end, rank);
      by_host += end->totals().by_host;
    });
    // What is learned goes by times, which a busy machine has its own of.
    if (one.long_data == Choice::host) {
      EXPECT_GT(by_host, 0u);
    }
  }
}

// What was under way when the receiver asked for headers alone comes still. All else waits with its sender,
// of whatever length, and comes in order.
TEST(Endpoint, AFloodBetweenNodesIsBounded) {
  constexpr int messages = 2000;
  const auto bytes_of = [](int i) { return std::size_t{i % 100 == 99 ? 6000u : 1000u}; };
  for (const bool is_synchronous : {false, true}) {
    EndpointOptions like = options_of(2);
    like.most_unexpected_bytes = 64 << 10;
    std::uint64_t floods = 0;
    run_on_nodes({0, 1}, is_synchronous, like, [&](Endpoint* end, int rank) {
      std::vector<MessageRequest*> sends;
      std::vector<std::vector<std::uint8_t>> sent;
      std::uint8_t go = 0;
      if (rank == 0) {
        for (int i = 0; i < messages; ++i) {
          sent.push_back(pattern(bytes_of(i), static_cast<std::uint32_t>(i)));
          sends.push_back(end->send(0, sent.back().data(), sent.back().size(), 1, i % 5));
          end->progress();
        }
        // In another communicator: all that came before it wait for their receives.
        MessageRequest* last = end->send(1, &go, 1, 1, 0);
        end->release(wait_for(end, last));
        const auto done = std::ranges::count_if(sends, [](MessageRequest* send) { return send->is_done; });
        EXPECT_LT(done, messages);
        for (MessageRequest* send : sends) {
          end->release(wait_for(end, send));
        }
        return;
      }
      MessageRequest* last = end->receive(1, &go, 1, 0, 0);
      end->release(wait_for(end, last));
      for (int i = 0; i < messages; ++i) {
        std::vector<std::uint8_t> got(bytes_of(i));
        MessageRequest* receive = end->receive(0, got.data(), got.size(), 0, any_tag);
        wait_for(end, receive);
        ASSERT_EQ(got, pattern(got.size(), static_cast<std::uint32_t>(i))) << i;
        ASSERT_EQ(receive->envelope.tag, i % 5);
        end->release(receive);
      }
      EXPECT_EQ(end->unexpected_bytes(), 0u);
      // 256 messages on their way, and those that the sender began before it heard. A host that sends at once
      // bounds neither of them: a busy machine may let the receiver wait meanwhile.
      const std::uint64_t most = is_synchronous ? (64u << 10) + (1024u << 10) : messages * 900u;
      EXPECT_LE(end->totals().most_unexpected_bytes, most);
      floods = end->totals().floods;
    });
    EXPECT_GT(floods, 0u);
  }
}

}  // namespace
}  // namespace unisono::runtime::endpoint_test
