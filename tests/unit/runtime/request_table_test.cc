// SPDX-License-Identifier: BSD-3-Clause
// Requests at places with numbers: what is given back comes again, and a full table says so.
#include "runtime/messages/request_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
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

}  // namespace
}  // namespace unisono::runtime::request_table_test
