// SPDX-License-Identifier: BSD-3-Clause
#include "base/program_name.h"

#include <gtest/gtest.h>

namespace unisono {
namespace {

TEST(ProgramName, IsTheExecutablesBaseName) {
  EXPECT_EQ(program_name("/opt/bin/solver", {"anything", "input.txt"}), "solver");
  EXPECT_EQ(program_name("solver", {}), "solver");
}

TEST(ProgramName, OfPythonNamesTheScript) {
  EXPECT_EQ(program_name("/usr/bin/python3.11", {"python", "/opt/train.py", "--fast"}),
            "python3.11 train.py");
  EXPECT_EQ(program_name("/usr/bin/python3.11", {"python", "-u", "-m", "package.tool"}),
            "python3.11 package.tool");
  EXPECT_EQ(program_name("/usr/bin/python3.11", {"python", "-c", "print(1)"}), "python3.11 -c");
  EXPECT_EQ(program_name("/usr/bin/python3.11", {"python"}), "python3.11");
}

TEST(ProgramName, OfThisProcess) {
  EXPECT_EQ(program_name(), "base_tests");
}

}  // namespace
}  // namespace unisono
