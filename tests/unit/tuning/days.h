// SPDX-License-Identifier: BSD-3-Clause
// Jobs one after the other, between which there is a real file of what they have learned: programs whose
// calls take as long as the tests say.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "learner_program.h"
#include "questions.h"
#include "tuning/decisions/candidates.h"
#include "tuning/decisions/size_class.h"
#include "tuning/tables/knowledge.h"
#include "tuning/tables/leaning.h"
#include "tuning/tables/table_json.h"
#include "tuning/tables/table_store.h"

namespace unisono::tuning {

// A job that makes one kind of calls, from what the file has to what it writes.
class Days : public ::testing::Test {
 protected:
  Days() { place_ = store_place(folder_, "cpu", "MPI 1", *patterns::Layout::parse("2")); }
  ~Days() override { std::filesystem::remove_all(folder_); }

  static constexpr std::int64_t bytes = 128 << 10;
  Question asked_ = question(Operation::allreduce, "2", bytes);

  std::vector<SourcedTable> tables() const {
    std::vector<SourcedTable> list = application_;
    std::vector<std::string> warnings;
    for (const StoredText& stored : read_stored(place_, &warnings))
      list.push_back({learned_source, table_from_text(stored.text, stored.file).table});
    return list;
  }
  // What jobs decide that do not learn.
  std::string decision() const {
    std::vector<std::string> warnings;
    return std::string(standard_decider("", tables(), &warnings).decide(asked_).name());
  }
  // One of these.
  void job_without_learning() const {
    std::vector<std::string> warnings;
    Decider decider = standard_decider("", tables(), &warnings);
    Leans leans;
    leans.add(decider.decide(asked_).leans_on, Confirmation::none);
    EXPECT_EQ(store_rules(place_, {}, {}, leans.list()).problem, "");
  }

  // Candidates are native, what is usual ("shared") and a few others; `units` are their times.
  void job(std::uint64_t calls, const Times& times) {
    std::vector<std::string> warnings;
    Question unlearned = asked_;
    unlearned.forgets_learned = true;
    Decider decider = standard_decider("", tables(), &warnings);
    const Choice usual = decider.decide(unlearned), served = decider.decide(asked_);
    CandidateList list = candidates_of(asked_, usual, {});
    list.choices.resize(4);
    list.candidates.resize(4);
    add_known_times(TableRules(tables()), asked_, usual, &list);
    add_times_of_neighbours(served, &list);
    Program program(Mode::guarded, list.candidates, {}, 2);
    program.run(calls, times);
    keep(list, program.learner(), calls, served);
  }
  void keep(const CandidateList& list, const Learner& learner, std::uint64_t calls,
            const Choice& served) const {
    const Policy& policy = learner.policy();
    Rule made{.when = {.operation = Operation::allreduce,
                       .bytes = {class_low(asked_.size_class), class_high(asked_.size_class)},
                       .nodes = {1, 1},
                       .ranks_per_node = {2, 2},
                       .is_oversubscribed = false,
                       .is_blocking = true},
              .origin = "learned",
              .evidence = Evidence{.uncertainty = policy.uncertainty(policy.chosen())},
              .note = "in " + std::to_string(calls) + " calls"};
    made.evidence->expected = {list.choices[1].algorithm, list.choices[1].parameters};
    for (int k = 0; k < static_cast<int>(list.choices.size()); ++k) {
      const Choice& choice = list.choices[static_cast<std::size_t>(k)];
      if (policy.time_s(k) == unknown_s) continue;
      const Timed timed{.algorithm = {choice.algorithm, choice.parameters},
                        .time_us = policy.time_s(k) * 1e6,
                        .least_us = policy.quietest_s(k) == unknown_s ? 0 : policy.quietest_s(k) * 1e6};
      if (k == policy.chosen()) {
        made.chosen = timed;
      } else {
        made.others.push_back(timed);
      }
    }
    const bool is_compared =
        policy.is_measured(1) && policy.is_measured(policy.chosen()) && !made.others.empty();
    if (is_compared) made.evidence->trust = fresh_trust;
    Leans leans;
    const bool is_right = is_same(made.chosen.algorithm, {served.algorithm, served.parameters});
    leans.add(served.leans_on, !is_compared ? Confirmation::none
                               : is_right   ? Confirmation::confirmed
                                            : Confirmation::contradicted);
    EXPECT_EQ(store_rules(place_, {}, {made}, leans.list()).problem, "");
  }
  void write(const TableJson& rules, const char* name = "1x2.json") const {
    std::filesystem::create_directories(place_.directory);
    std::ofstream(place_.directory + "/" + name)
        << TableJson{{"schema", table_schema}, {"version", table_version}, {"rules", rules}};
  }

  const std::string folder_ = std::filesystem::temp_directory_path() / ("days." + std::to_string(::getpid()));
  StorePlace place_;
  std::vector<SourcedTable> application_;
};

}  // namespace unisono::tuning
