// SPDX-License-Identifier: BSD-3-Clause
#include "base/site_configuration.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>

#include "base/installation.h"
#include "base/options.h"

namespace unisono {
namespace {

using Variables = std::vector<std::string>;

class SiteConfiguration : public ::testing::Test {
 protected:
  void SetUp() override { std::ofstream(user_).flush(); }
  void TearDown() override {
    std::remove(site_.c_str());
    std::remove(user_.c_str());
  }
  static void write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }
  Options read(Variables variables = {}) {
    variables.push_back("UNISONO_SITE_CONFIG=" + site_);
    variables.push_back("UNISONO_CONFIG=" + user_);
    return warnings_.clear(), read_options(Environment(variables), &warnings_);
  }

  std::string site_ = ::testing::TempDir() + "unisono_site_test.conf";
  std::string user_ = ::testing::TempDir() + "unisono_site_test_user.conf";
  std::vector<std::string> warnings_;
};

TEST_F(SiteConfiguration, the_user_and_then_the_environment_win) {
  write(site_, "enable = off\npool_bytes = 64M\nwait = yield\n");
  Options options = read();
  EXPECT_FALSE(options.is_enabled);
  EXPECT_EQ(options.pool_bytes, 64 << 20);
  write(user_, "enable = on\n");
  EXPECT_TRUE(read().is_enabled);
  EXPECT_EQ(read().pool_bytes, 64 << 20);
  EXPECT_FALSE(read({"UNISONO_ENABLE=0"}).is_enabled);
  EXPECT_TRUE(warnings_.empty());
}

TEST_F(SiteConfiguration, a_damaged_file_is_said_once_and_changes_nothing) {
  write(site_, "enable = perhaps\n");
  EXPECT_EQ(to_text(read()), to_text(Options{}));
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find(site_ + " line 1"), std::string::npos);
  ::chmod(site_.c_str(), 0666);
  EXPECT_EQ(to_text(read()), to_text(Options{}));
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("is not used"), std::string::npos);
  std::remove(site_.c_str());
  read();
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_NE(warnings_[0].find("is not there"), std::string::npos);
}

TEST(SiteConfigurationFiles, are_the_machines_and_the_prefixs) {
  const std::vector<std::string> files = site_configuration_files(Environment(Variables{}));
  ASSERT_FALSE(files.empty());
  EXPECT_EQ(files[0], "/etc/unisono.conf");
  EXPECT_TRUE(site_configuration_files(Environment(Variables{"UNISONO_SITE_CONFIG=none"})).empty());
}

TEST(Installation, is_found_from_each_of_its_parts) {
  EXPECT_EQ(prefix_of("/opt/unisono/lib/unisono/libunisono-mpich.so"), "/opt/unisono");
  EXPECT_EQ(prefix_of("/opt/unisono/bin/unisono"), "/opt/unisono");
  EXPECT_EQ(prefix_of("/src/build/release/lib/libunisono-mpich.so"), "/src/build/release");
  EXPECT_EQ(prefix_of("/src/build/release/tests/unit/a_test"), "");
  EXPECT_EQ(settings_folder_of(prefix_of("/usr/lib/unisono/unisono-tool")), "/etc");
  EXPECT_EQ(settings_folder_of("/opt/unisono"), "/opt/unisono/etc");
  EXPECT_EQ(settings_folder_of(""), "");
}

}  // namespace
}  // namespace unisono
