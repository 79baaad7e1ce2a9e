// SPDX-License-Identifier: BSD-3-Clause
// Communicators of one job that are alike: what one has learned the next begins with, on all of its ranks.
#include <algorithm>
#include <filesystem>
#include <map>
#include <random>
#include <ranges>
#include <set>

#include "../seed.h"
#include "learning_program.h"

namespace unisono::runtime::learning_alike_test {
namespace {

constexpr const char* of_another = "learned on another communicator of this job";

// What was tried before anything made the communicator learn anew: busy machines do.
std::set<std::string> tried_at_first(const Json& learned) {
  std::set<std::string> tried;
  for (const Json& event : learned["timeline"]) {
    if (event["why"].get<std::string>().find("since") != std::string::npos) break;
    if (event["trial"].get<bool>()) tried.insert(event["algorithm"]);
  }
  return tried;
}

// Those of whose times a communicator knew something at its end.
std::set<std::string> known_at_end(const Json& learned) {
  std::set<std::string> known;
  for (const Json& candidate : learned["candidates"]) {
    if (!candidate["time_s"].is_null()) known.insert(candidate["algorithm"]);
  }
  return known;
}

class LearningAlikeTest : public LearningTest {
 protected:
  LearningAlikeTest() {
    options_.learn = "auto";
    options_.learn_factor = 64;
  }

  // Where a busy machine holds a communicator up it learns nothing, or learns anew, and has nothing to tell:
  // such a job is run once more.
  template <typename Job>
  bool is_so_in_some_job(Job is_so) {
    constexpr int most_jobs = 5;
    for (int job = 0; job < most_jobs; ++job) {
      std::filesystem::remove_all(folder_ + "/cache");  // what the last job has learned
      if (is_so()) return true;
    }
    return false;
  }

  // With what the communicators of the last job began.
  std::multiset<std::string> begins() const {
    std::multiset<std::string> all;
    const Json said = report();
    for (const Json& learned : said["learning"]) all.insert(learned["timeline"][0]["why"]);
    return all;
  }

  std::map<int, Json> learned_by_communicator() const {
    std::map<int, Json> all;
    const Json said = report();
    for (const Json& learned : said["learning"]) all[learned["communicator"]] = learned;
    return all;
  }
};

TEST_F(LearningAlikeTest, TheNextRowBeginsWithWhatTheFirstHasLearned) {
  constexpr int size = 2, rows = 4, calls = 1000;
  std::map<int, Json> by_row;
  const auto has_learned = [](const Json& learned) { return known_at_end(learned).size() >= 2; };
  EXPECT_TRUE(is_so_in_some_job([&] {
    FakeWorld world(size, {.seed = seed()});
    std::vector<std::vector<Outcome>> outcomes(size);
    run_jobs(world, [&](Job& job, FakeHost& host, int rank) {
      std::vector<host::Comm> parts(rows);
      for (host::Comm& part : parts) {
        host.comm_split(host.world(), 0, rank, &part);
        LearningRank me{job, host, rank, size, part};
        for (int i = 0; i < calls; ++i) me.call(Operation::allreduce, 20000, true, 5e-4);
        auto& own = outcomes[static_cast<std::size_t>(rank)];
        own.insert(own.end(), me.outcomes.begin(), me.outcomes.end());
      }
      job.finish();
      for (host::Comm& part : parts) host.comm_free(&part);
    });
    EXPECT_EQ(outcomes[0], outcomes[1]);
    by_row = learned_by_communicator();
    EXPECT_EQ(by_row.size(), std::size_t{rows});
    return std::ranges::all_of(std::views::values(by_row), has_learned);
  }));
  const Json* before = nullptr;
  for (const auto& [id, learned] : by_row) {
    const Json& first = learned["timeline"][0];
    if (before == nullptr) {
      EXPECT_EQ(first["why"], "what is used without learning");
    } else {
      EXPECT_EQ(first["why"], of_another);
      EXPECT_EQ(first["algorithm"], (*before)["chosen"]);
      // One of these is compared with the choice once more: the MPI's own, or what is used without learning.
      const std::set<std::string> known = known_at_end(*before);
      const auto usual = learned["usual"].get<std::string>();
      const std::set<std::string> rivals = {"native", usual.substr(0, usual.find('(')), first["algorithm"]};
      for (const std::string& tried : tried_at_first(learned))
        EXPECT_TRUE(!known.contains(tried) || rivals.contains(tried)) << tried << ' ' << learned.dump(1);
    }
    before = &learned;
  }
}

// Ranks of one row are in none of the others: the node's ranks tell each other.
TEST_F(LearningAlikeTest, RowsWithoutARankInCommonTellEachOther) {
  constexpr int size = 6, of_row = 2, calls = 1000;
  EXPECT_TRUE(is_so_in_some_job([&] {
    FakeWorld world(size, {.seed = seed()});
    std::vector<std::vector<Outcome>> outcomes(size);
    run_jobs(world, [&](Job& job, FakeHost& host, int rank) {
      host::Comm row{};
      host.comm_split(host.world(), rank / of_row, rank, &row);
      LearningRank me{job, host, rank % of_row, of_row, row};
      for (int turn = 0; turn < size / of_row; ++turn) {
        for (int i = 0; turn == rank / of_row && i < calls; ++i)
          me.call(Operation::allreduce, 20000, true, 5e-4);
        host.barrier(host.world());
      }
      outcomes[static_cast<std::size_t>(rank)] = me.outcomes;
      job.finish();
      host.comm_free(&row);
    });
    for (int rank = 0; rank < size; rank += of_row)
      EXPECT_EQ(outcomes[static_cast<std::size_t>(rank)], outcomes[static_cast<std::size_t>(rank) + 1]);
    EXPECT_EQ(begins().size(), 3u);
    return begins().count(of_another) == 2;
  })) << report()["learning"].dump(1);
}

// Calls on both alternate, and both would begin to learn at the same call: the second one waits for what the
// first one finds. It does not wait for long: where a busy machine holds the first one up it begins by
// itself.
TEST_F(LearningAlikeTest, OfCommunicatorsThatTakeTurnsOneLearnsFirst) {
  options_.learn_budget = 99;
  constexpr int size = 2, calls = 600;
  EXPECT_TRUE(is_so_in_some_job([&] {
    FakeWorld world(size, {.seed = seed()});
    std::vector<std::vector<Outcome>> outcomes(size);
    run_jobs(world, [&](Job& job, FakeHost& host, int rank) {
      std::vector<host::Comm> parts(3);
      std::vector<LearningRank> of_part;
      for (host::Comm& part : parts) {
        host.comm_split(host.world(), 0, rank, &part);
        of_part.push_back({job, host, rank, size, part});
      }
      for (int i = 0; i < calls; ++i) {
        for (LearningRank& me : of_part) me.call(Operation::allreduce, 20000, true, 5e-4);
      }
      for (const LearningRank& me : of_part) {
        auto& own = outcomes[static_cast<std::size_t>(rank)];
        own.insert(own.end(), me.outcomes.begin(), me.outcomes.end());
      }
      job.finish();
      for (host::Comm& part : parts) host.comm_free(&part);
    });
    EXPECT_EQ(outcomes[0], outcomes[1]);
    EXPECT_EQ(begins().size(), 3u);
    return begins().count(of_another) == 2;
  })) << report()["learning"].dump(1);
}

// In a grid a rank's row has learned one thing, and another rank's row another. A column's lowest rank that
// knows something tells the others, whatever these know.
TEST_F(LearningAlikeTest, RanksThatLearnedDifferentThingsBeginAlike) {
  options_.learn_factor = 2;
  constexpr int size = 4;
  for (const char* nodes : {"", "4x1"}) {
    options_.nodes = nodes;
    std::vector<Outcome> first(size), reversed(size), unknown(size), of_row(size);
    const auto run = [&](Job& job, FakeHost& host, int rank) {
      const auto at = static_cast<std::size_t>(rank);
      const auto with_part = [&](int color, int key, auto use) {
        host::Comm part{};
        host.comm_split(host.world(), color, key, &part);
        use(LearningRank{job, host, key % 2, 2, part});
        host.comm_free(&part);
      };
      // The MPI's own is the fastest by far in the first row, and the slowest by far in the second one.
      with_part(rank / 2, rank % 2, [&](LearningRank me) {
        const bool is_node = std::string(nodes).empty();
        const double native_s = rank < 2 ? 1e-9 : is_node ? 1e-4 : 2e-3;
        for (int i = 0; i < (is_node ? 20000 : 10000); ++i) me.call(Operation::allreduce, 3, true, native_s);
        of_row[at] = me.outcomes.back();
      });
      with_part(rank % 2, rank / 2, [&](LearningRank me) { first[at] = me.call(Operation::allreduce, 3); });
      with_part(rank % 2, 1 - rank / 2,
                [&](LearningRank me) { reversed[at] = me.call(Operation::allreduce, 3); });
      // Of another size nobody knows anything.
      with_part(rank % 2, rank / 2,
                [&](LearningRank me) { unknown[at] = me.call(Operation::allreduce, 1000); });
    };
    const auto is_native = [](Outcome outcome) { return outcome != Outcome::done; };
    const auto have_rows_learned = [&] {
      FakeWorld world(size, {.seed = seed()});
      run_jobs(world, run);
      return is_native(of_row[0]) && is_native(of_row[1]) && !is_native(of_row[2]) && !is_native(of_row[3]);
    };
    ASSERT_TRUE(is_so_in_some_job(have_rows_learned)) << nodes;
    for (std::size_t rank = 0; rank < size; ++rank) {
      EXPECT_TRUE(is_native(first[rank])) << rank << ' ' << nodes;
      EXPECT_FALSE(is_native(reversed[rank])) << rank << ' ' << nodes;
      EXPECT_FALSE(is_native(unknown[rank])) << rank << ' ' << nodes;
    }
  }
}

// The lowest rank has been in no such communicator: another one tells.
TEST_F(LearningAlikeTest, AnyRankThatKnowsSomethingTells) {
  options_.learn_factor = 2;
  FakeWorld world(3);
  std::vector<Outcome> last(3);
  run_jobs(world, [&](Job& job, FakeHost& host, int rank) {
    for (const int without : {0, 2}) {
      host::Comm part{};
      host.comm_split(host.world(), rank == without ? 1 : 0, rank, &part);
      LearningRank me{job, host, without == 0 ? rank - 1 : rank, 2, part};
      const int calls = rank == without ? 0 : without == 0 ? 20000 : 1;
      for (int i = 0; i < calls; ++i)
        last[static_cast<std::size_t>(rank)] = me.call(Operation::allreduce, 3, true, 1e-9);
      host.comm_free(&part);
    }
  });
  for (const Outcome outcome : last) EXPECT_NE(outcome, Outcome::done);
}

// Communicators come and go, with other ranks in each, and each rank's times are its own: on each of them all
// ranks do alike in each call.
TEST_F(LearningAlikeTest, RanksDoAlikeOnWhateverCommunicators) {
  options_.learn_iterations = 1;
  constexpr int size = 5, rounds = 25;
  for (const auto& [nodes, budget] : {std::pair{"", 100}, {"2,3", 99}, {"", 99}}) {
    options_.nodes = nodes;
    options_.learn_budget = budget;
    FakeWorld world(size, {.seed = seed(), .max_delay = 4});
    std::vector<std::map<std::pair<int, int>, std::vector<Outcome>>> outcomes(size);
    world.run([&](FakeHost& host, int rank) {
      std::mt19937 same(seed()), random(seed() + 1 + static_cast<unsigned>(rank));
      std::uniform_real_distribution<double> time(1e-7, 1e-3);
      Job job(host, options_);
      for (int round = 0; round < rounds; ++round) {
        std::vector<int> colors(size);
        for (int& color : colors) color = static_cast<int>(same() % 2);
        const int color = colors[static_cast<std::size_t>(rank)];
        const auto ranks = static_cast<int>(std::ranges::count(colors, color));
        const auto own = static_cast<int>(std::count(colors.begin(), colors.begin() + rank, color));
        host::Comm part{};
        host.comm_split(host.world(), color, rank, &part);
        LearningRank me{job, host, own, ranks, part};
        const int calls = 20 + static_cast<int>(same() % 200);
        for (int i = 0; i < calls; ++i) {
          me.call(Operation::allreduce, 3, true, time(random));
          me.call(Operation::bcast, 300, true, time(random));
          if (i < 100) me.call(Operation::bcast, 5000, true, time(random));
        }
        outcomes[static_cast<std::size_t>(rank)][{round, color}] = me.outcomes;
        host.comm_free(&part);
      }
      job.finish();
    });
    for (const auto& of_rank : outcomes) {
      for (const auto& [place, done] : of_rank) {
        for (const auto& other : outcomes) {
          if (!other.contains(place)) continue;
          EXPECT_EQ(other.at(place), done) << place.first << ' ' << nodes;
        }
      }
    }
  }
}

}  // namespace
}  // namespace unisono::runtime::learning_alike_test
