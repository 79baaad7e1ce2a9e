// SPDX-License-Identifier: BSD-3-Clause
// Which rules suit a question: precedence, regions, what is near, and what the reasons say.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "questions.h"
#include "tuning/tables/table.h"
#include "tuning/tables/table_json.h"

namespace unisono::tuning {
namespace {

SourcedTable table(const std::string& file, std::string_view source, const std::string& rules) {
  const std::string text = R"({"schema": "unisono-table", "version": 1, "rules": [)" + rules + "]}";
  ReadTable read = table_from_text(text, file);
  EXPECT_EQ(read.problem, "");
  EXPECT_TRUE(read.table.disabled.empty()) << read.table.disabled[0].why;
  return {source, std::move(read.table)};
}

SourcedTable application(const std::string& rules) {
  return table("app.json", application_source, rules);
}

Decider decider(std::vector<SourcedTable> tables, const char* forced = "") {
  std::vector<std::string> none;
  return standard_decider(forced, std::move(tables), &none);
}

// One rule with these conditions, as they stand in a file; no match: 0, near: 1, all hold: 2.
int fit(const std::string& conditions, const Question& q) {
  const TableRules rules([&] {
    std::vector<SourcedTable> tables;
    tables.push_back(application(R"({"operation": "allreduce", "algorithm": "native")" + conditions + "}"));
    return tables;
  }());
  const auto matches = rules.matches(q);
  return matches.empty() ? 0 : matches[0].is_near ? 1 : 2;
}

TEST(TableRulesTest, TheOrderOfSources) {
  const auto rule = [](const char* algorithm) {
    return R"({"operation": "allreduce", "algorithm": ")" + std::string(algorithm) + R"("})";
  };
  const auto tables = [&] {
    std::vector<SourcedTable> list;
    list.push_back(application(rule("ring")));
    list.push_back(
        table("learned.json", learned_source,
              R"rule({"operation": "allreduce", "algorithm": "shared", "time_us": 1, "origin": "learned",
                             "others": [{"algorithm": "native", "time_us": 2}, {"algorithm": "ring", "time_us": 2},
                                        {"algorithm": "shared(buffers=4,piece=256K)", "time_us": 2}],
                             "evidence": {"trust": 3}})rule"));
    list.push_back(table("site.json", site_source, rule("native")));
    return list;
  };
  const Question q = question(Operation::allreduce, "4", 1 << 20);
  Decider all = decider(tables());
  Choice choice = all.decide(q);
  EXPECT_EQ(choice.name(), "ring");
  EXPECT_EQ(choice.source, "application table");
  EXPECT_EQ(choice.reason, "app.json rule 1");
  EXPECT_EQ(choice.parameters.get("window"), 2) << "standards are filled in";
  EXPECT_EQ(decider(tables(), "allreduce:recursive_doubling").decide(q).source, "forced");
  std::vector<SourcedTable> fewer = tables();
  fewer.erase(fewer.begin());
  EXPECT_EQ(decider(std::move(fewer)).decide(q).source, "learned");
  fewer = tables();
  fewer.erase(fewer.begin(), fewer.begin() + 2);
  choice = decider(std::move(fewer)).decide(q);
  EXPECT_EQ(choice.source, "site table");
  EXPECT_EQ(choice.name(), "native");
  EXPECT_EQ(decider({}).decide(q).source, "rule");
  EXPECT_EQ(all.decide(question(Operation::bcast, "4", 8)).source, "rule") << "no table speaks of it";
  std::vector<std::string> sources;
  for (const Considered& c : all.consider(q)) {
    if (sources.empty() || sources.back() != c.choice.source) sources.emplace_back(c.choice.source);
  }
  ASSERT_GE(sources.size(), 4u);
  EXPECT_EQ(sources[0] + ", " + sources[1] + ", " + sources[2] + ", " + sources[3],
            "application table, learned, site table, rule");
}

TEST(TableRulesTest, TheFirstRuleOfAFileHolds) {
  const Question q = question(Operation::allreduce, "4", 1 << 20);
  std::vector<SourcedTable> tables;
  tables.push_back(application(R"({"operation": "allreduce", "bytes": [8, 8], "algorithm": "fused"},
                                  {"operation": "allreduce", "algorithm": "ring"},
                                  {"operation": "allreduce", "algorithm": "native"})"));
  Decider d = decider(std::move(tables));
  EXPECT_EQ(d.decide(q).name(), "ring");
  EXPECT_EQ(d.decide(q).reason, "app.json rule 2");
  EXPECT_EQ(d.decide(question(Operation::allreduce, "4", 8)).name(), "fused");
}

TEST(TableRulesTest, AllConditionsCount) {
  Question q = question(Operation::allreduce, "4x4", 4096);
  EXPECT_EQ(fit("", q), 2);
  EXPECT_EQ(fit(R"(, "operator": "commutative", "form": "blocking", "placement": "consecutive")", q), 2);
  EXPECT_EQ(fit(R"(, "operator": "ordered")", q), 0);
  EXPECT_EQ(fit(R"(, "form": "non-blocking")", q), 0);
  EXPECT_EQ(fit(R"(, "placement": "scattered")", q), 0);
  EXPECT_EQ(fit(R"(, "oversubscribed": true)", q), 0);
  EXPECT_EQ(fit(R"(, "oversubscribed": false)", q), 2);
  EXPECT_EQ(fit(R"(, "placement": "scattered")", question(Operation::allreduce, "4x4/cyclic", 4096)), 2);
  q.problem.is_commutative = false;
  q.is_blocking = false;
  q.is_oversubscribed = true;
  EXPECT_EQ(fit(R"(, "operator": "ordered", "form": "non-blocking", "oversubscribed": true)", q), 2);
  // Uneven nodes: the fullest one.
  EXPECT_EQ(fit(R"(, "nodes": [3, 3], "ranks_per_node": [8, 8])", question(Operation::allreduce, "3,5,8", 8)),
            2);
}

TEST(TableRulesTest, RulesOfOneMpi) {
  Question q = question(Operation::allreduce, "4x4", 4096);
  EXPECT_EQ(fit(R"(, "mpi": "Open MPI 5")", q), 2) << "where the MPI is not known all count";
  q.mpi = "Open MPI 5.0.11";
  for (const char* name : {"Open MPI", "Open MPI 5", "Open MPI 5.0", "Open MPI 5.0.11"})
    EXPECT_EQ(fit(std::string(R"(, "mpi": ")") + name + '"', q), 2) << name;
  for (const char* name :
       {"Open MPI 4", "Open MPI 5.0.1", "Open MPI 50", "Ope", "MPICH", "Open MPI 5.0.11.2"})
    EXPECT_EQ(fit(std::string(R"(, "mpi": ")") + name + '"', q), 0) << name;
  std::vector<SourcedTable> tables;
  tables.push_back(application(R"({"operation": "allreduce", "algorithm": "ring"},
                                  {"operation": "allreduce", "mpi": "Intel MPI", "algorithm": "native"})"));
  Decider d = decider(std::move(tables));
  EXPECT_EQ(d.decide(q).name(), "ring");
  q.mpi = "Intel MPI 2021.18.1";
  EXPECT_EQ(d.decide(q).name(), "native") << "the rule that names the MPI goes first";
}

TEST(TableRulesTest, ATableForOtherMpis) {
  const SourcedTable sourced =
      application(R"({"operation": "allreduce", "mpi": "Open MPI 5", "algorithm": "ring"},
                     {"operation": "bcast", "mpi": "MPICH", "algorithm": "native"})");
  EXPECT_EQ(only_for_others(sourced.table, "MPICH 5.0.2"), "");
  EXPECT_EQ(
      only_for_others(sourced.table, "Intel MPI 2021.18.1"),
      "table app.json: all of its rules are for other MPIs (MPICH, Open MPI 5), this is Intel MPI 2021.18.1");
  EXPECT_EQ(only_for_others({}, "MPICH 5.0.2"), "");
}

TEST(TableRulesTest, RegionsComeFirst) {
  std::vector<SourcedTable> tables;
  tables.push_back(application(R"({"operation": "allreduce", "algorithm": "ring"},
                                  {"operation": "allreduce", "region": "solve", "algorithm": "native"})"));
  Decider d = decider(std::move(tables));
  Question q = question(Operation::allreduce, "4", 4096);
  EXPECT_EQ(d.decide(q).name(), "ring");
  q.region = "solve";
  EXPECT_EQ(d.decide(q).name(), "native");
  q.region = "output";
  EXPECT_EQ(d.decide(q).name(), "ring");
}

TEST(TableRulesTest, ASizeClassCountsByItsUpperEnd) {
  const auto at = [](std::int64_t bytes) { return question(Operation::allreduce, "4", bytes); };
  const char* rule = R"(, "bytes": [1025, 65536])";
  EXPECT_EQ(fit(rule, at(1024)), 1);
  EXPECT_EQ(fit(rule, at(1025)), 2);
  EXPECT_EQ(fit(rule, at(65536)), 2);
  EXPECT_EQ(fit(rule, at(65537)), 1);
}

TEST(TableRulesTest, WhatIsNear) {
  const auto at = [](const char* layout, std::int64_t bytes = 1 << 16) {
    return question(Operation::allreduce, layout, bytes);
  };
  const char* rule = R"(, "bytes": [65536, 65536], "nodes": [4, 4], "ranks_per_node": [4, 4])";
  EXPECT_EQ(fit(rule, at("4x4")), 2);
  for (const char* layout : {"4x6", "4x8", "4x2", "2x4", "8x4", "8x8", "3,4,6"})
    EXPECT_EQ(fit(rule, at(layout)), 1);
  for (const char* layout : {"4x9", "9x4", "4", "4x1", "16"}) EXPECT_EQ(fit(rule, at(layout)), 0) << layout;
  EXPECT_EQ(fit(rule, at("4x4", 1 << 18)), 1);
  EXPECT_EQ(fit(rule, at("4x4", 1 << 14)), 1);
  EXPECT_EQ(fit(rule, at("4x4", 1 << 19)), 0);
  EXPECT_EQ(fit(rule, at("4x4", 1 << 13)), 0);
  // One of them is another world than several, and so are no bytes.
  EXPECT_EQ(fit(R"(, "nodes": [1, 1])", at("2x4")), 0);
  EXPECT_EQ(fit(R"(, "ranks_per_node": [1, 1])", at("4x2")), 0);
  EXPECT_EQ(fit(R"(, "bytes": [0, 0])", at("4", 1)), 0);
  EXPECT_EQ(fit(R"(, "bytes": [1, 8])", at("4", 0)), 0);
  EXPECT_EQ(fit(R"(, "nodes": [4, null])", at("2x4")), 1);
  EXPECT_EQ(fit(R"(, "nodes": [4, null])", at("1000x1")), 2);
}

TEST(TableRulesTest, TheNearestRuleIsUsedAndSaysSo) {
  const auto tables = [] {
    std::vector<SourcedTable> list;
    list.push_back(application(
        R"({"operation": "allreduce", "nodes": [4, 4], "ranks_per_node": [4, 4], "algorithm": "two_level_ring"},
           {"operation": "allreduce", "nodes": [4, 4], "ranks_per_node": [8, 8], "algorithm": "ring"})"));
    list.push_back(table("site.json", site_source,
                         R"({"operation": "allreduce", "nodes": [4, 4], "ranks_per_node": [7, 7],
                             "algorithm": "native"})"));
    return list;
  };
  Decider d = decider(tables());
  const auto at = [&](const char* layout) {
    return d.decide(question(Operation::allreduce, layout, 1 << 20));
  };
  EXPECT_EQ(at("4x5").name(), "two_level_ring");
  EXPECT_EQ(at("4x5").reason, "app.json rule 1, tuned at 4x4, used at 4x5");
  EXPECT_EQ(at("4x9").name(), "ring");
  EXPECT_EQ(at("4x7").name(), "native") << "a rule for just this comes before near ones of tables before";
  EXPECT_EQ(at("4x7").reason, "site.json rule 1");
  EXPECT_EQ(at("4x20").source, "rule");
}

// A rule for one number of ranks on a node, with these times of shared, of recursive_doubling (the winner
// first) and of native.
std::string timed_rule(int ranks, double shared_us, double doubling_us, double native_us,
                       const std::string& more = "") {
  const auto timed = [](const std::string& name, double us) {
    return R"("algorithm": ")" + name + R"(", "time_us": )" + std::to_string(us);
  };
  const bool is_shared = shared_us < doubling_us;
  const std::string first =
      timed(is_shared ? "shared" : "recursive_doubling", std::min(shared_us, doubling_us));
  const std::string second =
      timed(is_shared ? "recursive_doubling" : "shared", std::max(shared_us, doubling_us));
  const std::string count = std::to_string(ranks);
  return R"({"operation": "allreduce", "nodes": [1, 1], "ranks_per_node": [)" + count + ", " + count + "], " +
         more + first + R"(, "origin": "measured", "others": [{)" + second + "}, {" +
         timed("native", native_us) + "}]}";
}

Choice with_rules(const std::string& rules, const char* layout) {
  std::vector<SourcedTable> tables;
  tables.push_back(application(rules));
  return decider(std::move(tables)).decide(question(Operation::allreduce, layout, 1 << 16));
}

TEST(TableRulesTest, BetweenTwoLayoutsTimesAreInterpolated) {
  const std::string four = timed_rule(4, 10, 14, 30), sixteen = timed_rule(16, 70, 26, 90);
  // A third of the way: 30 and 18 us. The nearest rule, that of 4, says shared.
  EXPECT_EQ(with_rules(four, "8").name(), "shared");
  for (const std::string& rules : {four + "," + sixteen, sixteen + "," + four}) {
    const Choice choice = with_rules(rules, "8");
    EXPECT_EQ(choice.name(), "recursive_doubling");
    EXPECT_FALSE(choice.is_exact);
    EXPECT_FALSE(choice.is_asked_for);
  }
  EXPECT_EQ(
      with_rules(four + "," + sixteen, "8").reason,
      "app.json rule 1 and rule 2, tuned at 1x4 and 1x16, used at 1x8: interpolated 18 us, native 50 us");
  EXPECT_EQ(with_rules(timed_rule(4, 10, 14, 12) + "," + timed_rule(16, 70, 60, 20), "8").name(), "native")
      << "14.7 us, where the others would take 30 and 29.3";
}

TEST(TableRulesTest, WhatIsNotBetweenTwoOfAKindIsNotInterpolated) {
  const std::string four = timed_rule(4, 10, 14, 30), sixteen = timed_rule(16, 70, 26, 90);
  const std::string nearest = "app.json rule 1, tuned at 1x4, used at 1x";
  EXPECT_TRUE(
      with_rules(four + "," + timed_rule(12, 70, 26, 90), "4").reason.starts_with("app.json rule 1:"));
  EXPECT_TRUE(with_rules(four + "," + timed_rule(5, 10, 14, 30), "3").reason.starts_with(nearest + "3"))
      << "both have more ranks";
  EXPECT_TRUE(with_rules(four + "," + timed_rule(16, 70, 26, 90, R"("operator": "commutative", )"), "8")
                  .reason.starts_with(nearest + "8"))
      << "of another kind";
  const std::string untimed = R"({"operation": "allreduce", "nodes": [1, 1], "ranks_per_node": [16, 16],
                                  "algorithm": "ring"})";
  EXPECT_TRUE(with_rules(four + "," + untimed, "8").reason.starts_with(nearest + "8"));
}

TEST(TableRulesTest, NearnessIsExactArithmetic) {
  // 6 is as far from 4 as from 9: the first rule holds, whichever stands first.
  const std::string four = R"({"operation": "allreduce", "nodes": [4, 4], "algorithm": "ring"})";
  const std::string nine = R"({"operation": "allreduce", "nodes": [9, 9], "algorithm": "native"})";
  const Question q = question(Operation::allreduce, "6x2", 1 << 20);
  for (const auto& [rules, name] :
       {std::pair{four + "," + nine, "ring"}, std::pair{nine + "," + four, "native"}}) {
    std::vector<SourcedTable> tables;
    tables.push_back(application(rules));
    EXPECT_EQ(decider(std::move(tables)).decide(q).name(), name);
  }
}

TEST(TableRulesTest, ReasonsTellWhatWasMeasured) {
  std::vector<SourcedTable> tables;
  tables.push_back(table("/etc/somewhere/t.json", site_source,
                         R"({"operation": "bcast", "bytes": [65536, 65536], "nodes": [4, 4],
                             "algorithm": "two_level_chain", "time_us": 123.4, "origin": "measured",
                             "others": [{"algorithm": "two_level_binomial", "time_us": 130},
                                        {"algorithm": "native", "time_us": 201}]})"));
  Decider d = decider(std::move(tables));
  EXPECT_EQ(d.decide(question(Operation::bcast, "4x4", 65536)).reason,
            "/etc/somewhere/t.json rule 1: measured 123 us, native 201 us");
  EXPECT_EQ(d.decide(question(Operation::bcast, "6x4", 131072)).reason,
            "/etc/somewhere/t.json rule 1, tuned at 4x* and 64 KiB, used at 6x4 and 128 KiB: measured 123 "
            "us, native 201 us");
}

TEST(TableRulesTest, ATimeIsToldOfTheSizeAtWhichItWasMeasuredAlone) {
  std::vector<SourcedTable> tables;
  tables.push_back(application(R"({"operation": "bcast", "bytes": [16385, null], "algorithm": "binomial",
                                   "time_us": 11.8, "origin": "measured", "measured_bytes": 65536,
                                   "others": [{"algorithm": "native", "time_us": 20.1}]})"));
  Decider d = decider(std::move(tables));
  EXPECT_EQ(d.decide(question(Operation::bcast, "4x4", 65536)).reason,
            "app.json rule 1: measured 11.8 us, native 20.1 us at 64 KiB");
  EXPECT_EQ(d.decide(question(Operation::bcast, "4x4", 4 << 20)).reason,
            "app.json rule 1: measured at 64 KiB");
}

TEST(TableRulesTest, WhatIsIllegalForTheCallIsPassedOverWithItsReason) {
  std::vector<SourcedTable> tables;
  tables.push_back(application(R"({"operation": "allreduce", "algorithm": "single_copy"},
                                  {"operation": "allreduce", "algorithm": "fused"},
                                  {"operation": "allreduce", "algorithm": "ring"})"));
  Decider d = decider(std::move(tables));
  EXPECT_EQ(d.decide(question(Operation::allreduce, "4", 4096)).source, "application table");
  Question q = question(Operation::allreduce, "6", 1 << 20);
  q.problem.is_commutative = false;
  const Choice choice = d.decide(q);
  EXPECT_EQ(choice.source, "rule");
  EXPECT_NE(choice.reason.find("(application table asks for fused, but it takes at most 4096 bytes)"),
            std::string::npos)
      << choice.reason;
  EXPECT_NE(choice.reason.find("(application table asks for ring, but it needs a commutative operator)"),
            std::string::npos)
      << choice.reason;
  EXPECT_TRUE(d.take_warnings().empty());
}

TEST(TableRulesTest, WhereTheBestIsIllegalTheNextBestHolds) {
  std::vector<SourcedTable> tables;
  tables.push_back(application(R"({"operation": "bcast", "algorithm": "fused", "time_us": 1,
                                   "others": [{"algorithm": "native", "time_us": 4},
                                              {"algorithm": "chain", "time_us": 2},
                                              {"algorithm": "two_level_chain", "time_us": 1.5},
                                              {"algorithm": "flat"}], "origin": "measured"})"));
  Decider d = decider(std::move(tables));
  EXPECT_EQ(d.decide(question(Operation::bcast, "4", 4096)).name(), "fused");
  const Choice choice = d.decide(question(Operation::bcast, "4", 8192));
  EXPECT_EQ(choice.name(), "chain");
  EXPECT_EQ(
      choice.reason,
      "app.json rule 1, the next best: measured 2 us, native 4 us (application table asks for fused, but it "
      "takes at most 4096 bytes)");
}

TEST(TableRulesTest, AReproducibleReductionIsNeverLeftToTheHost) {
  std::vector<SourcedTable> tables;
  tables.push_back(application(R"({"operation": "allreduce", "algorithm": "native"})"));
  Decider d = decider(std::move(tables));
  Question q = question(Operation::allreduce, "4", 4096);
  q.problem.is_commutative = false;
  q.problem.is_reproducible = true;
  EXPECT_NE(d.decide(q).algorithm, nullptr);
  EXPECT_NE(d.decide(q).reason.find("asks for native, but it joins operands"), std::string::npos);
}

}  // namespace
}  // namespace unisono::tuning
