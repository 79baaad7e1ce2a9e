// SPDX-License-Identifier: BSD-3-Clause
#include "base/options.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>

namespace unisono {
namespace {

class OptionsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const OptionSpec& spec : option_list()) ::unsetenv(std::string(spec.environment).c_str());
    ::setenv("UNISONO_CONFIG", path_.c_str(), 1);
    write("");
  }
  void TearDown() override {
    std::remove(path_.c_str());
    ::unsetenv("UNISONO_CONFIG");
    ::unsetenv("UNISONO_POOL_BYTES");
    ::unsetenv("UNISONO_NO_SUCH");
  }
  void write(const std::string& text) { std::ofstream(path_) << text; }
  Options read() { return warnings_.clear(), read_options(&warnings_); }

  std::string path_ = ::testing::TempDir() + "unisono_options_test.conf";
  std::vector<std::string> warnings_;
};

TEST_F(OptionsTest, SizesAreReadAndWritten) {
  EXPECT_EQ(bytes_from_text("64K"), 65536);
  EXPECT_EQ(bytes_from_text("2MiB"), 2 << 20);
  EXPECT_EQ(bytes_from_text("3gb"), std::int64_t{3} << 30);
  EXPECT_EQ(bytes_from_text("17"), 17);
  for (const char* wrong : {"", "x", "-4", "4X", "4 K B", "99999999999999999999", "9999999999T"}) {
    EXPECT_EQ(bytes_from_text(wrong), -1) << wrong;
  }
  for (std::int64_t n : {0L, 1L, 1023L, 1024L, 65536L, 3L << 30, (1L << 40) + 1}) {
    EXPECT_EQ(bytes_from_text(bytes_to_text(n)), n);
  }
}

TEST_F(OptionsTest, EnvironmentWinsOverFile) {
  write("# site\npool_bytes = 64M   # small\nalgorithm = bcast:chain\n");
  Options options = read();
  EXPECT_EQ(options.pool_bytes, 64 << 20);
  EXPECT_EQ(options.algorithm, "bcast:chain");
  EXPECT_TRUE(warnings_.empty());
  ::setenv("UNISONO_POOL_BYTES", "128M", 1);
  options = read();
  EXPECT_EQ(options.pool_bytes, 128 << 20);
}

TEST_F(OptionsTest, ProblemsAreNamedAndIgnored) {
  write("nonsense\nno_such = 1\nenable = perhaps\nwait = nap\npool_bytes = 12\n");
  ::setenv("UNISONO_NO_SUCH", "1", 1);
  const Options options = read();
  EXPECT_EQ(to_text(options), to_text(Options{}));
  ASSERT_EQ(warnings_.size(), 6u);
  EXPECT_NE(warnings_[0].find("line 1"), std::string::npos);
  EXPECT_NE(warnings_[1].find("no_such"), std::string::npos);
  EXPECT_NE(warnings_[5].find("UNISONO_NO_SUCH"), std::string::npos);
}

TEST_F(OptionsTest, MissingExplicitFileIsAWarning) {
  std::remove(path_.c_str());
  read();
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("UNISONO_CONFIG"), std::string::npos);
}

TEST_F(OptionsTest, TravelAsText) {
  Options options;
  options.algorithm = "allreduce:ring(segment=64K),bcast:native";
  options.use_single_copy = false;
  options.channel_bytes = 1 << 20;
  const Options back = options_from_text(to_text(options), &warnings_);
  EXPECT_EQ(to_text(back), to_text(options));
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(OptionsTest, EveryOptionHasANameOfItsOwnAndHelp) {
  std::set<std::string_view> names, variables;
  for (const OptionSpec& spec : option_list()) {
    EXPECT_TRUE(names.insert(spec.name).second) << spec.name;
    EXPECT_TRUE(variables.insert(spec.environment).second) << spec.environment;
    EXPECT_EQ(spec.environment.rfind("UNISONO_", 0), 0u);
    EXPECT_GT(spec.help.size(), 20u) << spec.name;
    Options options;
    EXPECT_EQ(spec.set(options, spec.get(options)), "") << spec.name;
  }
}

}  // namespace
}  // namespace unisono
