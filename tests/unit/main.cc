// SPDX-License-Identifier: BSD-3-Clause
// The program of many test files: `--file NAME` selects the tests of one of them. Each file runs in a
// process of its own (CTest), as if it were a program of its own, but all are linked once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

namespace {

// "Suite.one:Suite.two": the tests of the file. Nothing where it has none.
std::string tests_of(std::string_view file) {
  const std::string end = "/" + std::string(file);
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  std::string found;
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const ::testing::TestInfo& test = *suite.GetTestInfo(j);
      if (!std::string_view(test.file()).ends_with(end)) continue;
      found += (found.empty() ? "" : ":") + std::string(suite.name()) + "." + test.name();
    }
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  if (argc == 3 && std::strcmp(argv[1], "--file") == 0) {
    const std::string tests = tests_of(argv[2]);
    if (tests.empty()) {
      std::fprintf(stderr, "%s has no tests of %s\n", argv[0], argv[2]);
      return 1;
    }
    // Who asks for single tests besides gets these; tests that are left out stay left out.
    const std::string asked = GTEST_FLAG_GET(filter);
    const std::size_t dash = std::min(asked.find('-'), asked.size());
    if (dash == 0 || asked.substr(0, dash) == "*") GTEST_FLAG_SET(filter, tests + asked.substr(dash));
  } else if (argc > 1) {
    std::fprintf(stderr, "usage: %s [--file NAME] [options of GoogleTest]\n", argv[0]);
    return 2;
  }
  return RUN_ALL_TESTS();
}
