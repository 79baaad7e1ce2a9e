// SPDX-License-Identifier: BSD-3-Clause
// Requests at places with numbers: what is given back comes again, and a full table says so.
#include "runtime/messages/request_table.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <set>
#include <vector>

namespace unisono::runtime::request_table_test {
namespace {

TEST(RequestTable, PlacesHaveNumbersAndAreUsedAgain) {
  RequestTable table(1 << 20);
  std::set<MessageRequest*> taken;
  for (int i = 0; i < 1000; ++i) {
    MessageRequest* request = table.take();
    ASSERT_NE(request, nullptr);
    EXPECT_TRUE(taken.insert(request).second);
    EXPECT_EQ(table.at(table.number_of(request)), request);
    const auto address = reinterpret_cast<std::uintptr_t>(request);
    EXPECT_GE(address - table.begin(), RequestTable::front_bytes);
    EXPECT_LT(address - table.begin(), table.bytes());
  }
  EXPECT_EQ(table.live(), 1000u);
  for (MessageRequest* request : taken) table.give(request);
  EXPECT_EQ(table.live(), 0u);
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(taken.contains(table.take()));
}

TEST(RequestTable, WhatIsGivenBackHoldsNothing) {
  RequestTable table(1024);
  MessageRequest* request = table.take();
  auto kept = std::make_shared<int>(1);
  request->callers.kept = kept;
  request->callers.copy = std::make_unique<std::byte[]>(10);
  request->callers.form = CallersPart::Form::receive;
  request->is_abandoned = true;
  EXPECT_EQ(kept.use_count(), 2);
  table.give(request);
  EXPECT_EQ(kept.use_count(), 1);
  const MessageRequest* again = table.take();
  EXPECT_EQ(again, request);
  EXPECT_EQ(again->callers.copy, nullptr);
  EXPECT_EQ(again->callers.form, CallersPart::Form::once);
  EXPECT_FALSE(again->is_abandoned);
}

TEST(RequestTable, PlacesBeginWithWhatTheyWereGiven) {
  RequestTable table(1024);
  std::vector<std::byte> front(RequestTable::front_bytes);
  for (std::size_t i = 0; i < front.size(); ++i) front[i] = static_cast<std::byte>(i);
  table.put_in_front(front);
  for (int i = 0; i < 3; ++i) {
    const MessageRequest* request = table.take();
    const auto* begin = reinterpret_cast<const std::byte*>(request) - RequestTable::front_bytes;
    EXPECT_TRUE(std::equal(front.begin(), front.end(), begin));
    EXPECT_FALSE(request->is_done);
  }
}

TEST(RequestTable, AFullOneSaysSo) {
  RequestTable table(1024);
  std::vector<MessageRequest*> all;
  while (MessageRequest* request = table.take()) all.push_back(request);
  EXPECT_EQ(all.size(), 1024u);
  table.give(all.back());
  EXPECT_EQ(table.take(), all.back());
}

// Of the whole process, as the kernel counts it.
std::size_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0, resident = 0;
  file >> all >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

std::vector<MessageRequest*> take_many(RequestTable* table, std::size_t count) {
  std::vector<MessageRequest*> taken;
  for (std::size_t i = 0; i < count; ++i) {
    taken.push_back(table->take());
    taken.back()->is_done = true;
  }
  return taken;
}

TEST(RequestTable, MemoryOfManyRequestsIsGivenBack) {
  constexpr std::size_t many = 1'000'000, live_one = 500'000;
  RequestTable table;
  table.put_in_front(std::vector<std::byte>(RequestTable::front_bytes, std::byte{7}));
  for (int turn = 0; turn < 2; ++turn) {
    const std::size_t before = resident_bytes();
    const std::vector<MessageRequest*> all = take_many(&table, many);
    EXPECT_GT(resident_bytes(), before + 300'000'000);
    for (MessageRequest* request : all) {
      if (table.number_of(request) != live_one) table.give(request);
    }
    // What is kept, and the list of all places.
    EXPECT_LT(resident_bytes(), before + RequestTable::most_kept * RequestTable::place_bytes + 40'000'000);
    EXPECT_EQ(table.live(), 1u);
    MessageRequest* live = table.at(live_one);
    EXPECT_TRUE(live->is_taken() && live->is_done);
    table.give(live);
    EXPECT_EQ(table.live(), 0u);
  }
}

// Handles of requests that are over stay invalid, and new ones are as new.
TEST(RequestTable, PlacesWhoseMemoryWasGivenBackAreMadeAnew) {
  constexpr std::size_t many = 300'000;
  RequestTable table;
  const std::vector<std::byte> front(RequestTable::front_bytes, std::byte{7});
  table.put_in_front(front);
  const std::vector<MessageRequest*> all = take_many(&table, many);
  for (MessageRequest* request : all) table.give(request);
  for (const MessageRequest* request : all) ASSERT_FALSE(request->is_taken());
  std::set<std::size_t> numbers;
  std::size_t as_they_were = 0;
  for (std::size_t i = 0; i < many; ++i) {
    MessageRequest* request = table.take();
    ASSERT_TRUE(request->is_taken());
    const std::size_t number = table.number_of(request);
    EXPECT_TRUE(numbers.insert(number).second);
    if (request->is_done) ++as_they_were;
    const auto* begin = reinterpret_cast<const std::byte*>(request) - RequestTable::front_bytes;
    ASSERT_TRUE(std::equal(front.begin(), front.end(), begin));
  }
  EXPECT_EQ(*numbers.rbegin(), many - 1);
  // Those that are kept, and the few that were taken still.
  EXPECT_LT(as_they_were, RequestTable::most_kept + many / 32);
  EXPECT_GE(as_they_were, RequestTable::most_kept);
}

}  // namespace
}  // namespace unisono::runtime::request_table_test
