// SPDX-License-Identifier: BSD-3-Clause
// What earlier jobs have learned: when it is believed, where it holds, and how soon a bad day is forgotten.
// Jobs are programs whose calls take as long as the tests say; between them there is a real file.
#include "tuning/tables/knowledge.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "days.h"

namespace unisono::tuning {
namespace {

namespace fs = std::filesystem;

NamedAlgorithm named(Operation operation, const char* text) {
  return algorithm_from_text(operation, text).named;
}

Rule rule(const char* text) {
  ReadRule read = rule_from_json(TableJson::parse(text));
  EXPECT_EQ(read.problem, "");
  return read.rule;
}

std::vector<SourcedTable> learned(const std::vector<Rule>& rules) {
  return {{learned_source, {.file = "learned.json", .rules = rules}}};
}

std::string decided(const std::vector<Rule>& rules, const Question& asked) {
  std::vector<std::string> warnings;
  return std::string(standard_decider("", learned(rules), &warnings).decide(asked).name());
}

const char* fresh_native = R"({"operation": "allreduce", "bytes": [5, 8], "nodes": [1, 1],
  "ranks_per_node": [2, 2], "algorithm": "native", "time_us": 2, "least_us": 2, "origin": "learned",
  "others": [{"algorithm": "fused", "time_us": 3, "least_us": 3}],
  "evidence": {"trust": 3, "uncertainty": 0.1, "expected": "fused"}})";

TEST(KnowledgeTest, TheTimesOfABusyMachineAreNotBelieved) {
  const Question asked = question(Operation::allreduce, "2", 8);
  EXPECT_EQ(decided({rule(fresh_native)}, asked), "native");
  Rule busy = rule(fresh_native);
  busy.chosen.time_us = 7952;
  busy.others[0].time_us = 20000;
  EXPECT_EQ(decided({busy}, asked), "fused") << "no quiet machine takes milliseconds";
  EXPECT_EQ(worth_of(busy, asked, named(Operation::allreduce, "fused")), Worth::none);
  busy.chosen.time_us = 20;
  busy.others[0].time_us = 30;
  EXPECT_EQ(decided({busy}, asked), "fused") << "ten times as long as on a quiet day";
  Rule close = rule(fresh_native);
  close.others[0].time_us = 2.15;
  EXPECT_EQ(decided({close}, asked), "fused") << "less than it is uncertain";
  Rule alone = rule(fresh_native);
  alone.others.clear();
  EXPECT_EQ(decided({alone}, asked), "fused") << "compared with nothing";
  Rule other = rule(fresh_native);
  other.evidence->trust = 0;
  EXPECT_EQ(decided({other}, asked), "fused");
}

// A file of a version that did not say what stands behind it decides nothing that the rules do not say.
TEST(KnowledgeTest, RulesThatSayNothingOfTheirWorthAreHints) {
  const Question asked = question(Operation::allreduce, "2", 8);
  Rule old = rule(fresh_native);
  old.evidence.reset();
  EXPECT_EQ(decided({old}, asked), "fused");
  EXPECT_EQ(worth_of(old, asked, named(Operation::allreduce, "fused")), Worth::hint);
  EXPECT_EQ(worth_of(old, asked, {}), Worth::decides) << "it agrees with what is expected";
}

TEST(KnowledgeTest, WhatWasLearnedHoldsForItsOwnSizeAndLayoutAlone) {
  const auto of_size = [](std::int64_t bytes, const char* algorithm) {
    Rule made = rule(fresh_native);
    made.when.bytes = {bytes / 2 + 1, bytes};
    if (std::string(algorithm) == "native") return made;
    std::swap(made.chosen.algorithm, made.others[0].algorithm);
    made.chosen.algorithm = named(Operation::allreduce, algorithm);
    return made;
  };
  const auto at = [](std::int64_t bytes) { return question(Operation::allreduce, "2", bytes); };
  EXPECT_EQ(decided({of_size(64, "native")}, at(64)), "native");
  for (const std::int64_t bytes : {16, 32, 128, 256})
    EXPECT_EQ(decided({of_size(64, "native")}, at(bytes)), "fused") << bytes;
  EXPECT_EQ(decided({of_size(64, "native"), of_size(256, "native")}, at(128)), "native") << "both agree";
  EXPECT_EQ(decided({of_size(64, "native"), of_size(256, "fused")}, at(128)), "fused");
  EXPECT_EQ(decided({of_size(32, "native"), of_size(64, "fused"), of_size(256, "native")}, at(128)), "fused")
      << "the nearest count";
  // From communicators of 2 ranks to those of 4, and between 2 and 6.
  const auto of_ranks = [&](std::int64_t ranks) {
    Rule made = rule(fresh_native);
    made.when.ranks_per_node = {ranks, ranks};
    return made;
  };
  const Question of_4 = question(Operation::allreduce, "4", 8);
  EXPECT_EQ(decided({of_ranks(2)}, of_4), "fused");
  EXPECT_EQ(decided({of_ranks(2), of_ranks(6)}, of_4), "native");
}

// What a bad day may leave: any choice, any times, any trust, with and without what stands behind it.
TableJson bad_day(std::mt19937* random) {
  const auto pick = [&](int count) { return std::uniform_int_distribution<int>(0, count - 1)(*random); };
  std::uniform_real_distribution<double> exponent(-3, 6);
  const auto time_us = [&] { return std::pow(10, exponent(*random)); };
  const char* algorithms[] = {"native", "shared(buffers=4,piece=256K)", "ring", "recursive_doubling"};
  const int chosen = pick(4);
  TableJson made = {{"operation", "allreduce"},
                    {"bytes", {(64 << 10) + 1, 128 << 10}},
                    {"nodes", {1, 1}},
                    {"ranks_per_node", {2, 2}},
                    {"oversubscribed", false},
                    {"form", "blocking"},
                    {"algorithm", algorithms[chosen]},
                    {"time_us", time_us()},
                    {"origin", "learned"},
                    {"others", TableJson::array()}};
  if (pick(2) == 0) made["least_us"] = time_us();
  for (int k = 0; k < 4; ++k) {
    if (k == chosen || pick(4) == 0) continue;
    TableJson other = {{"algorithm", algorithms[k]}, {"time_us", time_us()}};
    if (pick(2) == 0) other["least_us"] = time_us();
    made["others"].push_back(other);
  }
  if (pick(4) != 0)
    made["evidence"] = {{"trust", pick(3) == 0 ? 1000 : pick(9)},
                        {"uncertainty", exponent(*random) / 10 + 0.3},
                        {"expected", algorithms[pick(4)]}};
  return made;
}

// The quiet machine's own best is what is expected, or another one; jobs are long, or too short to try
// anything.
TEST_F(Days, TheTenthQuietJobDecidesAsIfABadDayHadNeverBeen) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    std::mt19937 random(seed);
    const std::vector<double> quiet = seed % 3 == 0   ? std::vector{1.0, 1.4, 2.0, 3.0}
                                      : seed % 3 == 1 ? std::vector{1.6, 1.0, 2.0, 3.0}
                                                      : std::vector{1.02, 1.0, 1.5, 1.5};
    const std::uint64_t calls = seed % 2 == 0 ? 8000 : 40;
    const auto ten_jobs = [&] {
      for (int day = 0; day < 10; ++day) job(calls, constant(quiet));
      return decision();
    };
    fs::remove_all(folder_);
    const std::string never = ten_jobs();
    fs::remove_all(folder_);
    const TableJson bad = bad_day(&random);
    write(TableJson::array({bad}));
    EXPECT_EQ(ten_jobs(), never) << "seed " << seed << ' ' << bad.dump();
    EXPECT_EQ(never, calls > 100 && seed % 3 == 0 ? "native" : "shared");
  }
}

// The day itself: a machine on which all takes many times as long, and the expected one most.
TEST_F(Days, ABusyMachineTeachesNothing) {
  for (int day = 0; day < 3; ++day) job(30000, constant({1.6, 1.0, 2.0, 3.0}));
  ASSERT_EQ(decision(), "shared");
  for (int day = 0; day < 2; ++day) job(30000, constant({30, 90, 40, 50}));
  EXPECT_EQ(decision(), "shared");
  job(30000, constant({1.6, 1.0, 2.0, 3.0}));
  EXPECT_EQ(decision(), "shared");
}

TEST_F(Days, WhatIsTrueIsLearnedAndKept) {
  job(30000, constant({1.0, 1.5, 2.0, 3.0}));
  EXPECT_EQ(decision(), "native");
  const auto trust = [&] { return tables()[0].table.rules[0].evidence->trust; };
  EXPECT_EQ(trust(), fresh_trust);
  for (int day = 0; day < 6; ++day) job(30000, constant({1.0, 1.5, 2.0, 3.0}));
  EXPECT_EQ(trust(), most_trust);
  // Of jobs that are too short to see it again some pass before it is doubted.
  for (int day = 0; day < 7; ++day) job(20, constant({1.0, 1.5, 2.0, 3.0}));
  EXPECT_EQ(decision(), "native");
  // The machine is another now.
  for (int day = 0; day < 4; ++day) job(30000, constant({1.5, 1.0, 2.0, 3.0}));
  EXPECT_EQ(decision(), "shared");
}

}  // namespace
}  // namespace unisono::tuning
