// SPDX-License-Identifier: BSD-3-Clause
#include "tuning/learning/region_log.h"

#include <gtest/gtest.h>

#include <string>

namespace unisono::tuning {
namespace {

// Makes calls in the regions that the letters of `text` name, blank for none.
class Rank {
 public:
  void make(const std::string& text) {
    for (const char letter : text) {
      log.enter(call, letter == ' ' ? 0 : static_cast<RegionLog::Region>(letter));
      ++call;
    }
  }
  // The next call is in the region of `letter`; before it ranks agree, all with equal digests.
  void agree(char letter) {
    log.enter(call, letter == ' ' ? 0 : static_cast<RegionLog::Region>(letter));
    log.agree(true, call);
  }
  std::string expected(int calls) const {
    std::string text;
    for (int i = 0; i < calls; ++i) {
      const auto region = log.agreed(call + static_cast<std::uint64_t>(i));
      text += region == 0 ? ' ' : static_cast<char>(region);
    }
    return text;
  }
  RegionLog log;
  std::uint64_t call = 0;
};

TEST(RegionLog, WithoutRegionsThereIsNothingToExpect) {
  Rank rank;
  rank.make("     ");
  rank.agree(' ');
  EXPECT_EQ(rank.expected(5), "     ");
  EXPECT_FALSE(rank.log.is_in_use());
  EXPECT_TRUE(rank.log.is_constant());
}

TEST(RegionLog, CountsFromTheNextAgreementOn) {
  Rank rank;
  rank.make("    aaa");
  EXPECT_EQ(rank.expected(3), "   ");
  rank.agree('a');
  EXPECT_EQ(rank.expected(3), "aaa");
  EXPECT_TRUE(rank.log.is_constant());
  rank.make("aab");
  rank.agree('b');
  EXPECT_EQ(rank.expected(3), "bbb");
  rank.make("bb");
  rank.agree(' ');
  EXPECT_EQ(rank.expected(3), "   ");
}

TEST(RegionLog, WhatIsGoneThroughAgainAndAgainIsExpected) {
  for (const std::string& round : {std::string("ab"), std::string("aaab"), std::string("aab "),
                                   std::string("abac"), std::string(40, 'a') + std::string(60, 'b')}) {
    for (std::size_t begin = 0; begin < round.size(); begin += 7) {
      Rank rank;
      rank.make("xyz");
      for (int i = 0; i < 8; ++i) rank.make(round);
      rank.make(round.substr(0, begin));
      rank.agree(round[begin]);
      const std::string expected = round.substr(begin) + round + round;
      EXPECT_EQ(rank.expected(static_cast<int>(expected.size())), expected);
      EXPECT_FALSE(rank.log.is_constant());
    }
  }
}

TEST(RegionLog, WhereRanksDifferThereIsNoRegion) {
  Rank rank, other;
  rank.make("abababab");
  other.make("abababaa");
  EXPECT_NE(rank.log.digest(rank.call), other.log.digest(other.call));
  EXPECT_LT(rank.log.digest(rank.call), std::uint64_t{1} << 61);
  rank.log.agree(false, rank.call);
  EXPECT_EQ(rank.expected(4), "    ");
}

TEST(RegionLog, DigestsAreOfTheCallsNotOfHowTheyCameAbout) {
  Rank rank, other;
  rank.make("aaabbb");
  for (const char* part : {"a", "aa", "b", "bb"}) other.make(part);
  // In and out between two calls.
  other.log.enter(other.call, 'x');
  other.log.enter(other.call, 'b');
  EXPECT_EQ(rank.log.digest(rank.call), other.log.digest(other.call));
}

TEST(RegionLog, TheWindowIsBounded) {
  Rank rank, other;
  rank.make(std::string(3000, 'a') + std::string(300, 'b'));
  other.make(std::string(2900, 'c') + std::string(400, 'b'));
  EXPECT_EQ(rank.log.digest(rank.call), other.log.digest(other.call));
  for (int i = 0; i < 2000; ++i) rank.make("ab");
  rank.agree('a');
  EXPECT_EQ(rank.expected(4), "abab");
}

}  // namespace
}  // namespace unisono::tuning
