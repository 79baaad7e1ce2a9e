// SPDX-License-Identifier: BSD-3-Clause
// Tests at the first calls of a kind (A10). They are made only where a table was tuned for something near.
// They are kept for the next job, and the program's data never sees them.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "program.h"

namespace unisono::runtime::startup_test {
namespace {

class StartupTest : public ReportedTest {
 protected:
  StartupTest() {
    options_.site_table = "";
    options_.cache = folder_ + "/cache";
    options_.startup_after = 0;
  }

  // By this table all allreduces and broadcasts of `ranks` ranks on a node are served.
  void set_table(const std::string& ranks) {
    const std::string when = R"({"nodes": [1, 1], "ranks_per_node": )" + ranks + R"(, "operation": )";
    std::ofstream(folder_ + "/table.json")
        << R"({"schema": "unisono-table", "version": 1, "rules": [)" << when
        << R"("allreduce", "bytes": [17, 32], "algorithm": "ring"},)" << when
        << R"("bcast", "bytes": [17, 32], "algorithm": "chain"}]})";
    options_.table = folder_ + "/table.json";
  }

  // Checked allreduces and broadcasts of 24 bytes on four ranks: how the report has their classes.
  std::map<std::string, Json> run(int calls) const {
    constexpr int size = 4;
    run_jobs(size, [&](Job& job, FakeHost& host, int rank) {
      for (int i = 0; i < calls; ++i) {
        std::vector<std::int64_t> in(3, rank + 1 + i), out(3);
        Call call = sum_call(host.world(), in.data(), out.data(), 3);
        int error = host::success;
        EXPECT_EQ(job.collective(call, &error), Outcome::done);
        ASSERT_EQ(out, std::vector<std::int64_t>(3, size * (size + 1) / 2 + size * i));
        call.operation = Operation::bcast;
        call.recv_buffer = in.data();
        EXPECT_EQ(job.collective(call, &error), Outcome::done);
        ASSERT_EQ(in, std::vector<std::int64_t>(3, 1 + i));
      }
    });
    std::map<std::string, Json> found;
    const Json report = Json::parse(std::ifstream(folder_ + "/report.json"));
    for (const Json& row : report["classes"]) found[row["operation"]] = row;
    return found;
  }

  bool has_kept() const { return std::filesystem::exists(folder_ + "/cache/tables"); }
};

TEST_F(StartupTest, WhatATableHasForNeighboursIsTestedAndKept) {
  set_table("[8, 8]");
  std::map<std::string, Json> first = run(200);
  for (const char* operation : {"allreduce", "bcast"}) {
    EXPECT_EQ(first[operation]["source"], "learned") << first[operation].dump(1);
    EXPECT_NE(first[operation]["reason"].get<std::string>().find("tested"), std::string::npos);
  }
  // The next job begins with that, and tests nothing again.
  options_.table = "";
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
  std::filesystem::remove_all(folder_ + "/cache");
  set_table("[4, 4]");
  EXPECT_EQ(run(200)["bcast"]["source"], "application table");
  EXPECT_FALSE(has_kept());
}

TEST_F(StartupTest, WhatWasTestedGoesBeforeTheRangeThatMadeItNecessary) {
  set_table("[2, 8]");
  std::map<std::string, Json> first = run(200);
  options_.startup_after = 1000;  // no test in this one
  std::map<std::string, Json> second = run(3);
  for (const char* operation : {"allreduce", "bcast"}) {
    EXPECT_EQ(second[operation]["source"], "learned") << second[operation].dump(1);
    EXPECT_EQ(second[operation]["algorithm"], first[operation]["algorithm"]);
  }
  // Who wants no tests gets the application's rule.
  options_.startup_test = 0;
  EXPECT_EQ(run(3)["bcast"]["source"], "application table");
}

TEST_F(StartupTest, ShortJobsAndThoseThatSaySoTestNothing) {
  set_table("[8, 8]");
  options_.startup_after = 1000;
  EXPECT_EQ(run(1)["bcast"]["source"], "application table");
  EXPECT_EQ(run(200)["bcast"]["source"], "application table");
  options_.startup_after = 0;
  options_.startup_test = 0;
  EXPECT_EQ(run(200)["bcast"]["source"], "application table");
  EXPECT_FALSE(has_kept());
}

}  // namespace
}  // namespace unisono::runtime::startup_test
