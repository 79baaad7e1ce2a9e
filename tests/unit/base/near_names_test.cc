// SPDX-License-Identifier: BSD-3-Clause
#include "base/near_names.h"

#include <gtest/gtest.h>

namespace unisono {
namespace {

TEST(NearNames, AFewWrongLettersAreForgiven) {
  const std::vector<std::string> names{"ring", "chain", "recursive_doubling"};
  EXPECT_EQ(nearest("rign", names), "ring");
  EXPECT_EQ(nearest("RING", names), "ring");
  EXPECT_EQ(nearest("recursiv_dubling", names), "recursive_doubling");
  EXPECT_EQ(did_you_mean("chian", names), "; did you mean 'chain'?");
}

TEST(NearNames, AnotherWordIsNotNear) {
  const std::vector<std::string> names{"ring", "chain"};
  for (const char* word : {"", "x", "frob", "flat", "alltoall"}) EXPECT_EQ(nearest(word, names), "") << word;
  for (const char* word : {"2", "7"}) EXPECT_EQ(nearest(word, {"0", "1", "thread"}), "") << word;
  EXPECT_EQ(did_you_mean(std::string(100000, 'r'), {std::string(100000, 'r')}), "");
}

}  // namespace
}  // namespace unisono
