// SPDX-License-Identifier: BSD-3-Clause
// Records of jobs that died in an algorithm: what a file of them says, whoever has written what into it.
#include "tuning/decisions/crash_records.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "questions.h"

namespace unisono::tuning {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t a_day = 24 * 60 * 60;

Crash crash(const std::string& algorithm, std::int64_t time = a_day, const std::string& id = "node:1:1") {
  return {.place = {.program = "solver", .machine = "a CPU", .mpi = "Open MPI 5.0.11", .unisono = "1.2"},
          .host = "node",
          .rank = 3,
          .ranks = 8,
          .id = id,
          .time = time,
          .signal = "SIGSEGV",
          .operation = "allreduce",
          .algorithm = algorithm,
          .bytes = 65536};
}

std::vector<std::string> names(const std::vector<Crash>& crashes) {
  std::vector<std::string> list;
  for (const Crash& c : crashes) list.push_back(c.place.program + " " + c.algorithm + " " + c.date());
  return list;
}

using Names = std::vector<std::string>;

TEST(CrashRecords, ALineComesBackAsItWasWritten) {
  Crash written = crash("ring(segment=65536,window=2)");
  written.place.program = "a \"name\"\nwith\ttoo much";
  const ReadCrashes read = crashes_from(written.line());
  ASSERT_EQ(read.crashes.size(), 1u);
  EXPECT_EQ(read.malformed, 0);
  const Crash& back = read.crashes[0];
  EXPECT_EQ(back.place, written.place);
  EXPECT_EQ(back.line(), written.line());
  EXPECT_EQ(back.name(), "ring");
  EXPECT_EQ(back.date(), "1970-01-02");
  EXPECT_EQ(written.line().find('\n'), written.line().size() - 1);
}

TEST(CrashRecords, WhatIsNoRecordIsCountedAndLeftOut) {
  const std::string good = crash("ring").line();
  const std::string text = "\n" + good + "nothing\n{\"program\": 3}\n[1]\n" +
                           good.substr(0, good.size() / 2) + "\n{\"withdrawn\": 7}\n" +
                           crash("chain").line().substr(0, 40);
  const ReadCrashes read = crashes_from(text);
  EXPECT_EQ(names(read.crashes), Names{"solver ring 1970-01-02"});
  EXPECT_EQ(read.malformed, 6);
}

TEST(CrashRecords, TheNewestOfEachAlgorithmIsKept) {
  Crash elsewhere = crash("ring(segment=2)", 5 * a_day);
  elsewhere.place.program = "other";
  const std::string text = crash("ring(segment=1)", 9 * a_day).line() +
                           crash("ring(segment=2)", 2 * a_day).line() + elsewhere.line() +
                           crash("chain", 3 * a_day).line();
  EXPECT_EQ(names(crashes_from(text).crashes),
            (Names{"solver chain 1970-01-04", "other ring(segment=2) 1970-01-06",
                   "solver ring(segment=1) 1970-01-10"}));
}

// In the others the MPI itself may fall when a rank is gone, inside whatever they were at.
TEST(CrashRecords, OfAJobTheFirstAloneCounts) {
  Crash first = crash("ring", 2 * a_day, "node:7:1"), second = crash("chain", a_day, "node:8:1");
  first.job = second.job = "node:6:1";
  Crash of_another_job = crash("tree", a_day, "node:9:1");
  of_another_job.job = "node:9:1";
  const std::string text = first.line() + second.line() + of_another_job.line();
  EXPECT_EQ(names(crashes_from(text).crashes), (Names{"solver tree 1970-01-02", "solver ring 1970-01-03"}));
  EXPECT_EQ(crashes_from(text).crashes[1].job, "node:6:1");
  // A record that was taken back is nobody's first.
  EXPECT_EQ(names(crashes_from(text + withdrawal_line("node:7:1")).crashes),
            (Names{"solver chain 1970-01-02", "solver tree 1970-01-02"}));
}

TEST(CrashRecords, AProcessMayTakeItsRecordBack) {
  const std::string text = crash("ring", a_day, "node:1:1").line() +
                           crash("chain", a_day, "node:2:1").line() + withdrawal_line("node:1:1");
  EXPECT_EQ(names(crashes_from(text).crashes), Names{"solver chain 1970-01-02"});
}

TEST(CrashRecords, LeaveAlgorithmsOutOfDecisions) {
  Crash unknown = crash("no_such_algorithm"), of_later = crash("ring");
  of_later.operation = "no_such_operation";
  const LeftOut left_out = left_out_by({crash("ring(segment=65536)"), unknown, of_later});
  ASSERT_EQ(left_out.size(), 1u);
  Question asked = question(Operation::allreduce, "8", 65536);
  const Choice ring{.algorithm = algorithms::find(Operation::allreduce, "ring")};
  EXPECT_EQ(why_not_taken(ring, asked), "");
  asked.left_out = &left_out;
  const std::string why = "is quarantined: a job of 1970-01-02 died of SIGSEGV inside it";
  EXPECT_EQ(why_not_taken(ring, asked), why);
  EXPECT_EQ(why_not_taken({}, asked), "");  // the MPI's own never is
  // A word of the user's does not lift it.
  std::vector<std::string> warnings;
  Decider decider;
  decider.set_forced(make_forced("allreduce:ring", &warnings));
  const Choice choice = decider.decide(asked);
  EXPECT_EQ(choice.name(), "native");
  EXPECT_NE(choice.reason.find("allreduce:ring was forced but " + why), std::string::npos) << choice.reason;
  ASSERT_EQ(decider.take_warnings().size(), 1u);
}

class CrashFileTest : public ::testing::Test {
 protected:
  CrashFileTest() { fs::create_directories(folder_); }
  ~CrashFileTest() override { fs::remove_all(folder_); }
  void write(const std::string& text) const { std::ofstream(file_) << text; }

  const std::string folder_ =
      fs::temp_directory_path() / ("crash_records_test." + std::to_string(::getpid()));
  const std::string file_ = crash_file(folder_);
};

TEST_F(CrashFileTest, NoFileHasNoRecords) {
  EXPECT_TRUE(read_crashes(file_).crashes.empty());
  EXPECT_TRUE(read_crashes(crash_file("")).crashes.empty());
  EXPECT_EQ(crash_file(""), "");
  std::string problem = "none";
  EXPECT_EQ(forget_crashes(file_, "", &problem), 0u);
}

TEST_F(CrashFileTest, AFileThatHasGrownIsWrittenAnew) {
  std::string text = "nothing\n";
  for (int i = 0; i < 1000; ++i) text += crash("ring", i * a_day).line();
  write(text);
  EXPECT_EQ(read_crashes(file_).malformed, 1);
  EXPECT_EQ(file_text(file_), crash("ring", 999 * a_day).line());
  EXPECT_EQ(names(read_crashes(file_).crashes), Names{"solver ring 1972-09-26"});
  EXPECT_EQ(read_crashes(file_).malformed, 0);
}

TEST_F(CrashFileTest, AProgramsRecordsAreForgotten) {
  Crash other = crash("ring");
  other.place.program = "other";
  write(crash("ring").line() + other.line() + crash("chain").line());
  std::string problem;
  EXPECT_EQ(forget_crashes(file_, "solver", &problem), 2u);
  EXPECT_EQ(names(read_crashes(file_).crashes), Names{"other ring 1970-01-02"});
  EXPECT_EQ(forget_crashes(file_, "solver", &problem), 0u);
  EXPECT_EQ(forget_crashes(file_, "", &problem), 1u);
  EXPECT_EQ(problem, "");
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(CrashFileTest, NeitherLinksNorPipesAreFollowed) {
  const std::string victim = folder_ + "/victim";
  std::ofstream(victim) << crash("ring").line();
  fs::create_symlink(victim, file_);
  EXPECT_TRUE(read_crashes(file_).crashes.empty());
  EXPECT_NE(read_crashes(file_).problem, "");
  fs::remove(file_);
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  EXPECT_NE(read_crashes(file_).problem.find("is no regular file"), std::string::npos);
}

TEST_F(CrashFileTest, ManyProcessesAppendAtOnce) {
  constexpr int processes = 8, lines = 200;
  for (int p = 0; p < processes; ++p) {
    if (::fork() != 0) continue;
    for (int i = 0; i < lines; ++i) {
      std::ofstream file(file_, std::ios::app);
      file << crash("algorithm" + std::to_string(p * lines + i)).line() << std::flush;
    }
    ::_exit(0);
  }
  while (::wait(nullptr) > 0) {
  }
  const ReadCrashes read = read_crashes(file_);
  EXPECT_EQ(read.crashes.size(), static_cast<std::size_t>(processes * lines));
  EXPECT_EQ(read.malformed, 0);
}

}  // namespace
}  // namespace unisono::tuning
