// SPDX-License-Identifier: BSD-3-Clause
// Reading tables: what is understood, what is refused and how that is said.
#include "tuning/tables/table.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "../seed.h"
#include "tuning/tables/table_json.h"

namespace unisono::tuning {
namespace {

std::string table_of(const std::string& rules) {
  return R"({"schema": "unisono-table", "version": 1, "rules": [)" + rules + "]}";
}

Table read(const std::string& text) {
  const ReadTable read = table_from_text(text, "t.json");
  EXPECT_EQ(read.problem, "") << text;
  return read.table;
}

// Why the one rule of a table is disabled; empty: it is not.
std::string problem_of(const std::string& rule) {
  const Table table = read(table_of(rule));
  EXPECT_EQ(table.rules.size() + table.disabled.size(), 1u) << rule;
  return table.disabled.empty() ? "" : table.disabled[0].why;
}

constexpr const char* full_rule = R"rule({
  "operation": "allreduce", "bytes": [1025, 65536], "nodes": [4, 4], "ranks_per_node": [2, null],
  "oversubscribed": false, "placement": "consecutive", "operator": "commutative", "form": "blocking",
  "region": "solve", "mpi": "Open MPI 5", "algorithm": "two_level_ring(segment=65536,window=3)", "time_us": 12.5,
  "interval_us": [12, 13.5], "samples": 200,
  "others": [{"algorithm": "native", "time_us": 20.25, "samples": 10}, {"algorithm": "ring", "time_us": 30}],
  "origin": "measured", "measured_bytes": 4096, "note": "quiet machine"})rule";

TEST(TableTest, ARuleIsReadInFull) {
  const Table table = read(table_of(full_rule));
  ASSERT_EQ(table.rules.size(), 1u);
  const Rule& rule = table.rules[0];
  EXPECT_EQ(rule.number, 1);
  EXPECT_EQ(rule.when.operation, Operation::allreduce);
  EXPECT_EQ(rule.when.bytes, (Range{1025, 65536}));
  EXPECT_EQ(rule.when.nodes, (Range{4, 4}));
  EXPECT_EQ(rule.when.ranks_per_node, (Range{2, Range::no_limit}));
  EXPECT_EQ(rule.when.is_oversubscribed, false);
  EXPECT_EQ(rule.when.is_consecutive, true);
  EXPECT_EQ(rule.when.is_commutative, true);
  EXPECT_EQ(rule.when.is_blocking, true);
  EXPECT_EQ(rule.when.region, "solve");
  EXPECT_EQ(rule.when.mpi, "Open MPI 5");
  ASSERT_NE(rule.chosen.algorithm.algorithm, nullptr);
  EXPECT_EQ(rule.chosen.algorithm.algorithm->name, "two_level_ring");
  EXPECT_EQ(rule.chosen.algorithm.parameters.get("segment"), 65536);
  EXPECT_EQ(rule.chosen.time_us, 12.5);
  EXPECT_EQ(rule.chosen.interval_us, (std::pair{12.0, 13.5}));
  EXPECT_EQ(rule.chosen.samples, 200);
  ASSERT_EQ(rule.others.size(), 2u);
  EXPECT_EQ(rule.others[0].algorithm.algorithm, nullptr);
  EXPECT_EQ(rule.others[0].time_us, 20.25);
  EXPECT_EQ(rule.origin, "measured");
  EXPECT_EQ(rule.note, "quiet machine");
  EXPECT_EQ(rule.measured_bytes, 4096);
  EXPECT_EQ(layout_text(rule.when), "4x2+");
}

TEST(TableTest, ARuleIsWrittenAsItWasRead) {
  const TableJson json = TableJson::parse(full_rule);
  EXPECT_EQ(to_json(rule_from_json(json).rule), json);
  const TableJson bare = {{"operation", "bcast"}, {"algorithm", "native"}, {"origin", "written"}};
  EXPECT_EQ(to_json(rule_from_json(bare).rule), bare);
}

TEST(TableTest, WhatIsLeftOutHoldsForAll) {
  const Conditions when = read(table_of(R"({"operation": "bcast", "algorithm": "native"})")).rules[0].when;
  EXPECT_EQ(when, Conditions{.operation = Operation::bcast});
  EXPECT_TRUE(when.bytes.is_any() && when.nodes.is_any() && when.ranks_per_node.is_any());
}

TEST(TableTest, WrongRulesAreDisabledWithTheirReason) {
  const std::pair<const char*, const char*> cases[] = {
      {R"(17)", "a rule is an object, not 17"},
      {R"({"algorithm": "native"})", "it has no 'operation'"},
      {R"({"operation": "bcast"})", "it has no 'algorithm'"},
      {R"({"operation": "broadcast", "algorithm": "native"})", "there is no operation 'broadcast'"},
      {R"({"operation": 3, "algorithm": "native"})", "'operation' is a text, not 3"},
      {R"({"operation": "bcast", "algorithm": "nosuch"})", "there is no algorithm 'nosuch' for bcast"},
      {R"rule({"operation": "bcast", "algorithm": "chain(degree=2)"})rule",
       "chain has no parameter 'degree'"},
      {R"rule({"operation": "bcast", "algorithm": "chain(window=9)"})rule", "'window' of chain takes 1 to 4"},
      {R"rule({"operation": "bcast", "algorithm": "chain(window=1"})rule",
       "the bracket behind 'chain' is not closed"},
      {R"({"operation": "bcast", "algorithm": "native", "byte": [0, 1]})", "there is no field 'byte'"},
      {R"({"operation": "bcast", "algorithm": "native", "type": "double"})",
       "it goes by 'type', which ranks do not know alike"},
      {R"({"operation": "bcast", "algorithm": "native", "bytes": 8})", "'bytes' is [first, last], not 8"},
      {R"({"operation": "bcast", "algorithm": "native", "bytes": [8, 1]})", "'bytes' ends before it begins"},
      {R"({"operation": "bcast", "algorithm": "native", "bytes": [-1, 1]})", "takes whole numbers from 0"},
      {R"({"operation": "bcast", "algorithm": "native", "bytes": [0, 1.5]})", "takes whole numbers from 0"},
      {R"({"operation": "bcast", "algorithm": "native", "bytes": [0, 18446744073709551615]})",
       "takes whole numbers from 0"},
      {R"({"operation": "bcast", "algorithm": "native", "bytes": [5, 7]})", "no size class ends within"},
      {R"({"operation": "barrier", "algorithm": "native", "bytes": [8, 8]})", "leave 'bytes' out"},
      {R"({"operation": "gatherv", "algorithm": "native", "bytes": [8, 8]})", "leave 'bytes' out"},
      {R"({"operation": "bcast", "algorithm": "native", "nodes": [0, 0]})", "without ranks"},
      {R"({"operation": "bcast", "algorithm": "native", "oversubscribed": 1})", "is true or false, not 1"},
      {R"({"operation": "bcast", "algorithm": "native", "placement": "near"})",
       "'consecutive' or 'scattered'"},
      {R"({"operation": "bcast", "algorithm": "native", "operator": "ordered"})", "bcast has no operator"},
      {R"({"operation": "bcast", "algorithm": "native", "form": "slow"})", "'blocking' or 'non-blocking'"},
      {R"({"operation": "bcast", "algorithm": "native", "region": ""})", "'region' is empty"},
      {R"({"operation": "bcast", "algorithm": "native", "time_us": -1})", "takes microseconds"},
      {R"({"operation": "bcast", "algorithm": "native", "time_us": 0})", "'time_us' is 0"},
      {R"({"operation": "bcast", "algorithm": "native", "interval_us": [3, 2]})", "ends before it begins"},
      {R"({"operation": "bcast", "algorithm": "native", "origin": "rumour"})", "not 'rumour'"},
      {R"({"operation": "bcast", "algorithm": "native", "others": [{"algorithm": "ring"}]})",
       "there is no algorithm 'ring' for bcast"},
      {R"({"operation": "bcast", "algorithm": "native", "others": [{"time_us": 1}]})", "with 'algorithm'"},
      {R"({"operation": "bcast", "algorithm": "native", "others": [{"algorithm": "native", "x": 1}]})",
       "there is no field 'x' in 'others'"},
  };
  for (const auto& [rule, why] : cases) {
    EXPECT_NE(problem_of(rule).find(why), std::string::npos) << rule << "\n" << problem_of(rule);
  }
}

TEST(TableTest, RulesThatCanNeverBeFollowedAreDisabled) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"operation": "bcast", "algorithm": "fused", "nodes": [2, 4]})",
       "fused needs all ranks on one node"},
      {R"({"operation": "bcast", "algorithm": "two_level_chain", "nodes": [1, 1]})", "needs several nodes"},
      {R"({"operation": "bcast", "algorithm": "two_level_chain", "ranks_per_node": [1, 1]})",
       "needs a node with more than one rank"},
      {R"({"operation": "bcast", "algorithm": "fused", "bytes": [8192, 16384]})", "takes at most 4096 bytes"},
      {R"({"operation": "gatherv", "algorithm": "fused", "form": "non-blocking"})", "waits inside"},
      {R"({"operation": "allreduce", "algorithm": "ring", "operator": "ordered"})",
       "needs a commutative operator"},
  };
  for (const auto& [rule, why] : cases) {
    EXPECT_NE(problem_of(rule).find(why), std::string::npos) << rule << "\n" << problem_of(rule);
  }
  // Where it is legal for some of the calls it stands.
  EXPECT_EQ(problem_of(R"({"operation": "bcast", "algorithm": "fused", "nodes": [1, 4]})"), "");
  EXPECT_EQ(problem_of(R"({"operation": "bcast", "algorithm": "fused", "bytes": [8, 16384]})"), "");
}

TEST(TableTest, OtherRulesHoldAndKeepTheirNumbers) {
  const Table table = read(table_of(R"({"operation": "x", "algorithm": "native"},
                                       {"operation": "bcast", "algorithm": "chain"},
                                       {"operation": "bcast", "algorithm": "x"})"));
  ASSERT_EQ(table.rules.size(), 1u);
  EXPECT_EQ(table.rules[0].number, 2);
  ASSERT_EQ(table.warnings().size(), 2u);
  EXPECT_EQ(table.warnings()[0], "table t.json: rule 1 is disabled: there is no operation 'x'");
}

TEST(TableTest, VeryManyWarningsAreSummedUp) {
  std::string rules = "0";
  for (int i = 1; i < 100; ++i) rules += ", 0";
  const std::vector<std::string> warnings = read(table_of(rules)).warnings();
  ASSERT_EQ(warnings.size(), 11u);
  EXPECT_EQ(warnings[10], "table t.json: 90 more rules are disabled; 'unisono table check' names them");
}

TEST(TableTest, WhatIsNoTableIsRefusedAsAWhole) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "t.json is no JSON: "},
      {"{", "t.json is no JSON: "},
      {"[]", "its 'schema' is not 'unisono-table'"},
      {R"({"schema": "unisono-report", "version": 1, "rules": []})", "its 'schema' is not"},
      {R"({"schema": "unisono-table", "version": 2, "rules": []})", "it has version 2, this Unisono reads"},
      {R"({"schema": "unisono-table", "rules": []})", "it has version null"},
      {R"({"schema": "unisono-table", "version": 1})", "it has no list 'rules'"},
      {R"({"schema": "unisono-table", "version": 1, "rules": {}})", "it has no list 'rules'"},
      {R"({"schema": "unisono-table", "version": 1, "rules": [], "extra": 1})", "there is no field 'extra'"},
      {R"({"schema": "unisono-table", "version": 1, "rules": [], "provenance": 3})", "'provenance' is an"},
      {"{\"schema\": \"unisono-table\", \"version\": 1, \"rules\": [\"\xff\"]}", "t.json is no JSON: "},
  };
  for (const auto& [text, why] : cases) {
    EXPECT_NE(table_from_text(text, "t.json").problem.find(why), std::string::npos)
        << text << "\n"
        << table_from_text(text, "t.json").problem;
  }
  EXPECT_NE(table_from_file("/nowhere/t.json").problem.find("cannot be read: No such file"),
            std::string::npos);
  EXPECT_NE(table_from_file("/tmp").problem.find("is a directory"), std::string::npos);
}

// Damaged in any way, a table is read or refused; what it still says is legal.
TEST(TableTest, DamageIsNeverMoreThanARefusal) {
  const std::string whole = table_of(std::string(full_rule) + "," + full_rule);
  std::mt19937 random(seed());
  const std::string letters = "{}[]\",:0129.-eE\\ntrufalsx\xff \x01";
  int refused = 0, disabled = 0;
  constexpr int rounds = 4000;
  for (int round = 0; round < rounds; ++round) {
    std::string text = whole;
    for (unsigned edit = 0; edit <= random() % 3; ++edit) {
      const std::size_t at = random() % text.size();
      const char letter = letters[random() % letters.size()];
      switch (random() % 3) {
        case 0:
          text[at] = letter;
          break;
        case 1:
          text.erase(at, 1 + random() % 8);
          break;
        default:
          text.insert(at, 1, letter);
      }
    }
    const ReadTable read = table_from_text(text, "t.json");
    refused += read.problem.empty() ? 0 : 1;
    disabled += static_cast<int>(read.table.disabled.size());
    for (const Rule& rule : read.table.rules) EXPECT_EQ(rule_from_json(to_json(rule)).problem, "");
  }
  EXPECT_GT(refused, rounds / 10);
  EXPECT_GT(disabled, rounds / 10);
}

}  // namespace
}  // namespace unisono::tuning
