// SPDX-License-Identifier: BSD-3-Clause
#include "base/files.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

namespace unisono {
namespace {

std::string written(const std::string& text) {
  const std::string name = testing::TempDir() + "/files_test." + std::to_string(::getpid());
  std::ofstream(name) << text;
  return name;
}

TEST(FileText, of_any_length) {
  for (const std::size_t bytes : {0, 1, 4095, 4096, 4097, 20'000}) {
    const std::string text(bytes, 'x');
    EXPECT_EQ(file_text(written(text)), text);
  }
  EXPECT_EQ(file_text(written("two\nlines\n")), "two\nlines\n");
  ::unlink(written("").c_str());
}

TEST(FileText, of_what_is_no_file) {
  EXPECT_EQ(file_text(testing::TempDir() + "/nowhere"), std::nullopt);
  EXPECT_EQ(file_text(testing::TempDir()), std::nullopt) << "a directory";
}

}  // namespace
}  // namespace unisono
