// SPDX-License-Identifier: BSD-3-Clause
#include "base/shown.h"

#include <gtest/gtest.h>

#include "base/json_text.h"

namespace unisono {
namespace {

TEST(Shown, ControlCharactersAreEscapedAndTextStays) {
  EXPECT_EQ(shown("caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\ttab\nline"),
            "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\ttab\nline");
  EXPECT_EQ(shown_in_a_line("a\nb\tc"), "a\\nb\\x09c");
  EXPECT_EQ(shown("\x1b[31m\x07\x7f"), "\\x1b[31m\\x07\\x7f");
  EXPECT_EQ(shown("\xc2\x9b"), "\\x9b") << "what begins a sequence in one character";
  EXPECT_EQ(shown("\xe2\x80\xae"), "\\u202e") << "what turns the direction";
  EXPECT_EQ(shown("\xff\xc0\x80\xed\xa0\x80"), "\\xff\\xc0\\x80\\xed\\xa0\\x80") << "no UTF-8";
  EXPECT_EQ(shown("\xe2\x82"), "\\xe2\\x82");
}

TEST(Shown, TextsAreCutBetweenCharacters) {
  EXPECT_EQ(cut("abc", 3), "abc");
  EXPECT_EQ(cut("ab\xc3\xa9", 3), "ab");
  EXPECT_EQ(cut("\xf0\x9f\x98\x80", 3), "");
  EXPECT_EQ(bounded("short", 40), "short");
  const std::string one = bounded(std::string(1'100'000, 'x') + "1", 40);
  EXPECT_EQ(one.size(), 40u);
  EXPECT_NE(one, bounded(std::string(1'100'000, 'x') + "2", 40));
  EXPECT_EQ(one, bounded(std::string(1'100'000, 'x') + "1", 40));
}

TEST(JsonText, IsBounded) {
  const auto nested = [](int levels) {
    return std::string(static_cast<std::size_t>(levels), '[') +
           std::string(static_cast<std::size_t>(levels), ']');
  };
  EXPECT_EQ(json_from(nested(64)).problem, "");
  EXPECT_EQ(json_from(nested(65)).problem, "is nested deeper than 64 levels");
  EXPECT_EQ(json_from(std::string(65'700, '[')).problem, "is nested deeper than 64 levels");
  EXPECT_EQ(json_from(R"({"a": 1, "b": {"a": 2}})").problem, "");
  EXPECT_EQ(json_from(R"({"a": 1, "b": {}, "a": 2})").problem, "has the field 'a' twice in one object");
  EXPECT_EQ(json_from("{\n\"a\": }").problem, "is no JSON: line 2 cannot be understood");
  EXPECT_EQ(json_from("[1e999]").problem, "holds a number that is too large");
  std::string many = "[0";
  for (int i = 0; i < 2'100'000; ++i) many += ",[]";
  EXPECT_NE(json_from(many + "]").problem.find("holds more than"), std::string::npos);
  std::string keys = "{";
  for (int i = 0; i < 1001; ++i) keys += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":0";
  EXPECT_NE(json_from(keys + "}").problem.find("has more than 1000 fields"), std::string::npos);
}

}  // namespace
}  // namespace unisono
