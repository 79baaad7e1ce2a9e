// SPDX-License-Identifier: BSD-3-Clause
// Whatever a bad day has written, and by whatever way jobs come to go by it, the tenth quiet job after it
// decides as if it had never been.
#include "tuning/tables/leaning.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <vector>

#include "days.h"

namespace unisono::tuning {
namespace {

constexpr std::int64_t kib = 1024;

// With times that nothing is wrong with but that they are not so, and all the trust that there is.
TableJson rule_for(std::int64_t bytes, const char* algorithm, const char* other, std::int64_t trust = 8) {
  return {{"operation", "allreduce"},
          {"bytes", {bytes / 2 + 1, bytes}},
          {"nodes", {1, 1}},
          {"ranks_per_node", {2, 2}},
          {"oversubscribed", false},
          {"form", "blocking"},
          {"algorithm", algorithm},
          {"time_us", 100},
          {"least_us", 100},
          {"origin", "learned"},
          {"others", {{{"algorithm", other}, {"time_us", 300}, {"least_us", 300}}}},
          {"evidence", {{"trust", trust}, {"uncertainty", 0.05}, {"expected", other}}}};
}
constexpr const char* usual = "shared(buffers=4,piece=256K)";

class Leaning : public Days {
 public:
  void plant(const std::vector<TableJson>& rules, const char* name = "1x2.json") const {
    write(TableJson(rules), name);
  }
  // Jobs whose calls are too few to compare anything; others that compare; and those that do not learn.
  void ten_jobs(int kind) {
    const Times quiet = constant({1.6, 1.0, 2.0, 3.0});
    for (int day = 0; day < 10; ++day) {
      if (kind == 0) job_without_learning();
      if (kind == 1) job(40, quiet);
      if (kind == 2) job(8000, quiet);
    }
  }
  void expect_forgotten(const char* what, const std::function<void()>& bad_day) {
    for (int kind = 0; kind < 3; ++kind) {
      std::filesystem::remove_all(folder_);
      const std::string never = decision();
      bad_day();
      ASSERT_EQ(decision(), "native") << what << ": it is believed at first";
      ten_jobs(kind);
      EXPECT_EQ(decision(), never) << what << ", jobs of kind " << kind;
    }
  }
};

TEST_F(Leaning, TheTenthQuietJobDecidesAsIfABadDayHadNeverBeen) {
  expect_forgotten("its own rule", [&] { plant({rule_for(bytes, "native", usual)}); });
  expect_forgotten("its own rule, trusted beyond measure",
                   [&] { plant({rule_for(bytes, "native", usual, 1000)}); });
  expect_forgotten("neighbours in size", [&] {
    plant({rule_for(bytes / 2, "native", usual), rule_for(4 * bytes, "native", usual)});
  });
  expect_forgotten("neighbours of which one is of another shape's jobs", [&] {
    plant({rule_for(bytes / 2, "native", usual)});
    plant({rule_for(2 * bytes, "native", usual)}, "1x8.json");
  });
  expect_forgotten("neighbours of neighbours", [&] {
    plant({rule_for(bytes / 4, "native", usual), rule_for(bytes / 2, "native", usual),
           rule_for(2 * bytes, "native", usual), rule_for(4 * bytes, "native", usual)});
  });
  expect_forgotten("its own rule, one of another algorithm, and neighbours of all kinds", [&] {
    plant({rule_for(bytes, "native", usual), rule_for(bytes / 2, "ring", usual),
           rule_for(bytes / 4, "recursive_doubling", usual),
           rule_for(4 * bytes, "recursive_doubling", usual)});
    plant({rule_for(bytes, "ring", usual), rule_for(2 * bytes, "ring", usual)}, "1x8.json");
  });
  expect_forgotten("its own rule in the file of another shape",
                   [&] { plant({rule_for(bytes, "native", usual)}, "1x8.json"); });
  expect_forgotten("a rule that says nothing of the form of calls", [&] {
    TableJson made = rule_for(bytes, "native", usual);
    made.erase("form");
    made.erase("oversubscribed");
    plant({made});
  });
}

// A test at the start has no native candidate, and its rules say nothing of the placement.
TEST_F(Leaning, ATestOfABadDayIsForgotten) {
  for (int kind = 0; kind < 3; ++kind) {
    std::filesystem::remove_all(folder_);
    TableJson made = rule_for(bytes, "ring", usual);
    made["origin"] = "tested";
    made["others"] = TableJson::array({{{"algorithm", usual}, {"time_us", 300}}});
    plant({made});
    ASSERT_EQ(decision(), "ring");
    ten_jobs(kind);
    EXPECT_EQ(decision(), "shared") << "jobs of kind " << kind;
  }
  // Beside a table of the application's, whose range made the test necessary.
  application_ = {{application_source, table_from_text(R"({"schema": "unisono-table", "version": 1, "rules": [
                     {"operation": "allreduce", "algorithm": "recursive_doubling"}]})",
                                                       "app.json")
                                           .table}};
  std::filesystem::remove_all(folder_);
  TableJson made = rule_for(bytes, "ring", "recursive_doubling", 3);
  made["origin"] = "tested";
  plant({made});
  asked_.may_be_tested = true;
  ASSERT_EQ(decision(), "ring");
  for (int day = 0; day < 3; ++day) job_without_learning();
  EXPECT_EQ(decision(), "recursive_doubling") << "which the next long job tests again";
}

// Between layouts times are interpolated.
TEST_F(Leaning, LayoutsOnBothSidesLoseTrust) {
  const auto of_ranks = [](std::int64_t ranks) {
    TableJson made = rule_for(bytes, "native", usual);
    made["ranks_per_node"] = {ranks, ranks};
    return made;
  };
  asked_ = question(Operation::allreduce, "3", bytes);
  const std::string never = decision();
  plant({of_ranks(2), of_ranks(4)});
  ASSERT_EQ(decision(), "native");
  for (int day = 0; day < 9; ++day) job_without_learning();
  EXPECT_EQ(decision(), never);
}

TEST_F(Leaning, OnlyWhatIsLeanedOnLosesTrust) {
  plant({rule_for(bytes, "native", usual), rule_for(16 * bytes, "native", usual),
         rule_for(2 * bytes, usual, "native")});
  const auto trust = [&] {
    std::vector<std::int64_t> list;
    for (const Rule& rule : tables()[0].table.rules) list.push_back(rule.evidence->trust);
    return list;
  };
  job_without_learning();
  EXPECT_EQ(trust(), (std::vector<std::int64_t>{7, 8, 8}));
  // What would be chosen anyway leans on nothing.
  asked_ = question(Operation::allreduce, "2", 2 * bytes);
  job_without_learning();
  EXPECT_EQ(trust(), (std::vector<std::int64_t>{7, 8, 8}));
}

TEST_F(Leaning, WhoMeasuresTheSameLosesNothingAndWhoMeasuresAnotherMore) {
  plant({rule_for(bytes / 2, "native", usual), rule_for(2 * bytes, "native", usual)});
  const auto trust = [&] { return tables()[0].table.rules[0].evidence->trust; };
  job(8000, constant({1.0, 1.6, 2.0, 3.0}));
  EXPECT_EQ(trust(), most_trust);
  EXPECT_EQ(decision(), "native");
  EXPECT_EQ(tables()[0].table.rules.size(), 3u) << "what it has measured is a rule of its own";
  std::filesystem::remove_all(folder_);
  plant({rule_for(bytes / 2, "native", usual), rule_for(2 * bytes, "native", usual)});
  job(8000, constant({1.6, 1.0, 2.0, 3.0}));
  EXPECT_EQ(trust(), most_trust - 1) << "their own sizes nobody has measured";
  EXPECT_EQ(decision(), "shared");
}

// Between the job's beginning and its end another one has written the file.
TEST_F(Leaning, ARuleIsFoundWhereverItIsByNow) {
  plant({rule_for(bytes, "native", usual)});
  std::vector<std::string> warnings;
  Decider decider = standard_decider("", tables(), &warnings);
  Leans leans;
  leans.add(decider.decide(asked_).leans_on, Confirmation::none);
  Leans told;
  for (const Lean& lean : leans.list()) {
    WireWriter writer;
    tuning::write(&writer, lean);
    WireReader reader(writer.bytes());
    told.add(read_lean(&reader));
    EXPECT_TRUE(reader.is_whole());
  }
  plant({TableJson("of another version"), rule_for(kib, "native", usual), rule_for(bytes, "native", usual)});
  EXPECT_EQ(store_rules(place_, {}, {}, told.list()).problem, "");
  EXPECT_EQ(tables()[0].table.rules[0].evidence->trust, most_trust);
  EXPECT_EQ(tables()[0].table.rules[1].evidence->trust, most_trust - 1);
}

TEST_F(Leaning, TheReasonSaysForHowLongItIsBelieved) {
  plant({rule_for(bytes, "native", usual)});
  std::vector<std::string> warnings;
  EXPECT_NE(standard_decider("", tables(), &warnings)
                .decide(asked_)
                .reason.find("for 8 more jobs that do not measure it again"),
            std::string::npos);
}

}  // namespace
}  // namespace unisono::tuning
