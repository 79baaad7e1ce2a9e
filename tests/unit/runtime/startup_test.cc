// SPDX-License-Identifier: BSD-3-Clause
// Tests at the first calls of a kind (A10): made where a table was tuned for something near alone, kept for
// the next job, and never seen by the program's data.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "fake_host/fake_host.h"
#include "job_options.h"
#include "runtime/job.h"

namespace unisono::runtime {
namespace {

using host::fake::FakeHost;
using host::fake::FakeWorld;
using Json = nlohmann::json;

class StartupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    clear_options();
    char name[] = "/tmp/startup_test.XXXXXX";
    directory_ = ::mkdtemp(name);
    set("UNISONO_REPORT", directory_ + "/report.json");
    set("UNISONO_SITE_TABLE", "");
    set("UNISONO_CACHE", directory_ + "/cache");
    set("UNISONO_STARTUP_AFTER", "0");
  }
  void TearDown() override {
    clear_options();
    std::filesystem::remove_all(directory_);
  }
  static void set(const char* name, const std::string& value) { ::setenv(name, value.c_str(), 1); }

  // By this table all allreduces and broadcasts of `ranks` ranks on a node are served.
  void set_table(const std::string& ranks) const {
    const std::string when = R"({"nodes": [1, 1], "ranks_per_node": )" + ranks + R"(, "operation": )";
    std::ofstream(directory_ + "/table.json")
        << R"({"schema": "unisono-table", "version": 1, "rules": [)" << when
        << R"("allreduce", "bytes": [17, 32], "algorithm": "ring"},)" << when
        << R"("bcast", "bytes": [17, 32], "algorithm": "chain"}]})";
    set("UNISONO_TABLE", directory_ + "/table.json");
  }

  // Checked allreduces and broadcasts of 24 bytes on four ranks: how the report has their classes.
  std::map<std::string, Json> run(int calls) const {
    constexpr int size = 4;
    FakeWorld world(size);
    world.run([&](FakeHost& host, int rank) {
      Job job(host);
      for (int i = 0; i < calls; ++i) {
        std::vector<std::int64_t> in(3, rank + 1 + i), out(3);
        Call call{.operation = Operation::allreduce,
                  .comm = host.world(),
                  .send_buffer = in.data(),
                  .recv_buffer = out.data(),
                  .send_count = 3,
                  .send_type = host::fake::datatype(ElementType::int64),
                  .op = host::fake::op(ReduceOp::sum)};
        int error = host::success;
        EXPECT_EQ(job.collective(call, &error), Outcome::done);
        ASSERT_EQ(out, std::vector<std::int64_t>(3, size * (size + 1) / 2 + size * i));
        call.operation = Operation::bcast;
        call.recv_buffer = in.data();
        EXPECT_EQ(job.collective(call, &error), Outcome::done);
        ASSERT_EQ(in, std::vector<std::int64_t>(3, 1 + i));
      }
      job.finish();
    });
    std::map<std::string, Json> found;
    const Json report = Json::parse(std::ifstream(directory_ + "/report.json"));
    for (const Json& row : report["classes"]) found[row["operation"]] = row;
    return found;
  }

  bool has_kept() const { return std::filesystem::exists(directory_ + "/cache/tables"); }
  std::string directory_;
};

TEST_F(StartupTest, WhatATableHasForNeighboursIsTestedAndKept) {
  set_table("[8, 8]");
  std::map<std::string, Json> first = run(200);
  for (const char* operation : {"allreduce", "bcast"}) {
    EXPECT_EQ(first[operation]["source"], "learned") << first[operation].dump(1);
    EXPECT_NE(first[operation]["reason"].get<std::string>().find("tested"), std::string::npos);
  }
  // The next job begins with that, and tests nothing again.
  set("UNISONO_TABLE", "");
  std::map<std::string, Json> second = run(3);
  for (const char* operation : {"allreduce", "bcast"}) {
    EXPECT_EQ(second[operation]["source"], "learned") << second[operation].dump(1);
    EXPECT_EQ(second[operation]["algorithm"], first[operation]["algorithm"]);
  }
}

// Where the user says that no job is short.
TEST_F(StartupTest, TheFirstUseOfAShapeIsTested) {
  set_table("[8, 8]");
  std::map<std::string, Json> first = run(1);
  for (const char* operation : {"allreduce", "bcast"})
    EXPECT_EQ(first[operation]["source"], "learned") << first[operation].dump(1);
  EXPECT_TRUE(has_kept());
}

TEST_F(StartupTest, ARangeIsTestedAndAnExactRuleIsNot) {
  set_table("[2, 8]");
  EXPECT_EQ(run(200)["bcast"]["source"], "learned");
  std::filesystem::remove_all(directory_ + "/cache");
  set_table("[4, 4]");
  EXPECT_EQ(run(200)["bcast"]["source"], "application table");
  EXPECT_FALSE(has_kept());
}

TEST_F(StartupTest, WhatWasTestedGoesBeforeTheRangeThatMadeItNecessary) {
  set_table("[2, 8]");
  std::map<std::string, Json> first = run(200);
  set("UNISONO_STARTUP_AFTER", "1000");  // no test in this one
  std::map<std::string, Json> second = run(3);
  for (const char* operation : {"allreduce", "bcast"}) {
    EXPECT_EQ(second[operation]["source"], "learned") << second[operation].dump(1);
    EXPECT_EQ(second[operation]["algorithm"], first[operation]["algorithm"]);
  }
  // Who wants no tests gets the application's rule.
  set("UNISONO_STARTUP_TEST", "0");
  EXPECT_EQ(run(3)["bcast"]["source"], "application table");
}

TEST_F(StartupTest, ShortJobsAndThoseThatSaySoTestNothing) {
  set_table("[8, 8]");
  set("UNISONO_STARTUP_AFTER", "1000");
  EXPECT_EQ(run(1)["bcast"]["source"], "application table");
  EXPECT_EQ(run(200)["bcast"]["source"], "application table");
  set("UNISONO_STARTUP_AFTER", "0");
  set("UNISONO_STARTUP_TEST", "0");
  EXPECT_EQ(run(200)["bcast"]["source"], "application table");
  EXPECT_FALSE(has_kept());
}

}  // namespace
}  // namespace unisono::runtime
