// SPDX-License-Identifier: BSD-3-Clause
// Mailboxes: ranks of a node send each other items and long data, each pair in order.
#include "shm/pairs/mailbox.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "../seed.h"
#include "ranks.h"

namespace unisono::shm {
namespace {

struct Traffic {
  int ranks = 4;
  int items = 20'000;  // of each rank
  WaitPolicy policy = WaitPolicy::yield;
};

// How much the item of that number of a pair has in the arena.
std::size_t bytes_of(std::uint64_t number) {
  return (3 + number * 7919 % 1100) * sizeof number;
}

// Everybody sends to everybody at random, and reads in between. An item's words are its number on its pair,
// and the name of its data's place in the arena, or 0. Its first and last bytes there tell that number again.
void exchange(const Traffic& traffic, Mailbox* mail) {
  const int ranks = traffic.ranks;
  std::minstd_rand random(seed() + static_cast<std::uint32_t>(mail->rank()));
  std::vector<std::uint64_t> sent(static_cast<std::size_t>(ranks)), got(static_cast<std::size_t>(ranks));
  std::vector<bool> has_ended(static_cast<std::size_t>(ranks));
  constexpr std::uint64_t end = ~std::uint64_t{0};
  int ended = 1;
  const auto read = [&] {
    mail->poll([&](int from, RingReader& reader) {
      const RingItem item = *reader.peek();
      const auto peer = static_cast<std::size_t>(from);
      if (item.words[0] == end) {
        EXPECT_EQ(item.words[1], got[peer]);
        has_ended[peer] = true;
        ++ended;
        reader.drop(0);
        return true;
      }
      EXPECT_EQ(item.words[0], got[peer]);
      if (item.words[1] != 0) {
        mail->read_arena(from, item.words[1], bytes_of(got[peer]), [&](const void* data) {
          const auto* numbers = static_cast<const std::uint64_t*>(data);
          EXPECT_EQ(numbers[0], got[peer]);
          EXPECT_EQ(numbers[1], static_cast<std::uint64_t>(from));
          EXPECT_EQ(numbers[bytes_of(got[peer]) / sizeof numbers[0] - 1], got[peer] + bytes_of(got[peer]));
        });
      }
      ++got[peer];
      reader.drop(0);
      return true;
    });
  };
  const auto write = [&](int to, const RingItem& item) {
    while (!mail->has_room(to, 0)) read(), std::this_thread::yield();
    mail->write(to, item, nullptr, 0);
  };
  for (int i = 0; i < traffic.items; ++i) {
    const int to =
        (mail->rank() + 1 + static_cast<int>(random() % static_cast<std::uint32_t>(ranks - 1))) % ranks;
    std::uint64_t& number = sent[static_cast<std::size_t>(to)];
    RingItem item{{number, 0}};
    if (random() % 2 == 0) {
      const std::size_t bytes = bytes_of(number);
      std::vector<std::uint64_t> data(bytes / sizeof number, number);
      data[1] = static_cast<std::uint64_t>(mail->rank());
      data.back() += bytes;
      while ((item.words[1] = mail->put_into_arena(to, data.data(), bytes, bytes)) == 0)
        read(), std::this_thread::yield();
    }
    ++number;
    write(to, item);
    if (random() % 4 == 0) read();
  }
  for (int to = 0; to < ranks; ++to) {
    if (to != mail->rank()) write(to, {{end, sent[static_cast<std::size_t>(to)]}});
  }
  while (ended < ranks) read(), std::this_thread::yield();
  while (!mail->is_arena_unused()) std::this_thread::yield();
}

TEST(Mailbox, AllSendToAll) {
  for (const int ranks : {2, 5}) {
    const MailboxShape shape{
        .ranks = ranks, .arena_bytes = 256 << 10, .ring_lines = MailboxShape::ring_lines_of(5, ranks == 5)};
    const SharedMemory memory(shape.bytes());
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank) {
      threads.emplace_back([&, rank] {
        Mailbox mail(memory.get(), shape, rank, WaitPolicy::futex);
        exchange({.ranks = ranks}, &mail);
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
}

TEST(Mailbox, RingsAreLongerWhereRanksShareCores) {
  EXPECT_EQ(MailboxShape::ring_lines_of(8, false), 64);
  EXPECT_EQ(MailboxShape::ring_lines_of(4, true), 512);
  EXPECT_EQ(MailboxShape::ring_lines_of(16, true), 512);
  EXPECT_EQ(MailboxShape::ring_lines_of(32, true), 256);
  EXPECT_EQ(MailboxShape::ring_lines_of(4096, true), 64);
  const MailboxShape shape{.ranks = 32, .ring_lines = 256};
  EXPECT_LE(shape.bytes(), (std::size_t{18} << 20));
}

// What nobody uses takes no memory.
TEST(Mailbox, PairsThatDoNotTalkTakeNoMemory) {
  constexpr int ranks = 64;
  const MailboxShape shape{.ranks = ranks, .arena_bytes = MailboxShape::arena_bytes_of(ranks)};
  EXPECT_EQ(shape.arena_bytes, std::size_t{512} << 10);
  const SharedMemory memory(shape.bytes());
  std::vector<Mailbox> mails;
  for (int rank = 0; rank < ranks; ++rank) mails.emplace_back(memory.get(), shape, rank, WaitPolicy::yield);
  // A stencil: each has six neighbours.
  for (int round = 0; round < 200; ++round) {
    for (int rank = 0; rank < ranks; ++rank) {
      for (const int away : {1, 8, 16, 48, 56, 63}) {
        Mailbox& mail = mails[static_cast<std::size_t>(rank)];
        const int to = (rank + away) % ranks;
        ASSERT_TRUE(mail.has_room(to, 0));
        mail.write(to, {{1, 2}}, nullptr, 0);
      }
    }
    for (Mailbox& mail : mails) {
      const int taken = mail.poll([](int, RingReader& reader) { return reader.drop(0), true; });
      ASSERT_EQ(taken, 6);
    }
  }
  std::vector<unsigned char> pages(shape.bytes() / 4096);
  ASSERT_EQ(mincore(memory.get(), shape.bytes(), pages.data()), 0);
  const auto touched = std::ranges::count_if(pages, [](unsigned char page) { return (page & 1) != 0; });
  // Two pages for each ring at most, and one for each rank.
  EXPECT_LE(touched, ranks * (6 * 2 + 1));
}

TEST(Mailbox, ThePreferredOneComesFirst) {
  const MailboxShape shape{.ranks = 4, .arena_bytes = 64 << 10};
  const SharedMemory memory(shape.bytes());
  std::vector<Mailbox> mails;
  for (int rank = 0; rank < 4; ++rank) mails.emplace_back(memory.get(), shape, rank, WaitPolicy::yield);
  for (const int from : {1, 3, 2}) mails[static_cast<std::size_t>(from)].write(0, {{0, 0}}, nullptr, 0);
  std::vector<int> order;
  mails[0].poll(
      [&](int from, RingReader& reader) {
        order.push_back(from);
        reader.drop(0);
        return true;
      },
      3);
  EXPECT_EQ(order, (std::vector<int>{3, 1, 2}));
}

}  // namespace
}  // namespace unisono::shm
