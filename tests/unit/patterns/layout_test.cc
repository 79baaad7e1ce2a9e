// SPDX-License-Identifier: BSD-3-Clause
#include "patterns/layout.h"

#include <gtest/gtest.h>

#include "patterns/layout_text.h"

namespace unisono::patterns {
namespace {

TEST(Layout, NodesAreNumberedByTheirLowestRank) {
  const Layout layout = Layout::from_labels({7, 3, 7, 9, 3, 3});
  EXPECT_EQ(layout.node_of, (std::vector<int>{0, 1, 0, 2, 1, 1}));
  EXPECT_EQ(layout.local_rank_of, (std::vector<int>{0, 0, 1, 0, 1, 2}));
  EXPECT_EQ(layout.ranks_of, (std::vector<std::vector<int>>{{0, 2}, {1, 4, 5}, {3}}));
  EXPECT_EQ(layout.local_size(4), 3);
  EXPECT_FALSE(layout.is_consecutive());
  EXPECT_FALSE(layout.is_uniform());
}

TEST(Layout, ParsesWhatIsWritten) {
  EXPECT_EQ(Layout::parse("8")->describe(), "8 ranks on 1 node");
  EXPECT_EQ(Layout::parse("1")->describe(), "1 rank on 1 node");
  EXPECT_EQ(Layout::parse("4x8")->describe(), "32 ranks on 4 nodes (8 ranks each)");
  EXPECT_EQ(Layout::parse("3,5,8")->describe(), "16 ranks on 3 nodes (3+5+8)");
  EXPECT_EQ(Layout::parse("2x2/cyclic")->node_of, (std::vector<int>{0, 1, 0, 1}));
  EXPECT_EQ(Layout::parse("1,3/cyclic")->node_of, (std::vector<int>{0, 1, 1, 1}));
  EXPECT_EQ(Layout::parse("2x2/cyclic")->describe(), "4 ranks on 2 nodes (2 ranks each, not consecutive)");
  EXPECT_TRUE(Layout::parse("3,5,8")->is_consecutive());
  EXPECT_TRUE(Layout::parse("2x2/cyclic")->is_uniform());
}

TEST(Layout, RefusesWhatIsNotALayout) {
  for (const char* text : {"", "x", "0", "4x", "x4", "4x0", "3,", ",3", "3,,4", "4 x 8", "-4", "4/",
                           "/cyclic", "2x2/Cyclic", "99999999999", "1048577", "1048576x2", "1048576,1"}) {
    EXPECT_FALSE(Layout::parse(text)) << text;
  }
}

TEST(Layout, SaysWhetherItIsTooLargeOrNoLayout) {
  for (const char* text : {"99999999999", "1048577", "1048576x2/cyclic", "1000000x1000", "1048576,1"})
    EXPECT_EQ(why_no_layout(text), "is too large: a layout has at most 1048576 ranks") << text;
  for (const char* text : {"banana", "", "4x", "0x2", "-4"})
    EXPECT_EQ(why_no_layout(text).rfind("is no layout: write 4x8", 0), 0u) << text;
}

}  // namespace
}  // namespace unisono::patterns
