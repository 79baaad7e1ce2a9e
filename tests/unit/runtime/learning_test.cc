// SPDX-License-Identifier: BSD-3-Clause
// Learning in whole jobs over the fake host (S2-S5): ranks are threads, whose own times differ as they like.
#include <map>
#include <random>
#include <set>
#include <thread>

#include "../seed.h"
#include "learning_program.h"

namespace unisono::runtime::learning_test {
namespace {

// Time lines begin with the first call, go forward, and tell what ran.
void expect_consistent(const Json& learned) {
  const Json& timeline = learned["timeline"];
  ASSERT_FALSE(timeline.empty());
  EXPECT_EQ(timeline[0]["call"], 0);
  for (std::size_t i = 1; i < timeline.size(); ++i) {
    EXPECT_GT(timeline[i]["call"], timeline[i - 1]["call"]);
    EXPECT_FALSE(timeline[i]["why"].get<std::string>().empty());
  }
  std::map<std::string, std::uint64_t> calls;
  for (std::size_t i = 0; i < timeline.size(); ++i) {
    const std::uint64_t end = i + 1 < timeline.size() ? timeline[i + 1]["call"].get<std::uint64_t>()
                                                      : learned["calls"].get<std::uint64_t>();
    calls[timeline[i]["algorithm"]] += end - timeline[i]["call"].get<std::uint64_t>();
  }
  for (const Json& candidate : learned["candidates"])
    EXPECT_EQ(calls[candidate["algorithm"]], candidate["calls"]) << learned.dump(1);
}

TEST_F(LearningTest, RanksChooseAlikeWhateverTheirTimesAre) {
  for (const char* mode : {"star", "auto"}) {
    for (const char* nodes : {"", "2,3", "5x1"}) {
      options_.learn = mode;
      options_.learn_iterations = 2;
      options_.learn_budget = 100;
      options_.nodes = nodes;
      constexpr int size = 5;
      FakeWorld world(size, {.seed = seed(), .max_delay = 4});
      std::vector<std::vector<Outcome>> outcomes(size);
      world.run([&](FakeHost& host, int rank) {
        std::mt19937 random(seed() + static_cast<unsigned>(rank));
        std::uniform_real_distribution<double> time(1e-7, 1e-3);
        Job job(host, options_);
        LearningRank me{job, host, rank, size};
        for (int i = 0; i < 150; ++i) {
          if (random() % 8 == 0) std::this_thread::sleep_for(std::chrono::microseconds(random() % 50));
          me.call(Operation::allreduce, 3, true, time(random));
          me.call(Operation::bcast, 300, true, time(random));
          me.call(Operation::barrier, 0, true, time(random));
        }
        job.finish();
        outcomes[static_cast<std::size_t>(rank)] = me.outcomes;
      });
      for (const auto& of_rank : outcomes) EXPECT_EQ(of_rank, outcomes[0]) << mode << ' ' << nodes;
      const Json learning = report()["learning"];
      EXPECT_EQ(learning.size(), 3u);
      for (const Json& learned : learning) {
        expect_consistent(learned);
        const char* whose = learned["operation"] == "bcast" ? "longest" : "shortest";
        EXPECT_EQ(learned["compared"], std::string(mode) == "star" ? "mean" : whose);
        EXPECT_EQ(learned["calls"], 150);
        EXPECT_GT(learned["agreements"], 0);
      }
    }
  }
}

TEST_F(LearningTest, StarTriesAllAndTheGuardFindsTheHosts) {
  constexpr int size = 4;
  for (const char* mode : {"star", "auto"}) {
    options_.learn = mode;
    run_jobs(size, [&](Job& job, FakeHost& host, int rank) {
      LearningRank me{job, host, rank, size};
      // The host is the fastest by far.
      for (int i = 0; i < 20000; ++i) me.call(Operation::allreduce, 3, true, 1e-9);
    });
    const Json learned = report()["learning"][0];
    const Json first = std::string(mode) == "star" ? Json("native") : learned["usual"];
    EXPECT_EQ(learned["timeline"][0]["algorithm"], first);
    EXPECT_EQ(learned["chosen"], "native") << learned.dump(1);
    if (std::string(mode) == "star") {
      EXPECT_TRUE(learned["untried"].empty());
      for (const Json& candidate : learned["candidates"]) EXPECT_EQ(candidate["measured_calls"], 10);
    } else {
      EXPECT_FALSE(learned["untried"].empty());
      EXPECT_GT(learned["candidates"][0]["measured_calls"], 0);
    }
  }
}

// The source's rule: of each call the mean over the ranks, of these the least. Here the ranks take turns in
// finding the host's collective done at once. Many iterations take more than one fused operation to agree.
TEST_F(LearningTest, StarGoesByTheRanksMean) {
  constexpr int size = 3;
  options_.learn = "star";
  for (const char* nodes : {"", "3x1"}) {
    for (const int iterations : {3, 200}) {
      options_.nodes = nodes;
      options_.learn_iterations = iterations;
      run_jobs(size, [&](Job& job, FakeHost& host, int rank) {
        LearningRank me{job, host, rank, size};
        int calls = 0;
        for (int i = 0; i < 40 * iterations; ++i, ++calls)
          me.call(Operation::allreduce, 3, true, (calls + rank) % size == 0 ? 0 : calls % 3 == 1 ? 3.0 : 6.0);
      });
      const Json learned = report()["learning"][0];
      const Json& native = learned["candidates"][0];
      EXPECT_EQ(native["algorithm"], "native");
      EXPECT_EQ(native["measured_calls"], iterations);
      EXPECT_NEAR(native["time_s"].get<double>(), 2.0, 1e-6) << "(0 + 3 + 3) / 3";
      EXPECT_NE(learned["chosen"], "native");
      EXPECT_EQ(learned["compared"], "mean");
    }
  }
}

TEST_F(LearningTest, TheHostIsTriedAFewTimesWhereItIsSlow) {
  options_.learn = "auto";
  constexpr int size = 3;
  FakeWorld world(size);
  std::array<int, size> left{};
  run_jobs(world, [&](Job& job, FakeHost& host, int rank) {
    LearningRank me{job, host, rank, size};
    for (int i = 0; i < 20000; ++i) {
      if (me.call(Operation::allreduce, 3, true, 0.5) != Outcome::done)
        ++left[static_cast<std::size_t>(rank)];
    }
    // Calls that do not block follow.
    EXPECT_EQ(me.call(Operation::allreduce, 3, false), Outcome::done);
  });
  // A trial or a few, whose number depends on how busy this machine is: the budget of these tests is large.
  EXPECT_EQ(left[1], left[0]);
  EXPECT_EQ(left[2], left[0]);
  EXPECT_GE(left[0], 1);
  EXPECT_LE(left[0], 100);
  EXPECT_NE(report()["learning"][0]["chosen"], "native");
}

TEST_F(LearningTest, TheNextJobBeginsWithWhatWasLearned) {
  options_.cache = folder_ + "/cache";
  const auto run = [&](const char* mode, int calls) {
    options_.learn = mode;
    run_jobs(3, [&](Job& job, FakeHost& host, int rank) {
      LearningRank me{job, host, rank, 3};
      for (int i = 0; i < calls; ++i) me.call(Operation::allreduce, 3, true, 3e-4);
      // Where the host is ahead of all.
      for (int i = 0; i < calls; ++i) me.call(Operation::bcast, 300, true, 1e-9);
    });
  };
  run("auto", 20000);
  std::map<std::string, std::string> chosen;
  const Json first = report()["learning"];
  for (const Json& learned : first) chosen[learned["operation"]] = learned["chosen"];
  EXPECT_NE(chosen["allreduce"], "native");
  EXPECT_EQ(chosen["bcast"], "native") << first.dump(1);
  take_for_a_quiet_day();
  // Another that learns: from the first call on.
  run("auto", 5);
  const Json second = report()["learning"];
  ASSERT_EQ(second.size(), 2u);
  for (const Json& learned : second) {
    EXPECT_EQ(learned["timeline"][0]["why"], "learned by an earlier job") << learned.dump(1);
    EXPECT_EQ(learned["timeline"][0]["algorithm"], chosen[learned["operation"]]);
  }
  // And one that does not: its table has it.
  run("off", 5);
  const Json third = report();
  for (const Json& row : third["classes"]) {
    EXPECT_EQ(row["source"], "learned") << row.dump(1);
    EXPECT_EQ(row["algorithm"], chosen[row["operation"]]);
  }
}

TEST_F(LearningTest, ItBeginsWithWhatATableHasMeasured) {
  const std::string file = folder_ + "/tuned.json";
  std::ofstream(file) << R"({"schema": "unisono-table", "version": 1, "rules": [
    {"operation": "allreduce", "bytes": [1, 1024], "nodes": [1, 1], "ranks_per_node": [3, 3], "algorithm": "ring",
     "origin": "measured", "time_us": 50, "others": [{"algorithm": "native", "time_us": 60}]},
    {"operation": "bcast", "algorithm": "binomial"}]})";
  options_.table = file;
  options_.learn = "auto";
  run_jobs(3, [&](Job& job, FakeHost& host, int rank) {
    LearningRank me{job, host, rank, 3};
    for (int i = 0; i < 5; ++i) me.call(Operation::allreduce, 3);
    for (int i = 0; i < 5; ++i) me.call(Operation::bcast, 3);
  });
  std::map<std::string, Json> first;
  const Json all = report()["learning"];
  for (const Json& learned : all) first[learned["operation"]] = learned["timeline"][0];
  EXPECT_EQ(first["allreduce"]["algorithm"], "ring") << all.dump(1);
  EXPECT_EQ(first["allreduce"]["why"], "measured before: " + file + " rule 1");
  // A rule without times says what to use.
  EXPECT_EQ(first["bcast"]["algorithm"], "binomial");
  EXPECT_EQ(first["bcast"]["why"], "what is used without learning");
}

// Where nothing is set and no report asked for; rank 0, which keeps it, is not among those who learned it.
TEST_F(LearningTest, WithoutAReportItIsKeptAsWell) {
  options_.cache = folder_ + "/cache";
  const auto run = [&](int calls) {
    run_jobs(4, [&](Job& job, FakeHost& host, int rank) {
      host::Comm part{};
      host.comm_split(host.world(), rank == 0 ? 0 : 1, rank, &part);
      LearningRank me{job, host, rank - 1, 3, part};
      for (int i = 0; rank > 0 && i < calls; ++i) me.call(Operation::allreduce, 3, true, 0.5);
      job.finish();
      host.comm_free(&part);
    });
  };
  // On a busy machine a job may learn nothing that is worth keeping: then another one may.
  Json rows;
  for (int job = 0; job < 20 && (rows.empty() || rows[0]["source"] != "learned"); ++job) {
    options_.learn = Options().learn;
    options_.report = "";
    run(20000);
    take_for_a_quiet_day();
    options_.learn = "off";
    options_.report = folder_ + "/report.json";
    run(5);
    rows = report()["classes"];
    ASSERT_EQ(rows.size(), 1u);
  }
  EXPECT_EQ(rows[0]["source"], "learned") << rows[0].dump(1);
}

TEST_F(LearningTest, WhatIsForcedIsNotLearned) {
  options_.learn = "star";
  options_.algorithm = "allreduce:ring";
  run_jobs(3, [&](Job& job, FakeHost& host, int rank) {
    LearningRank me{job, host, rank, 3};
    for (int i = 0; i < 30; ++i) EXPECT_EQ(me.call(Operation::allreduce, 3), Outcome::done);
  });
  EXPECT_TRUE(report()["learning"].empty());
}

TEST_F(LearningTest, OnlySoManySizesOfAnOperationAreLearned) {
  options_.learn = "star";
  options_.learn_sizes = 2;
  run_jobs(2, [&](Job& job, FakeHost& host, int rank) {
    LearningRank me{job, host, rank, 2};
    for (std::size_t count = 1; count < 100; count *= 2) {
      for (int i = 0; i < 5; ++i) me.call(Operation::allreduce, count);
      me.call(Operation::bcast, count);
    }
  });
  EXPECT_EQ(report()["learning"].size(), 4u);
}

TEST_F(LearningTest, ReproducibleReductionsAreLearnedAmongWhatKeepsTheOrder) {
  options_.learn = "star";
  options_.is_reproducible = true;
  run_jobs(4, [&](Job& job, FakeHost& host, int rank) {
    LearningRank me{job, host, rank, 4};
    for (int i = 0; i < 300; ++i) EXPECT_EQ(me.call(Operation::allreduce, 3), Outcome::done);
  });
  const Json learned = report()["learning"][0];
  EXPECT_GT(learned["candidates"].size(), 3u);
  for (const Json& candidate : learned["candidates"]) {
    const algorithms::Descriptor* d =
        algorithms::find(Operation::allreduce, candidate["algorithm"].get<std::string>());
    ASSERT_NE(d, nullptr);
    EXPECT_TRUE(d->legality.keeps_one_order) << d->name;
  }
}

TEST_F(LearningTest, RegionsAreLearnedApart) {
  options_.learn = "star";
  options_.learn_iterations = 1;
  run_jobs(3, [&](Job& job, FakeHost& host, int rank) {
    LearningRank me{job, host, rank, 3};
    // Three in one region, two in another, again and again.
    for (int round = 0; round < 200; ++round) {
      job.begin_region("solve");
      for (int i = 0; i < 3; ++i) me.call(Operation::allreduce, 3);
      job.begin_region("inner");
      for (int i = 0; i < 2; ++i) me.call(Operation::allreduce, 3);
      job.end_region();
      job.end_region();
    }
  });
  std::map<std::string, int> calls;
  const Json all = report();
  for (const Json& learned : all["learning"]) {
    calls[learned["region"]] += learned["calls"].get<int>();
    expect_consistent(learned);
  }
  EXPECT_EQ(calls[""] + calls["solve"] + calls["inner"], 1000);
  EXPECT_GT(calls["inner"], 300);
  EXPECT_GT(calls["solve"], 450);
}

TEST_F(LearningTest, RegionsHaveNamesInAnyEncodingAndAnEnd) {
  options_.learn = "auto";
  run_jobs(2, [](Job& job, FakeHost& host, int rank) {
    LearningRank me{job, host, rank, 2};
    job.begin_region("L\xf6sung");
    for (int i = 0; i < 300; ++i) me.call(Operation::allreduce, 3);
    job.end_region();
    job.begin_region("rest");
  });
  std::set<std::string> regions;
  const Json found = report();
  for (const Json& row : found["learning"]) regions.insert(row.value("region", ""));
  EXPECT_TRUE(regions.contains("L\xef\xbf\xbdsung")) << found["learning"].dump(1);
  EXPECT_EQ(found["warnings"], Json({"region 'rest' was begun and never ended (unisono_region_end)"}));
}

TEST_F(LearningTest, WhereRanksNameDifferentRegionsNothingBreaks) {
  options_.learn = "star";
  options_.learn_iterations = 1;
  constexpr int size = 3;
  FakeWorld world(size);
  std::vector<std::vector<Outcome>> outcomes(size);
  world.run([&](FakeHost& host, int rank) {
    std::mt19937 random(seed() + static_cast<unsigned>(rank));
    Job job(host, options_);
    LearningRank me{job, host, rank, size};
    int depth = 0;
    for (int i = 0; i < 400; ++i) {
      // Together for a while, then each on its own.
      if (i < 100) {
        job.begin_region("all");
        ++depth;
      } else if (random() % 3 == 0) {
        job.begin_region(random() % 2 == 0 ? "one" : "two");
        ++depth;
      } else if (depth > 0 && random() % 2 == 0) {
        job.end_region();
        --depth;
      }
      me.call(Operation::allreduce, 3);
    }
    job.finish();
    outcomes[static_cast<std::size_t>(rank)] = me.outcomes;
  });
  for (const auto& of_rank : outcomes) EXPECT_EQ(of_rank, outcomes[0]);
}

TEST_F(LearningTest, CommunicatorsThatEndAreReported) {
  options_.learn = "star";
  options_.learn_iterations = 1;
  run_jobs(4, [&](Job& job, FakeHost& host, int rank) {
    for (int round = 0; round < 3; ++round) {
      host::Comm part{};
      host.comm_split(host.world(), rank % 2, rank, &part);
      std::int64_t in = 1, out = 0;
      for (int i = 0; i < 50; ++i) {
        const Call call = sum_call(part, &in, &out, 1);
        int error = 0;
        const Outcome outcome = job.collective(call, &error);
        if (outcome == Outcome::done) {
          EXPECT_EQ(out, 2);
        }
        if (outcome == Outcome::native_timed) BlockingCalls::native_finished(1e-6);
      }
      host.comm_free(&part);
    }
  });
  EXPECT_EQ(report()["learning"].size(), 6u);
}

}  // namespace
}  // namespace unisono::runtime::learning_test
