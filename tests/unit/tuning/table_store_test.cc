// SPDX-License-Identifier: BSD-3-Clause
// What jobs leave for the next one: places, merging, and jobs that write at the same time.
#include "tuning/tables/table_store.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "tuning/tables/table_bounds.h"
#include "tuning/tables/table_files.h"
#include "tuning/tables/table_json.h"

namespace unisono::tuning {
namespace {

namespace fs = std::filesystem;

class TableStoreTest : public ::testing::Test {
 protected:
  TableStoreTest() {
    fs::create_directories(folder_);
    place_ =
        store_place(folder_, "Some CPU, 8 processors", "Open MPI 5.0.11", *patterns::Layout::parse("4x8"));
  }
  ~TableStoreTest() override { fs::remove_all(folder_); }

  static Rule rule(std::int64_t nodes, double time_us, const char* operation = "bcast") {
    const TableJson json = {
        {"operation", operation}, {"nodes", {nodes, nodes}}, {"algorithm", "native"}, {"time_us", time_us}};
    const ReadRule read = rule_from_json(json);
    EXPECT_EQ(read.problem, "");
    return read.rule;
  }
  std::string store(const std::vector<Rule>& rules) const {
    return store_rules(place_, {.unisono = "1.2", .command = "test"}, rules).message("what was learned");
  }
  Table stored() const {
    const ReadTable read = table_from_file(place_.file);
    EXPECT_EQ(read.problem, "");
    return read.table;
  }

  static std::vector<std::string> names(const StorePlace& place) {
    std::vector<std::string> names, warnings;
    for (const StoredText& text : read_stored(place, &warnings)) names.push_back(text.file);
    EXPECT_TRUE(warnings.empty()) << warnings.front();
    return names;
  }
  static Rule in_region(const std::string& region, std::int64_t nodes = 1) {
    Rule made = rule(nodes, 5);
    made.when.region = region;
    return made;
  }

  const std::string folder_ = fs::temp_directory_path() / ("table_store_test." + std::to_string(::getpid()));
  StorePlace place_;
};

TEST_F(TableStoreTest, PlacesAreByMachineMpiAndShape) {
  EXPECT_EQ(place_.file, folder_ + "/tables/some-cpu-8-processors/open-mpi-5.0.11/4x8.json");
  const auto shape = [&](const char* layout) {
    return fs::path(store_place(folder_, "m", "..", *patterns::Layout::parse(layout)).file);
  };
  EXPECT_EQ(shape("8").filename(), "1x8.json");
  EXPECT_EQ(shape("3,5,8").filename(), "3+5+8.json");
  EXPECT_EQ(shape("4x8/cyclic").filename(), "4x8-scattered.json");
  EXPECT_EQ(shape("2,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1").filename(), "18-ranks-on-17-nodes.json");
  EXPECT_EQ(shape("8").parent_path(), folder_ + "/tables/m/unknown");
  EXPECT_EQ(store_place("", "m", "n", *patterns::Layout::parse("8")).directory, "");
  EXPECT_FALSE(machine_name().empty());
}

TEST_F(TableStoreTest, TheUsersDirectory) {
  EXPECT_EQ(cache_directory("auto", Environment({"HOME=/there", "XDG_CACHE_HOME=/somewhere"})),
            "/somewhere/unisono");
  EXPECT_EQ(cache_directory("auto", Environment({"XDG_CACHE_HOME=relative", "HOME=/there"})),
            "/there/.cache/unisono");
  EXPECT_EQ(cache_directory("auto", Environment({"XDG_CACHE_HOME=relative", "HOME=relative"})), "");
  EXPECT_EQ(cache_directory("auto", Environment({})), "");
  EXPECT_EQ(cache_directory("/mine"), "/mine");
  EXPECT_EQ(cache_directory(""), "");
}

TEST_F(TableStoreTest, WhatIsStoredIsReadByTheNextJob) {
  EXPECT_TRUE(names(place_).empty());
  EXPECT_EQ(store({rule(1, 10), rule(2, 20)}), "");
  EXPECT_EQ(names(place_), std::vector{place_.file});
  const Table table = stored();
  EXPECT_EQ(table.rules.size(), 2u);
  EXPECT_EQ(table.provenance.unisono, "1.2");
  EXPECT_EQ(table.provenance.date.size(), std::string("2026-11-22T16:00:00Z").size());
  // The job's own shape comes first.
  const StorePlace other =
      store_place(folder_, "Some CPU, 8 processors", "Open MPI 5.0.11", *patterns::Layout::parse("2x8"));
  EXPECT_EQ(store_rules(other, {}, {rule(1, 1)}).problem, "");
  EXPECT_EQ(names(place_), (std::vector{place_.file, other.file}));
  EXPECT_EQ(names(other), (std::vector{other.file, place_.file}));
  std::vector<std::string> warnings;
  Options options;
  options.site_table = "";
  const auto tables = tables_from(unpack(pack(read_table_texts(options, place_, &warnings))), &warnings);
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].source, learned_source);
  EXPECT_EQ(tables[0].table.rules.size(), 2u);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(TableStoreTest, ARuleReplacesTheOneForTheSameCalls) {
  EXPECT_EQ(store({rule(1, 10), rule(2, 20)}), "");
  EXPECT_EQ(store({rule(2, 25), rule(3, 30)}), "");
  const Table table = stored();
  ASSERT_EQ(table.rules.size(), 3u);
  EXPECT_EQ(table.rules[1].when.nodes.first, 2);
  EXPECT_EQ(table.rules[1].chosen.time_us, 25);
}

// Regions whose names change from job to job must not let the file grow, nor push out what all jobs use.
TEST_F(TableStoreTest, WhatIsUsedStaysAndTheFileDoesNotGrow) {
  EXPECT_EQ(store({rule(7, 10)}), "");
  for (int job = 0; job < 5; ++job) {
    std::vector<Rule> rules = {rule(7, 10), in_region("always")};
    for (int i = 0; i < 400; ++i) rules.push_back(in_region("step " + std::to_string(job * 400 + i)));
    EXPECT_EQ(store(rules), "");
  }
  const Table table = stored();
  EXPECT_EQ(table.rules.size(), most_region_rules + 1);
  const auto find = [&](const std::string& region) {
    return std::ranges::find(table.rules, region, [](const Rule& found) { return found.when.region; });
  };
  ASSERT_NE(find(""), table.rules.end());
  EXPECT_EQ(find("")->jobs, 6);
  EXPECT_EQ(find("")->used.size(), std::string("2026-11-27").size());
  ASSERT_NE(find("always"), table.rules.end());
  EXPECT_EQ(find("always")->jobs, 5);
  EXPECT_EQ(find("step 0"), table.rules.end()) << "the oldest go first";
  EXPECT_NE(find("step 1999"), table.rules.end());
}

TEST_F(TableStoreTest, OfManyRulesThoseUsedLongAgoGoFirst) {
  TableJson rules = TableJson::array();
  for (int i = 0; i < 1500; ++i) {
    TableJson made = to_json(rule(1 + i, 5));
    if (i != 3) made["used"] = i < 700 ? "2026-01-01" : "2026-11-01";
    rules.push_back(made);
  }
  rules.push_back("what no version can read");
  keep_within_bounds(&rules);
  ASSERT_EQ(rules.size(), most_stored_rules);
  EXPECT_EQ(rules[0]["nodes"][0], 501) << "of equals the first";
}

TEST_F(TableStoreTest, ManyShapesDoNotFillTheFolder) {
  for (int nodes = 1; nodes <= 70; ++nodes) {
    const auto place = store_place(folder_, "Some CPU, 8 processors", "Open MPI 5.0.11",
                                   *patterns::Layout::parse(std::to_string(nodes) + "x2"));
    EXPECT_EQ(store_rules(place, {}, {rule(nodes, 1)}).problem, "");
    // Times of files may have steps of some milliseconds.
    const timespec written[2] = {{.tv_sec = nodes}, {.tv_sec = nodes}};
    ::utimensat(AT_FDCWD, place.file.c_str(), written, 0);
  }
  const std::vector<std::string> left = names(place_);
  EXPECT_EQ(left.size(), most_stored_files);
  EXPECT_TRUE(
      std::ranges::none_of(left, [](const std::string& file) { return file.ends_with("/6x2.json"); }));
  EXPECT_TRUE(std::ranges::any_of(left, [](const std::string& file) { return file.ends_with("/7x2.json"); }));
}

TEST_F(TableStoreTest, WhatIsNotTheUsersIsNotUsed) {
  EXPECT_EQ(store({rule(1, 10)}), "");
  std::vector<std::string> warnings;
  fs::permissions(folder_, fs::perms(0777));
  EXPECT_TRUE(read_stored(place_, &warnings).empty());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("is not used: it may be written by others"), std::string::npos) << warnings[0];
  EXPECT_NE(store({rule(2, 10)}).find("is not kept"), std::string::npos);
  fs::permissions(folder_, fs::perms(0755));
  // A device, a pipe or a link among the tables is passed over.
  ASSERT_EQ(::mkfifo((place_.directory + "/pipe.json").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", place_.directory + "/zero.json");
  EXPECT_EQ(names(place_), std::vector{place_.file});
}

TEST_F(TableStoreTest, WhatThisVersionCannotReadStays) {
  EXPECT_EQ(store({rule(1, 10)}), "");
  std::ifstream stream(place_.file);
  TableJson json = TableJson::parse(stream);
  json["rules"].push_back({{"operation", "bcast"}, {"algorithm", "of_next_year"}});
  std::ofstream(place_.file) << json;
  EXPECT_EQ(store({rule(1, 11)}), "");
  const Table table = stored();
  EXPECT_EQ(table.rules.size(), 1u);
  EXPECT_EQ(table.rules[0].chosen.time_us, 11);
  EXPECT_EQ(table.disabled.size(), 1u);
}

TEST_F(TableStoreTest, ADamagedFileIsPutAside) {
  EXPECT_EQ(store({rule(1, 10)}), "");
  std::ofstream(place_.file) << "{\"schema\": ";
  const std::string message = store({rule(2, 20)});
  EXPECT_NE(message.find("is called .damaged now"), std::string::npos);
  EXPECT_EQ(message.find("not kept"), std::string::npos) << "it is kept";
  EXPECT_EQ(stored().rules.size(), 1u);
  EXPECT_TRUE(fs::exists(place_.file + ".damaged"));
}

TEST_F(TableStoreTest, WhatCannotBeWrittenIsSaid) {
  const std::string file = folder_ + "/file";
  std::ofstream(file) << "x";
  const StorePlace below = store_place(file, "m", "n", *patterns::Layout::parse("8"));
  EXPECT_NE(store_rules(below, {}, {rule(1, 1)}).problem.find("cannot be written: Not a directory"),
            std::string::npos);
  EXPECT_EQ(store_rules({}, {}, {rule(1, 1)}).problem, "") << "nothing is to be kept";
}

// Processes that write over one another all the time, and one that reads: every rule is there in the end, and
// no half of a file is ever seen.
TEST_F(TableStoreTest, JobsAtTheSameTimeLoseNothing) {
  constexpr int writers = 6, rounds = 12;
  std::vector<pid_t> children;
  for (int w = 0; w < writers; ++w) {
    const pid_t child = ::fork();
    if (child == 0) {
      bool is_well = true;
      for (int r = 0; r < rounds; ++r) {
        is_well = is_well && store({rule(1 + w * rounds + r, 1), rule(1000, w + 1, "barrier")}).empty();
      }
      ::_exit(is_well ? 0 : 1);
    }
    children.push_back(child);
  }
  std::size_t seen = 0;
  while (!children.empty()) {
    if (fs::exists(place_.file)) {
      const ReadTable read = table_from_file(place_.file);
      EXPECT_EQ(read.problem, "");
      EXPECT_GE(read.table.rules.size(), seen);
      seen = read.table.rules.size();
    }
    int status = 0;
    if (::waitpid(children.back(), &status, WNOHANG) == 0) continue;
    EXPECT_EQ(status, 0);
    children.pop_back();
  }
  std::set<std::int64_t> nodes;
  for (const Rule& found : stored().rules) nodes.insert(found.when.nodes.first);
  EXPECT_EQ(nodes.size(), static_cast<std::size_t>(writers * rounds + 1));
  EXPECT_EQ(stored().rules.size(), nodes.size());
  for (const auto& entry : fs::directory_iterator(place_.directory)) {
    EXPECT_TRUE(entry.path() == place_.file || entry.path().filename() == ".lock") << entry.path();
  }
}

}  // namespace
}  // namespace unisono::tuning
