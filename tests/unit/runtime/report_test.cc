// SPDX-License-Identifier: BSD-3-Clause
#include "runtime/reports/report.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "runtime/reports/message_hints.h"
#include "runtime/reports/records.h"

namespace unisono::runtime::report_test {
namespace {

using Json = nlohmann::json;

void add_calls(Communicator* c, std::uint64_t calls, double seconds_each) {
  c->size = 4;
  c->layout = std::make_shared<patterns::Layout>(patterns::Layout::one_node(4));
  CallClass& entry = c->call_class(Operation::allreduce, true, 8);
  entry.calls = calls;
  entry.bytes = calls * 8;
  for (int i = 0; i < 10; ++i) entry.times.add(seconds_each);
  entry.choice = std::make_unique<tuning::Choice>(tuning::Choice{.reason = "because", .source = "rule"});
}

RankRecords of_rank(std::uint64_t calls, double seconds_each) {
  Communicator c;
  add_calls(&c, calls, seconds_each);
  Records records;
  records.absorb(c);
  return records.all();
}

JobRecords joined(const std::vector<RankRecords>& ranks) {
  RecordsOfRanks all;
  for (const RankRecords& rank : ranks) all.add(rank);
  return all.joined();
}

Json report_of(const std::vector<RankRecords>& ranks) {
  return report_json({}, joined(ranks));
}

TEST(ReportTest, RanksAreMergedByMaximumAndMean) {
  const Json merged = report_of({of_rank(100, 1e-6), of_rank(100, 3e-6)});
  ASSERT_EQ(merged["classes"].size(), 1u);
  const Json& c = merged["classes"][0];
  EXPECT_EQ(c["operation"], "allreduce");
  EXPECT_EQ(c["algorithm"], "native");
  EXPECT_EQ(c["size_class"], "8 B");
  EXPECT_EQ(c["calls"], 100);
  EXPECT_DOUBLE_EQ(c["time_s"], 300e-6);
  EXPECT_DOUBLE_EQ(c["time_mean_s"], 200e-6);
  EXPECT_EQ(c["sampled"], true);
  EXPECT_DOUBLE_EQ(merged["collective_time_s"]["max"], 300e-6);
  EXPECT_DOUBLE_EQ(merged["collective_time_s"]["mean"], 200e-6);
}

TEST(ReportTest, EstimatesDoNotMakeARankTakeLongerThanItRan) {
  Communicator c;
  add_calls(&c, 1000, 1e-3);
  Records records;
  records.absorb(c);
  const Json merged = report_of({records.all({.wall_s = 0.5})});
  EXPECT_DOUBLE_EQ(merged["collective_time_s"]["max"], 0.5);
  EXPECT_DOUBLE_EQ(merged["classes"][0]["time_s"], 0.5);
}

TEST(ReportTest, ALateCallIsTheErrorOfWhatIsEstimated) {
  Communicator c;
  add_calls(&c, 1000, 1e-6);
  CallClass& entry = c.call_class(Operation::allreduce, true, 8);
  for (int i = 0; i < 30; ++i) entry.times.add(1e-6);
  entry.times.add(20e-3);
  Records records;
  records.absorb(c);
  const Json merged = report_of({records.all()});
  const double error_s = merged["collective_time_s"]["error"];
  EXPECT_LT(merged["collective_time_s"]["max"].get<double>(), 25e-3);
  EXPECT_GT(error_s, 25e-3);
  EXPECT_EQ(merged["classes"][0]["time_error_s"].get<double>(), error_s);
}

TEST(ReportTest, CallsThatDoNotBlockAreNoTimeInCollectives) {
  Communicator c;
  add_calls(&c, 10, 1e-3);
  Records records;
  records.absorb(c, Operation::allreduce, 3, c.call_class(Operation::allreduce, true, 8),
                 CallForm::non_blocking);
  const Json merged = report_of({records.all({.under_way_s = 2e-3})});
  EXPECT_EQ(merged["classes"][0]["form"], "non-blocking");
  EXPECT_EQ(merged["collective_time_s"]["max"].get<double>(), 0);
  EXPECT_DOUBLE_EQ(merged["under_way_time_s"]["max"], 2e-3);
}

TEST(ReportTest, CommunicatorsOfOneShapeAreAddedUp) {
  Records records;
  for (int i = 0; i < 3; ++i) {
    Communicator c;
    add_calls(&c, 5, 1e-6);
    records.absorb(c);
  }
  const Json merged = report_of({records.all()});
  ASSERT_EQ(merged["classes"].size(), 1u);
  EXPECT_EQ(merged["classes"][0]["calls"], 15);
}

TEST(ReportTest, CommunicatorsSayHowManyRanksEachNodeHolds) {
  for (const auto& [layout, ppn] : {std::pair{"8", "8"}, {"2x2", "2"}, {"3,5,8", "3,5,8"}}) {
    Communicator c;
    add_calls(&c, 5, 1e-6);
    c.layout = std::make_shared<patterns::Layout>(*patterns::Layout::parse(layout));
    Records records;
    records.absorb(c);
    EXPECT_EQ(report_of({records.all()})["communicators"][0]["ppn"], ppn);
  }
}

TEST(ReportTest, CallsLeftToTheHostCarryTheirReason) {
  Communicator c;
  c.native_reason = NativeReason::intercommunicator;
  c.left.calls[static_cast<int>(Operation::bcast)] = 7;
  Records records;
  records.absorb(c);
  const Json merged = report_of({records.all()});
  ASSERT_EQ(merged["native"].size(), 1u);
  EXPECT_EQ(merged["native"][0]["calls"], 7);
  EXPECT_EQ(merged["native"][0]["reason"], std::string(describe(NativeReason::intercommunicator)));
}

TEST(ReportTest, StartsOfPersistentCallsThatTheHostMakesAreCounted) {
  Communicator c;
  add_calls(&c, 1, 1e-6);
  Records records;
  const tuning::Choice left{.reason = "nothing was measured"};
  const auto starts = records.starts_of_host(c, Operation::gatherv, 0, left);
  EXPECT_EQ(starts, records.starts_of_host(c, Operation::gatherv, 0, left)) << "two requests, one row";
  for (int i = 0; i < 50; ++i) starts->add(8);
  records.starts_of_host(Operation::bcast, NativeReason::one_rank)->add(0);
  records.starts_of_host(Operation::scan, NativeReason::one_rank);  // never started
  records.absorb_starts();
  const Json merged = report_of({records.all()});
  ASSERT_EQ(merged["classes"].size(), 1u);
  const Json& row = merged["classes"][0];
  EXPECT_EQ(row["form"], "persistent");
  EXPECT_EQ(row["calls"], 50);
  EXPECT_EQ(row["bytes"], 400);
  EXPECT_EQ(row["reason"], "nothing was measured");
  ASSERT_EQ(merged["native"].size(), 1u);
  EXPECT_EQ(merged["native"][0]["operation"], "bcast");
}

TEST(ReportTest, TheSummaryCutsNoPlaceAndNoReason) {
  Communicator c;
  add_calls(&c, 1234, 1e-6);
  std::vector<int> ranks;
  for (int node = 0; node < 60; ++node)
    ranks.insert(ranks.end(), static_cast<std::size_t>(node % 3 + 1), node);
  c.size = static_cast<int>(ranks.size());
  c.layout = std::make_shared<patterns::Layout>(patterns::Layout::from_labels(ranks));
  std::string reason;
  for (int i = 0; i < 200; ++i) reason += (i == 0 ? "" : " ") + std::to_string(i);
  c.call_class(Operation::allreduce, true, 8).choice->reason = reason;
  Records records;
  records.absorb(c);
  const RankRecords all = records.all();
  ::testing::internal::CaptureStderr();
  EXPECT_EQ(write_report("-", {.warnings = {"warning " + reason}}, joined({all})), "");
  const std::string said = ::testing::internal::GetCapturedStderr();
  const Json merged = report_of({all});
  const auto place = merged["classes"][0]["shape"].get<std::string>();
  EXPECT_NE(said.find(place + "       1234 "), std::string::npos) << said;
  EXPECT_NE(said.find("native: " + reason + "\n"), std::string::npos) << said;
  EXPECT_NE(said.find("warning: warning " + reason + "\n"), std::string::npos) << said;
}

TEST(ReportTest, TheFileIsWrittenWholeOrSaysWhyNot) {
  const std::string path = ::testing::TempDir() + "unisono_report_test.json";
  const JobFacts facts{.mpi = "Fake MPI",
                       .family = "fake",
                       .options = "pool_bytes = 2M\n",
                       .ranks = 4,
                       .node_names = {"a"},
                       .node_ranks = {4},
                       .node_cores = {2}};
  EXPECT_EQ(write_report(path, facts, joined({of_rank(1, 1e-6)})), "");
  std::ifstream file(path);
  const Json report = Json::parse(file);
  EXPECT_EQ(report["schema"], "unisono-report");
  EXPECT_EQ(report["options"]["pool_bytes"], "2M");
  EXPECT_EQ(report["usable_cores"][0], 2);
  std::remove(path.c_str());
  EXPECT_NE(write_report("/no/such/folder/report.json", facts, {}).find("cannot be written"),
            std::string::npos);
}

TEST(ReportTest, HintsAreOfMessagesThatWereCarried) {
  EXPECT_TRUE(hints_of({.are_between_nodes = true}).empty());
  const std::vector<std::string> of_node = hints_of({.sent = 1}),
                                 of_all = hints_of({.sent = 1, .are_between_nodes = true});
  ASSERT_EQ(of_node.size(), 1u);
  EXPECT_TRUE(of_node[0].starts_with("MPI_T and debuggers' message queues do not show messages"))
      << of_node[0];
  ASSERT_EQ(of_all.size(), 2u);
  EXPECT_EQ(of_all[0], of_node[0]);
  EXPECT_TRUE(of_all[1].starts_with("messages between nodes may take up to 1.7 times as long")) << of_all[1];
}

}  // namespace
}  // namespace unisono::runtime::report_test
