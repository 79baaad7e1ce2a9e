// SPDX-License-Identifier: BSD-3-Clause
// What ranks tell rank 0 of their calls, and what it makes of messages that are none of these.
#include "runtime/reports/rank_records.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/json_text.h"
#include "fake_host/fake_host.h"
#include "runtime/learning/learned_rules.h"
#include "runtime/reports/gather_messages.h"
#include "runtime/reports/job_records.h"
#include "runtime/reports/report.h"
#include "some_records.h"

namespace unisono::runtime::rank_records_test {
namespace {

using fake_host::FakeHost;
using fake_host::FakeWorld;

// Whatever was read can be joined, reported and kept.
void use(const RankRecords& records) {
  RecordsOfRanks all;
  all.add(some_records());
  all.add(records);
  const JobRecords joined = all.joined();
  json_text(report_json({}, joined));
  report_summary({}, joined);
  rules_of(joined.learned.kinds);
}

TEST(RankRecords, TheSummarySaysWhatWasGained) {
  JobFacts facts{.wall_s = 10};
  JobRecords records;
  EXPECT_NE(report_summary(facts, records).find("nothing to gain: 0 %"), std::string::npos);
  records.classes.emplace_back();
  records.blocking.most_s = 2;
  EXPECT_NE(report_summary(facts, records).find("is not known"), std::string::npos);
  LearnedKind kind{.chosen = "ring", .uncertainty = 0.1};
  kind.candidates.push_back({.algorithm = {.name = "native"}, .calls = 10, .time_s = 2e-3});
  kind.candidates.push_back({.algorithm = {.name = "ring"}, .calls = 1000, .time_s = 1e-3});
  records.learned.kinds = {kind};
  EXPECT_NE(report_summary(facts, records)
                .find("about 1.50 times as fast in collectives as the MPI alone: 1.00 s "
                      "of 3.00 s saved (between 800.0 ms and 1.20 s)"),
            std::string::npos)
      << report_summary(facts, records);
  records.learned.kinds[0].uncertainty = 0.6;
  EXPECT_NE(report_summary(facts, records).find("no clear difference"), std::string::npos);
  records.learned.kinds[0] = kind;
  records.learned.kinds[0].candidates[1].time_s = 4e-3;
  EXPECT_NE(report_summary(facts, records).find("slower than the MPI's own collectives: 2.00 s lost"),
            std::string::npos);
}

TEST(RankRecords, TheSummarySaysWhatWasNotCounted) {
  JobFacts facts{.wall_s = 10};
  JobRecords records;
  const auto says = [&](const char* text) {
    return report_summary(facts, records).find(text) != std::string::npos;
  };
  facts.messages = MessageTotals{};
  EXPECT_TRUE(says("nothing to gain: 0 %"));
  facts.messages->sent = 9;
  EXPECT_TRUE(says("is not known: the MPI's own messages were not timed"));
  records.classes.emplace_back();
  records.classes[0].of_longest.key.form = CallForm::non_blocking;
  EXPECT_TRUE(says("is not known: waits for calls that do not block were not counted"));
}

TEST(RankRecords, TheSummarySaysWhyNoMessageWasSent) {
  JobFacts facts{.node_names = {"a", "b"}};
  const auto says = [&](const char* text) {
    return report_summary(facts, JobRecords()).find(text) != std::string::npos;
  };
  facts.messages = MessageTotals{};
  facts.options = "messages = node\n";
  EXPECT_TRUE(says("0 sent, as communicators over several nodes are the MPI's ('all' of option 'messages'"));
  facts.options = "messages = all\n";
  EXPECT_TRUE(says("messages: 0 sent; longest"));
  facts.options = "messages = node\n";
  facts.messages->sent = 1;
  EXPECT_TRUE(says("messages: 1 sent; longest"));
  facts.messages->sent = 0;
  facts.node_names = {"a"};
  EXPECT_TRUE(says("messages: 0 sent; longest"));
}

TEST(RankRecords, TheSummarySaysWhyAgentsServedNothing) {
  JobFacts facts{.node_names = {"a"}};
  const auto says = [&](const char* text) {
    return report_summary(facts, JobRecords()).find(text) != std::string::npos;
  };
  EXPECT_FALSE(says("agents"));
  facts.options = "agents = thread\n";
  EXPECT_TRUE(says("agents: none, as the job is on one node\n"));
  facts.agents_started_again = 0;
  EXPECT_TRUE(says("agents: served nothing, as the job is on one node\n"));
  facts.node_names = {"a", "b"};
  EXPECT_TRUE(says("agents: served nothing\n"));
  facts.agents_started_again.reset();
  EXPECT_TRUE(says("agents: none came to this job\n"));
}

// Ranks of two communicators of one split, one that has the number of a freed one, and one that not all have
// told of.
TEST(RankRecords, GraphsOfAllRanksAreOne) {
  RecordsOfRanks all;
  RankRecords records;
  const auto tell = [&](int communicator, int first, int rank, std::vector<int> to) {
    records.graphs.push_back({.communicator = communicator,
                              .first = first,
                              .layout = "2",
                              .size = 2,
                              .rank = rank,
                              .ins = 1,
                              .outs = to.size(),
                              .destinations = std::move(to)});
  };
  const auto end_rank = [&] {
    all.add(records);
    records.graphs.clear();
  };
  tell(4, 0, 0, {1});
  tell(4, 0, 0, {1, 0, 1});
  end_rank();
  tell(4, 0, 1, {1});
  tell(4, 0, 1, {});
  tell(5, 0, 1, {0});
  end_rank();
  tell(4, 2, 0, {1, 1});
  end_rank();
  tell(4, 2, 1, {});
  end_rank();
  const JobRecords joined = all.joined();
  ASSERT_EQ(joined.graphs.size(), 3U);
  EXPECT_EQ(joined.graphs[1].communicator, 6);
  EXPECT_EQ(joined.graphs[1].edges, 3U);
  EXPECT_EQ(joined.graphs[2].communicator, 7);
  const auto graph = report_json({}, joined)["graphs"][0];
  EXPECT_EQ(graph["communicator"], 4);
  EXPECT_EQ(graph["edge_count"], 2);
  EXPECT_EQ(graph["edges"], (nlohmann::ordered_json{{0, 1}, {1, 1}}));
  EXPECT_EQ(graph["out_degrees"], (nlohmann::ordered_json::array({{1, 2}})));
}

TEST(RankRecords, OfALargeGraphThereAreTheDegrees) {
  GraphsOfRanks graphs;
  constexpr std::uint64_t many = GraphRecord::most_listed + 1;
  graphs.add({{.layout = "1", .size = 2, .rank = 0, .outs = many, .destinations = {}}});
  graphs.add({{.layout = "1", .size = 2, .rank = 1, .ins = many, .destinations = {}}});
  const std::vector<JobGraph> joined = graphs.joined();
  ASSERT_EQ(joined.size(), 1U);
  EXPECT_FALSE(joined[0].is_listed());
  EXPECT_EQ(joined[0].out_degrees.size(), 2U);
}

TEST(RankRecords, AMessageBringsAllOfThem) {
  const RankRecords sent = some_records();
  const auto read = RankRecords::from_message(sent.message());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->blocking_s, sent.blocking_s);
  EXPECT_EQ(read->blocking_error_s, sent.blocking_error_s);
  EXPECT_EQ(read->under_way_s, sent.under_way_s);
  EXPECT_EQ(read->classes, sent.classes);
  EXPECT_EQ(read->native, sent.native);
  EXPECT_EQ(read->by_agents, sent.by_agents);
  EXPECT_EQ(read->agent_times, sent.agent_times);
  EXPECT_EQ(read->communicators, sent.communicators);
  EXPECT_EQ(read->learned.kinds, sent.learned.kinds);
  ASSERT_EQ(read->learned.leans.size(), 1u);
  EXPECT_EQ(read->learned.leans[0].file, "2x4.json");
  EXPECT_EQ(read->learned.leans[0].number, 2);
  EXPECT_EQ(read->learned.leans[0].when, sent.learned.leans[0].when);
  EXPECT_EQ(read->learned.leans[0].confirmation, tuning::Confirmation::confirmed);
  EXPECT_EQ(read->message(), sent.message());
}

TEST(RankRecords, CallsOfAgentsAreAddedUp) {
  RecordsOfRanks all;
  RankRecords records;
  records.by_agents = {{Operation::bcast, "mpi", 2}, {Operation::bcast, "ucc", 3}};
  records.agent_times = {.calls = 5, .under_way_s = 2, .waited_s = 0.5};
  all.add(records);
  records.by_agents = {{Operation::barrier, "mpi", 1}, {Operation::bcast, "ucc", 4}};
  all.add(records);
  const std::vector<AgentRecord> joined = all.joined().by_agents;
  EXPECT_EQ(joined,
            (std::vector<AgentRecord>{
                {Operation::barrier, "mpi", 1}, {Operation::bcast, "mpi", 2}, {Operation::bcast, "ucc", 7}}));
  EXPECT_EQ(all.joined().agent_times, (AgentTimes{.calls = 10, .under_way_s = 4, .waited_s = 1}));
  const JobFacts facts{.node_names = {"a", "b"}, .agents_started_again = 0};
  EXPECT_NE(report_summary(facts, all.joined())
                .find("timed on all ranks: 10 calls, 4.00 s under way, 1.00 s waited for"),
            std::string::npos);
}

TEST(RankRecords, NothingToTellIsNoMessage) {
  EXPECT_EQ(RankRecords().message(), "");
  EXPECT_TRUE(RankRecords::from_message("")->classes.empty());
}

TEST(RankRecords, WhatIsCutOffIsNotRead) {
  const std::string message = some_records().message();
  for (std::size_t length = 1; length < message.size(); ++length)
    EXPECT_FALSE(RankRecords::from_message(std::string_view(message).substr(0, length))) << length;
  EXPECT_FALSE(RankRecords::from_message(message + "x"));
}

// A byte that says something else is found out, or is another value of its field.
TEST(RankRecords, ABrokenMessageEndsNothing) {
  const std::string message = some_records().message();
  int refused = 0;
  for (std::size_t place = 0; place < message.size(); ++place) {
    for (const int flip : {0x01, 0x40, 0x80, 0xff}) {
      std::string broken = message;
      broken[place] = static_cast<char>(broken[place] ^ flip);
      if (const auto read = RankRecords::from_message(broken)) {
        use(*read);
      } else {
        ++refused;
      }
    }
  }
  EXPECT_GT(refused, 0);
}

TEST(RankRecords, ARankThatSendsSomethingElseIsLeftOut) {
  FakeWorld world(4);
  world.run([](FakeHost& host, int rank) {
    if (rank == 1) {
      send_to_first(host, host.world(), R"({"classes": [], "learning": []})");
      return;
    }
    const JobRecords joined = gather_records(host, host.world(), rank == 2 ? RankRecords() : some_records());
    if (rank != 0) return;
    EXPECT_EQ(joined.unread, std::vector<int>{1});
    EXPECT_EQ(joined.problem(),
              "what rank 1 has recorded of calls cannot be read: nothing is reported or kept of it");
    ASSERT_EQ(joined.classes.size(), 1u);
    EXPECT_EQ(joined.classes[0].of_longest, some_records().classes[0]);
    EXPECT_DOUBLE_EQ(joined.classes[0].mean_s, 4.0 / 3) << "of three ranks, one of which has made no call";
    EXPECT_EQ(joined.learned.kinds.size(), 2u);
  });
  EXPECT_EQ(world.leftovers(), "");
}

TEST(LearnedRules, SayWhatWasChosenAndWhatItWasComparedWith) {
  const std::vector<tuning::Rule> rules = rules_of({some_kind(), some_kind()});
  ASSERT_EQ(rules.size(), 1u) << "of kinds that rules cannot tell apart the first one counts";
  const tuning::Rule& rule = rules[0];
  EXPECT_EQ(tuning::to_text(rule.chosen.algorithm), "ring(segment=4096)");
  EXPECT_DOUBLE_EQ(rule.chosen.time_us, 20);
  EXPECT_DOUBLE_EQ(rule.chosen.least_us, 19);
  EXPECT_EQ(rule.chosen.samples, 40);
  ASSERT_EQ(rule.others.size(), 2u);
  EXPECT_EQ(tuning::to_text(rule.others[0].algorithm), "recursive_doubling");
  EXPECT_EQ(rule.others[0].least_us, 0) << "not known";
  EXPECT_EQ(tuning::to_text(*rule.evidence->expected), "recursive_doubling");
  EXPECT_EQ(rule.evidence->trust, tuning::fresh_trust);
  EXPECT_EQ(rule.when.nodes, (tuning::Range{2, 2}));
  EXPECT_EQ(rule.when.bytes, (tuning::Range{513, 1024}));
  EXPECT_EQ(rule.when.region, "solve");
}

TEST(LearnedRules, KindsThatSayTooLittleMakeNone) {
  LearnedKind reproducible = some_kind(), nowhere = some_kind(), unknown = some_kind();
  reproducible.is_reproducible = true;
  nowhere.layout = "8 of them";
  unknown.candidates[1].algorithm.name = "of another version";
  EXPECT_TRUE(rules_of({reproducible, nowhere}).empty());
  ASSERT_EQ(rules_of({unknown}).size(), 1u);
  EXPECT_EQ(rules_of({unknown})[0].evidence->trust, 0) << "nothing is known of what was chosen";
}

}  // namespace
}  // namespace unisono::runtime::rank_records_test
