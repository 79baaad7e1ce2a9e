// SPDX-License-Identifier: BSD-3-Clause
// Algorithms that crash (B9), over the fake host. Real faults in calls of each kind are recorded with the
// algorithm. A job that finds the record leaves the algorithm out on all ranks.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "base/program_name.h"
#include "program.h"
#include "runtime/call/crash_site.h"
#include "runtime/decisions/crash_watch.h"
#include "tuning/decisions/crash_records.h"
#include "tuning/tables/table_store.h"

namespace unisono::runtime::crashes_test {
namespace {

namespace fs = std::filesystem;
using ::testing::KilledBySignal;

constexpr int size = 4;
constexpr std::size_t page_bytes = 4096, most_bytes = std::size_t{1} << 20;

class CrashesTest : public ReportedTest {
 protected:
  CrashesTest() {
    options_.site_table = "";
    options_.cache = folder_ + "/cache";
  }

  std::string file() const { return tuning::crash_file(folder_ + "/cache"); }
  // "operation:algorithm" of all records.
  std::vector<std::string> recorded() const {
    std::vector<std::string> list;
    for (const tuning::Crash& crash : tuning::read_crashes(file()).crashes)
      list.push_back(crash.operation + ":" + std::string(crash.name()));
    return list;
  }
  void write_record(const std::string& operation, const std::string& algorithm,
                    const tuning::CrashPlace& place) const {
    const tuning::Crash crash{.place = place,
                              .time = 24 * 60 * 60,
                              .signal = "SIGBUS",
                              .operation = operation,
                              .algorithm = algorithm};
    fs::create_directories(fs::path(file()).parent_path());
    std::ofstream(file(), std::ios::app) << crash.line();
  }
  // As jobs of this test have it.
  tuning::CrashPlace here() const {
    tuning::CrashPlace place{.program = program_name(), .machine = tuning::machine_name()};
    FakeWorld world(1);
    world.run([&](FakeHost& host, int) {
      place.mpi = host.library_name();
      place.unisono = Job(host, options_).crash_facts()->known.place.unisono;
    });
    return place;
  }

  // One allreduce of each size; the report.
  Json run(const std::vector<std::size_t>& counts) const {
    run_jobs(size, [&](Job& job, FakeHost& host, int rank) {
      for (const std::size_t count : counts) {
        std::vector<std::int64_t> in(count, rank), out(count, -1);
        int error = 0;
        if (job.collective(sum(host, in.data(), out.data(), count), &error) == Outcome::done) {
          EXPECT_EQ(out, std::vector<std::int64_t>(count, size * (size - 1) / 2));
        }
      }
    });
    return report();
  }
  static Call sum(FakeHost& host, const void* in, void* out, std::size_t count) {
    return sum_call(host.world(), static_cast<const std::int64_t*>(in), static_cast<std::int64_t*>(out),
                    count);
  }
  // A job whose last rank dies in what `body` does, as a program of its own would.
  template <class Body>
  void die(FakeWorld& world, Body body) {
    for (const int number : {SIGSEGV, SIGBUS}) ::signal(number, SIG_DFL);
    options_.log = "warning";
    run_jobs(world, [&](Job& job, FakeHost& host, int rank) {
      if (rank + 1 == size) begin_crash_watch(*job.crash_facts());
      body(host, job, rank);
    });
  }
};

// Memory that faults where it is touched, for a call's result on the last rank: the program's own fault,
// whatever algorithm touches it.
char* no_memory() {
  return static_cast<char*>(::mmap(nullptr, most_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
}

struct Case {
  const char* name;
  std::size_t count;
  std::string algorithm;  // forced
  std::string nodes;
  bool is_blocking;
  int healthy_calls;  // before the one that dies: they are remembered
};
const Case cases[] = {
    {"Fused", 1, "fused", "", true, 0},
    {"FusedRemembered", 1, "fused", "", true, 3},
    {"Scheduled", 10000, "shared", "", true, 0},
    {"ScheduledRemembered", 10000, "shared", "", true, 3},
    {"Messages", 10000, "ring", "2,2", true, 0},
    {"Composed", 10000, "two_level_ring", "2,2", true, 0},
    {"NonBlocking", 10000, "shared", "", false, 0},
    {"NonBlockingMessages", 10000, "recursive_doubling", "2,2", false, 2},
};

class CrashingCallTest : public CrashesTest, public ::testing::WithParamInterface<Case> {};

std::string programs_fault(const std::string& algorithm) {
  return "rank 3 gets SIGSEGV inside " + algorithm + ".*the program's fault";
}

TEST_P(CrashingCallTest, IsTheProgramsFaultAndARecordOfOneLeavesItOut) {
  const Case& c = GetParam();
  options_.algorithm = "allreduce:" + c.algorithm;
  options_.nodes = c.nodes;
  options_.progress = "calls";
  // Each rank takes its messages itself, as processes do: others' threads, which push what is not buffered,
  // know nothing of the buffers that its call was given.
  FakeWorld world(size, {.eager_limit_bytes = most_bytes});
  const auto die_in_a_call = [&] {
    die(world, [&](FakeHost& host, Job& job, int rank) {
      const std::vector<std::int64_t> in(c.count, rank);
      std::vector<std::int64_t> out(c.count);
      for (int call = 0; call <= c.healthy_calls; ++call) {
        void* into =
            rank + 1 == size && call == c.healthy_calls ? no_memory() : reinterpret_cast<char*>(out.data());
        int error = 0;
        if (c.is_blocking) {
          job.collective(sum(host, in.data(), into, c.count), &error);
        } else {
          start_and_wait(job, sum(host, in.data(), into, c.count), &error);
        }
      }
    });
  };
  EXPECT_EXIT(die_in_a_call(), KilledBySignal(SIGSEGV), programs_fault("allreduce:" + c.algorithm));
  EXPECT_TRUE(recorded().empty());
  write_record("allreduce", c.algorithm, here());
  const Json report = run({c.count});
  ASSERT_FALSE(report["classes"].empty());
  for (const auto& row : report["classes"]) {
    EXPECT_NE(row["algorithm"], c.algorithm);
    EXPECT_NE(row["reason"].get<std::string>().find("was forced but is quarantined: a job of "),
              std::string::npos)
        << row;
  }
}

INSTANTIATE_TEST_SUITE_P(All, CrashingCallTest, ::testing::ValuesIn(cases),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_F(CrashesTest, UnevenBlocks) {
  // Short blocks through lines, and long ones by schedules.
  for (const int count : {8, 20000}) {
    FakeWorld world(size);
    const auto die_in_a_call = [&] {
      die(world, [&](FakeHost& host, Job& job, int rank) {
        const std::vector<int> counts(size, count), places = {0, count, 2 * count, 3 * count};
        std::vector<char> in(count, 'a'), out(size * static_cast<std::size_t>(count));
        const host::Datatype byte = fake_host::datatype(ElementType::byte);
        Call call{.operation = Operation::allgatherv, .comm = host.world()};
        call.send_blocks = {.buffer = in.data(), .count = in.size(), .type = byte};
        call.recv_blocks = {.buffer = rank + 1 == size ? no_memory() : out.data(),
                            .counts = counts.data(),
                            .displacements = places.data(),
                            .type = byte};
        int error = 0;
        job.collective(call, &error);
      });
    };
    EXPECT_EXIT(die_in_a_call(), KilledBySignal(SIGSEGV), programs_fault("allgatherv:"));
    EXPECT_TRUE(recorded().empty());
  }
}

// The program stays away from the call, which the thread beside it carries on.
TEST_F(CrashesTest, InTheProgressThread) {
  options_.algorithm = "allreduce:shared";
  FakeWorld world(size);
  const auto die_aside = [&] {
    die(world, [&](FakeHost& host, Job& job, int rank) {
      const std::vector<std::int64_t> in(10000, rank);
      std::vector<std::int64_t> out(in.size());
      const bool is_last = rank + 1 == size;
      int error = 0;
      if (!is_last) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        start_and_wait(job, sum(host, in.data(), out.data(), in.size()), &error);
        return;
      }
      const Completion nobody{[](void*, int) {}, nullptr};
      job.start(sum(host, in.data(), no_memory(), in.size()), nobody);
      std::this_thread::sleep_for(std::chrono::seconds(20));
    });
  };
  EXPECT_EXIT(die_aside(), KilledBySignal(SIGSEGV), programs_fault("allreduce:shared"));
  EXPECT_TRUE(recorded().empty());
}

TEST_F(CrashesTest, AnOperatorOfTheProgramIsNoAlgorithm) {
  options_.progress = "calls";
  FakeWorld world(size);
  std::atomic<int> calls{0};
  const host::Op op = world.add_op(
      [&](const void*, void*, std::size_t, host::Datatype) {
        EXPECT_EQ(this_thread.site.inside.load(), nullptr);
        ++calls;
      },
      true);
  run_jobs(world, [&](Job& job, FakeHost& host, int) {
    for (const std::size_t count : {std::size_t{1}, std::size_t{10000}}) {
      std::vector<std::int64_t> in(count), out(count);
      Call call = sum(host, in.data(), out.data(), count);
      call.op = op;
      int error = 0;
      EXPECT_EQ(job.collective(call, &error), Outcome::done);
      EXPECT_EQ(start_and_wait(job, call, &error), Outcome::done);
    }
    EXPECT_EQ(this_thread.site.inside.load(), nullptr);
  });
  EXPECT_GT(calls, 0);
}

TEST_F(CrashesTest, OnlyWhatDiedHereIsLeftOut) {
  const tuning::CrashPlace place = here();
  const std::string without = run({1, 10000})["classes"].dump();
  for (int other = 0; other < 4; ++other) {
    tuning::CrashPlace elsewhere = place;
    (other == 0   ? elsewhere.program
     : other == 1 ? elsewhere.machine
     : other == 2 ? elsewhere.mpi
                  : elsewhere.unisono) = "another one";
    for (const char* algorithm : {"fused", "shared", "ring"}) write_record("allreduce", algorithm, elsewhere);
  }
  const Json report = run({1, 10000});
  EXPECT_TRUE(report["warnings"].empty()) << report["warnings"];
  EXPECT_EQ(report["classes"].dump().find("quarantined"), std::string::npos) << report["classes"];
  write_record("allreduce", "fused", place);
  std::ofstream(file(), std::ios::app) << "no record\n";
  const Json left_out = run({1, 10000});
  EXPECT_EQ(left_out["classes"].dump().find("\"fused\""), std::string::npos) << left_out["classes"];
  ASSERT_EQ(left_out["warnings"].size(), 2u) << left_out["warnings"];
  EXPECT_NE(left_out["warnings"][0].get<std::string>().find("1 lines of"), std::string::npos);
  EXPECT_NE(left_out["warnings"][1].get<std::string>().find(
                "allreduce:fused is quarantined: a job of 1970-01-02 died of SIGBUS inside it"),
            std::string::npos);
  EXPECT_NE(
      left_out["classes"].dump().find("(fused is quarantined: a job of 1970-01-02 died of SIGBUS inside it)"),
      std::string::npos)
      << left_out["classes"];
  EXPECT_NE(without.find("\"fused\""), std::string::npos) << without;
}

TEST_F(CrashesTest, TheOptionEndsIt) {
  write_record("allreduce", "fused", here());
  options_.watches_crashes = false;
  const Json report = run({1});
  EXPECT_NE(report["classes"].dump().find("\"fused\""), std::string::npos) << report["classes"];
  FakeWorld world(1);
  world.run([&](FakeHost& host, int) { EXPECT_FALSE(Job(host, options_).crash_facts().has_value()); });
}

TEST_F(CrashesTest, LearningLeavesThemOut) {
  write_record("allreduce", "fused", here());
  options_.learn = "star";
  options_.learn_iterations = 2;
  const Json report = run(std::vector<std::size_t>(300, 1));
  EXPECT_FALSE(report["learning"].empty());
  EXPECT_EQ(report["learning"].dump().find("fused"), std::string::npos) << report["learning"];
}

}  // namespace
}  // namespace unisono::runtime::crashes_test
