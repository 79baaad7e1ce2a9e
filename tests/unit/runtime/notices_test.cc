// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/world/notices.h"

#include <gtest/gtest.h>

#include "base/log.h"

namespace unisono::runtime::notices_test {
namespace {

using testing::internal::CaptureStderr;
using testing::internal::GetCapturedStderr;

TEST(Notices, OneRankPrintsAndTheReportHasAll) {
  for (const bool is_speaker : {true, false}) {
    Notices notices(is_speaker);
    CaptureStderr();
    notices.note("for the report");
    notices.warn("for all");
    notices.warn_of({"one", "two"});
    const std::string printed = GetCapturedStderr();
    EXPECT_EQ(printed.find("for the report"), std::string::npos);
    for (const char* text : {"for all", "one", "two"})
      EXPECT_EQ(printed.find(text) != std::string::npos, is_speaker) << text;
    EXPECT_EQ(notices.all(), (std::vector<std::string>{"for the report", "for all", "one", "two"}));
  }
}

TEST(Notices, WhatIsNotedOnceStandsOnce) {
  Notices notices(true);
  notices.note_once("again");
  notices.note_once("again");
  EXPECT_EQ(notices.all(), std::vector<std::string>{"again"});
}

}  // namespace
}  // namespace unisono::runtime::notices_test
