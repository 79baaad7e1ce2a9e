// SPDX-License-Identifier: BSD-3-Clause
#include "base/wire.h"

#include <gtest/gtest.h>

#include <limits>

namespace unisono {
namespace {

constexpr WireKind kind{.tag = 17, .version = 2};

TEST(Wire, WhatIsWrittenIsRead) {
  WireWriter writer;
  writer.number(std::numeric_limits<std::uint64_t>::max());
  writer.integer(-5);
  writer.real(-0.1);
  writer.real(std::numeric_limits<double>::infinity());
  writer.flag(true);
  writer.text(std::string_view("a\0b", 3));
  writer.list(std::vector<int>{3, 1}, [](WireWriter* to, int value) { to->integer(value); });
  WireReader reader(writer.bytes());
  EXPECT_EQ(reader.number(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(reader.whole(), -5);
  EXPECT_EQ(reader.real(), -0.1);
  EXPECT_EQ(reader.real(), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(reader.flag());
  EXPECT_EQ(reader.text(), std::string("a\0b", 3));
  EXPECT_FALSE(reader.is_whole()) << "there is more";
  EXPECT_EQ(reader.list<int>([](WireReader* from) { return from->whole(); }), (std::vector<int>{3, 1}));
  EXPECT_TRUE(reader.is_whole());
  EXPECT_EQ(reader.number(), 0u);
  EXPECT_FALSE(reader.is_whole()) << "it asked for more than there was";
}

TEST(Wire, ALengthThatNothingFollowsIsNotBelieved) {
  WireWriter writer;
  writer.number(std::uint64_t{1} << 60);
  EXPECT_EQ(WireReader(writer.bytes()).text(), "");
  WireReader reader(writer.bytes());
  EXPECT_TRUE(reader.list<int>([](WireReader* from) { return from->whole(); }).empty());
  EXPECT_FALSE(reader.is_whole());
}

TEST(Wire, ValuesOutsideOfTheirRangeFail) {
  WireWriter writer;
  writer.integer(std::numeric_limits<std::int64_t>::max());
  writer.real(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(WireReader(writer.bytes()).between(2, 4), 2);
  WireReader number(writer.bytes()), real(std::string_view(writer.bytes()).substr(8)), flag("\2");
  number.whole();
  EXPECT_EQ(number.text(), "") << "after a failure";
  EXPECT_EQ(real.real(), 0);
  EXPECT_FALSE(real.is_whole());
  EXPECT_FALSE(flag.flag());
  EXPECT_FALSE(flag.is_whole());
}

TEST(Wire, AMessageSaysWhatItIsAndHowLong) {
  const std::string message = sealed(kind, "content");
  EXPECT_EQ(unsealed(kind, message), "content");
  EXPECT_EQ(unsealed(kind, sealed(kind, "")), "");
  EXPECT_FALSE(unsealed({.tag = 17, .version = 3}, message));
  EXPECT_FALSE(unsealed({.tag = 18, .version = 2}, message));
  EXPECT_FALSE(unsealed(kind, message + "x"));
  for (std::size_t length = 0; length < message.size(); ++length)
    EXPECT_FALSE(unsealed(kind, std::string_view(message).substr(0, length))) << length;
}

}  // namespace
}  // namespace unisono
