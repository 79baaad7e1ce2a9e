// SPDX-License-Identifier: BSD-3-Clause
#include "base/spawned.h"

#include <gtest/gtest.h>

namespace unisono {
namespace {

TEST(SpawnedAs, ComesBackFromItsText) {
  const SpawnedAs told{.name = "0.2", .process_id = 4711, .descriptor = 12, .nonce = 0xfedcba9876543210};
  EXPECT_EQ(told.text(), "0.2:4711:12:fedcba9876543210");
  const auto read = SpawnedAs::from_text(told.text());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->name, told.name);
  EXPECT_EQ(read->process_id, told.process_id);
  EXPECT_EQ(read->descriptor, told.descriptor);
  EXPECT_EQ(read->nonce, told.nonce);
}

// The name becomes a part of a file's.
TEST(SpawnedAs, TakesNothingElse) {
  for (const char* text : {"", "0.1", "0.1:4711", "0.1:4711:12", "0.1:4711:12:", "../x:4711:12:1",
                           ":4711:12:1", "0.1:x:12:1", "0.1:4711:12:1:2"})
    EXPECT_FALSE(SpawnedAs::from_text(text)) << text;
}

TEST(SpawnedAs, HasFilesOfItsOwn) {
  EXPECT_EQ(file_of_spawned("r.json", "0.2"), "r.spawned-0.2.json");
  EXPECT_EQ(file_of_spawned("/a.b/r", "1.1"), "/a.b/r.spawned-1.1");
  EXPECT_EQ(file_of_spawned("/a/.r", "1.1"), "/a/.r.spawned-1.1");
  EXPECT_EQ(file_of_spawned("-", "0.1"), "-");
  EXPECT_EQ(file_of_spawned("", "0.1"), "");
  EXPECT_EQ(file_of_spawned("r.json", ""), "r.json");
}

}  // namespace
}  // namespace unisono
