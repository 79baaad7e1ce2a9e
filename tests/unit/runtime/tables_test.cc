// SPDX-License-Identifier: BSD-3-Clause
// Tables from MPI_Init to the call: rank 0 reads them, all ranks follow them, what is wrong is said once.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "program.h"
#include "tuning/tables/table_store.h"

namespace unisono::runtime::tables_test {
namespace {

class TablesTest : public ReportedTest {
 protected:
  TablesTest() {
    options_.site_table = "";
    options_.cache = folder_ + "/cache";
    options_.nodes = "3x2";
  }

  std::string table(const std::string& name, const std::string& rules) const {
    std::ofstream(folder_ + "/" + name)
        << R"({"schema": "unisono-table", "version": 1, "rules": [)" << rules << "]}";
    return folder_ + "/" + name;
  }

  // Allreduces of six ranks on three nodes, and of each node's; gives the report. Wherever ranks decided
  // apart the job would hang or the sums be wrong.
  Json run() const {
    run_jobs(6, [](Job& job, FakeHost& host, int rank) {
      add_up(&job, host.world(), host, 1);
      add_up(&job, host.world(), host, 5000);
      host::Comm node{};
      host.comm_split(host.world(), rank / 2, rank, &node);
      add_up(&job, node, host, 1);
      host.comm_free(&node);
    });
    return report();
  }

  static void add_up(Job* job, host::Comm comm, FakeHost& host, std::size_t count) {
    const int size = host.comm_size(comm);
    std::vector<std::int64_t> in(count, host.comm_rank(comm) + 1), out(count, -1);
    int error = 0;
    const Call call = sum_call(comm, in.data(), out.data(), count);
    if (job->collective(call, &error) != Outcome::done) return;
    EXPECT_EQ(out, std::vector<std::int64_t>(count, size * (size + 1) / 2));
  }

  // "layout bytes: algorithm (source)" of every class.
  static std::vector<std::string> decisions(const Json& report) {
    std::vector<std::string> list;
    for (const auto& c : report["classes"]) {
      list.push_back(c["layout"].get<std::string>() + " " + c["bytes_high"].dump() + ": " +
                     c["algorithm"].get<std::string>() + " (" + c["source"].get<std::string>() + ")");
    }
    std::ranges::sort(list);
    return list;
  }
};

using Lines = std::vector<std::string>;

TEST_F(TablesTest, AllRanksFollowTheApplicationsTable) {
  options_.table =
      table("a.json",
            R"rule({"operation": "allreduce", "bytes": [8, 8], "nodes": [1, 1], "algorithm": "ring"},
                              {"operation": "allreduce", "bytes": [8, 8], "algorithm": "two_level_ring(window=3)"},
                              {"operation": "allreduce", "bytes": [65536, 65536], "algorithm": "native"})rule");
  const Json report = run();
  EXPECT_EQ(decisions(report),
            (Lines{"2 8: ring (application table)", "3x2 65536: native (application table)",
                   "3x2 8: two_level_ring (application table)"}));
  EXPECT_TRUE(report["warnings"].empty()) << report["warnings"];
  for (const auto& c : report["classes"]) {
    if (c["algorithm"] == "two_level_ring") {
      EXPECT_EQ(c["parameters"]["window"], 3);
      EXPECT_TRUE(c["reason"].get<std::string>().ends_with("/a.json rule 2"));
    }
  }
}

TEST_F(TablesTest, TablesMergeByPrecedence) {
  const std::string first =
      table("1.json", R"({"operation": "allreduce", "bytes": [8, 8], "algorithm": "ring"})");
  const std::string second =
      table("2.json", R"({"operation": "allreduce", "bytes": [8, 8], "algorithm": "native"},
                                                {"operation": "allreduce", "nodes": [1, 1], "algorithm": "native"})");
  const std::string site = table("site.json", R"({"operation": "allreduce", "bytes": [65536, 65536],
                                                  "algorithm": "recursive_doubling"})");
  options_.table = first + ":" + second;
  options_.site_table = site;
  EXPECT_EQ(decisions(run()),
            (Lines{"2 8: ring (application table)", "3x2 65536: recursive_doubling (site table)",
                   "3x2 8: ring (application table)"}));
  options_.algorithm = "allreduce:reduce_bcast";
  EXPECT_EQ(decisions(run()), (Lines{"2 8: reduce_bcast (forced)", "3x2 65536: reduce_bcast (forced)",
                                     "3x2 8: reduce_bcast (forced)"}));
}

TEST_F(TablesTest, WhatWasLearnedServesTheNextJob) {
  std::string mpi;
  FakeWorld(1).run([&](FakeHost& host, int) { mpi = host.library_name(); });
  const tuning::StorePlace place =
      tuning::store_place(tuning::cache_directory(folder_ + "/cache"), tuning::machine_name(), mpi,
                          *patterns::Layout::parse("3x2"));
  tuning::Rule rule{.when = {.operation = Operation::allreduce, .bytes = {8, 8}}, .origin = "learned"};
  rule.chosen = {.algorithm = {algorithms::find(Operation::allreduce, "ring"), {}}, .time_us = 10};
  // What it was compared with serves all else.
  rule.evidence = tuning::Evidence{.trust = 3};
  for (const char* other : {"fused", "two_level_fused_recursive_doubling"})
    rule.others.push_back({.algorithm = {algorithms::find(Operation::allreduce, other), {}}, .time_us = 20});
  ASSERT_EQ(tuning::store_rules(place, {}, {rule}).problem, "");
  const Json report = run();
  EXPECT_EQ(decisions(report)[0], "2 8: ring (learned)");
  EXPECT_EQ(decisions(report)[2], "3x2 8: ring (learned)");
}

TEST_F(TablesTest, ATableOfAnotherMpiIsNotUsedAndSaysSo) {
  const std::string file =
      table("other.json", R"({"operation": "allreduce", "mpi": "Open MPI 99", "algorithm": "ring"})");
  options_.table = file;
  const Json report = run();
  for (const std::string& line : decisions(report)) EXPECT_EQ(line.find("table"), std::string::npos) << line;
  ASSERT_EQ(report["warnings"].size(), 1u) << report["warnings"];
  EXPECT_NE(report["warnings"].dump().find("all of its rules are for other MPIs (Open MPI 99)"),
            std::string::npos)
      << report["warnings"];
}

TEST_F(TablesTest, WhatIsWrongIsSaidAndTheRestHolds) {
  const std::string good = table("good.json", R"({"operation": "allreduce", "algorithm": "nosuch"},
                                                 {"operation": "allreduce", "bytes": [8, 8], "algorithm": "ring"})");
  std::ofstream(folder_ + "/bad.json") << "{";
  options_.table = folder_ + "/bad.json:" + good + ":" + folder_ + "/none.json";
  options_.site_table = "/nowhere/site.json";
  const Json report = run();
  EXPECT_EQ(decisions(report)[0], "2 8: ring (application table)");
  const std::string warnings = report["warnings"].dump();
  EXPECT_EQ(report["warnings"].size(), 4u) << warnings;
  for (const std::string& line :
       {"table " + folder_ + "/bad.json is no JSON", "table " + folder_ + "/none.json cannot be read",
        "table " + good + ": rule 1 is disabled: there is no algorithm 'nosuch'",
        std::string("table /nowhere/site.json cannot be read")}) {
    EXPECT_NE(warnings.find(line), std::string::npos) << line << "\n" << warnings;
  }
}

}  // namespace
}  // namespace unisono::runtime::tables_test
