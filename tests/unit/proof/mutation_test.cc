// SPDX-License-Identifier: BSD-3-Clause
// Does the proof notice when an algorithm is wrong? Every algorithm of the registry is damaged, one step or
// one derived dependency at a time, and the checker must find each damage. A proof that nothing can fail
// proves nothing.
#include <gtest/gtest.h>

#include <optional>
#include <random>

#include "proof/check_cases.h"
#include "proof/check_schedule.h"
#include "schedule/describe.h"

namespace unisono::proof {
namespace {

using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::Ref;
using schedule::Stage;
using schedule::Step;
using schedule::StepKind;
using schedule::Writer;

using Texts = std::vector<std::string>;
// Makes of one step what is to be written instead.
using Damage = std::function<void(const Problem&, Step, Writer&)>;

// One algorithm in one shape, proved with one count, three times in a row on one segment.
class Subject {
 public:
  Subject(const algorithms::Descriptor& descriptor, CheckShape shape)
      : descriptor_(descriptor), shape_(std::move(shape)) {}

  std::string describe() const {
    return std::string(name(descriptor_.operation)) + "/" + descriptor_.name + ", " +
           shape_.describe(descriptor_);
  }

  Problem problem(int rank) const {
    Problem problem = shape_.problem(descriptor_);
    problem.rank = rank;  // of neighbours it may ask for anybody's
    return problem;
  }

  // The steps that `rank` writes, in order; they are numbered so over all stages and rounds.
  std::vector<Step> steps(int rank) const {
    std::vector<Step> all;
    const Program program = descriptor_.build(problem(rank), shape_.parameters);
    for (const Stage& stage : program.stages) {
      for (int round = 0; round < stage.rounds; ++round) {
        Writer writer(&all);
        stage.write(round, writer);
      }
    }
    return all;
  }

  // What the checker finds when step `number` of `rank` is damaged.
  Texts check_damaged(int rank, int number, const Damage& damage) const {
    const auto build = [&](const Problem& problem) {
      Program program = descriptor_.build(problem, shape_.parameters);
      if (problem.rank != rank) return program;
      int first = 0;
      for (Stage& stage : program.stages) damage_stage(problem, number, damage, &first, &stage);
      return program;
    };
    Texts failures;
    const CheckedCall call =
        spread_out("damaged", shape_.problem(descriptor_), shape_.is_in_place, build, &failures);
    return failures.empty() ? prove(call) : failures;
  }

  CheckedCall sound() const {
    Texts failures;
    CheckedCall call = spread_out(descriptor_, shape_, &failures);
    EXPECT_TRUE(failures.empty()) << describe();
    return call;
  }

  Texts prove(const CheckedCall& call) const {
    if (call.graph != nullptr) return prove_neighbors(call);
    // More pieces than slots, so that slots come again within a call too; elements that every rank has some
    // of.
    const std::int64_t elements = descriptor_.operation == Operation::barrier ? 0 : 12;
    const CheckLoad load = load_for(descriptor_, call, elements, 3, Cut::by_slots);
    Texts failures = check({&call, &call, &call}, {elements, elements, elements}, load);
    for (const int pieces : {1, 3}) {
      if (!failures.empty()) return failures;
      failures = check({&call}, {elements}, load_for(descriptor_, call, elements, pieces, Cut::forced, 1));
    }
    return failures;
  }

  // Blocks that all travel together, or all go alone, or some of them each way.
  Texts prove_neighbors(const CheckedCall& call) const {
    constexpr std::int64_t elements = 6;
    constexpr int equal = 0, different = 1;
    struct Way {
      int pattern;
      schedule::BlockLimits limits;
    };
    Texts failures;
    for (const auto& [pattern, limits] :
         {Way{equal, {1 << 20, 1 << 20}}, {equal, {0, 0}}, {different, {24, 40}}, {different, {40, 24}}}) {
      CheckLoad load{.elements = elements, .pattern = pattern, .element_bytes = 8, .limits = limits};
      load.limits->piece = 24;  // of blocks that are cut, half of the longest one
      load.limits->most_pieces = shape_.parameters.get_or("pieces", 1);
      fit_slots(call, &load);
      if (failures.empty()) failures = check({&call, &call, &call}, {elements, elements, elements}, load);
    }
    return failures;
  }

 private:
  static void damage_stage(const Problem& problem, int number, const Damage& damage, int* first,
                           Stage* stage) {
    std::vector<int> before;  // round -> number of its first step
    std::vector<Step> steps;
    for (int round = 0; round < stage->rounds; ++round) {
      before.push_back(*first + static_cast<int>(steps.size()));
      Writer writer(&steps);
      stage->write(round, writer);
    }
    *first += static_cast<int>(steps.size());
    stage->write = [write = stage->write, problem, number, damage, before](int round, Writer& writer) {
      std::vector<Step> sound_steps;
      Writer inner(&sound_steps);
      write(round, inner);
      int at = before[round];
      for (const Step& step : sound_steps) {
        if (at++ == number) {
          damage(problem, step, writer);
        } else {
          writer.add(step);
        }
      }
    };
  }

  const algorithms::Descriptor& descriptor_;
  CheckShape shape_;
};

// Five ranks on one node and, unevenly, on two; the operator does not commute where that is allowed.
std::vector<Subject> subjects() {
  std::vector<Subject> all;
  for (const algorithms::Descriptor& descriptor : algorithms::registry()) {
    for (const std::string layout : {"5", "3,2"}) {
      // Few slots come again soon.
      const auto is_better = [](const CheckShape& a, const CheckShape& b) {
        const auto slots = [](const CheckShape& shape) { return shape.parameters.get_or("buffers", 2); };
        return std::make_pair(a.is_commutative, slots(a)) < std::make_pair(b.is_commutative, slots(b));
      };
      std::optional<CheckShape> chosen;
      for (const CheckShape& shape : check_shapes(descriptor, 5, 1)) {
        if (shape.layout.name != layout || shape.is_in_place) continue;
        if (shape.graph.graph != nullptr && shape.graph.name != "double edges") continue;
        if (!chosen || is_better(shape, *chosen)) chosen = shape;
      }
      if (chosen) all.emplace_back(descriptor, *chosen);
    }
  }
  return all;
}

struct Score {
  int tried = 0;
  Texts survived;
};

// Damages up to `most` steps of each algorithm that `is_meant` picks.
Score score(std::size_t most, const std::function<bool(const Problem&, const Step&)>& is_meant,
            const Damage& damage) {
  Score score;
  std::mt19937 random(1);
  for (const Subject& subject : subjects()) {
    std::vector<std::pair<int, int>> places;
    for (int rank = 0; rank < 5; ++rank) {
      const Problem problem = subject.problem(rank);
      const auto steps = subject.steps(rank);
      for (std::size_t i = 0; i < steps.size(); ++i) {
        if (is_meant(problem, steps[i])) places.emplace_back(rank, static_cast<int>(i));
      }
    }
    std::shuffle(places.begin(), places.end(), random);
    if (places.size() > most) places.resize(most);
    for (const auto& [rank, number] : places) {
      ++score.tried;
      if (!subject.check_damaged(rank, number, damage).empty()) continue;
      score.survived.push_back(subject.describe() + ", rank " + std::to_string(rank) + ", step " +
                               std::to_string(number) + ": " +
                               schedule::describe(subject.steps(rank)[number]));
    }
  }
  return score;
}

void expect_caught(const Score& score, int at_least, int percent = 100) {
  EXPECT_GE(score.tried, at_least);
  std::string survived;
  for (const std::string& text : score.survived) survived += "\n  " + text;
  EXPECT_LE(static_cast<int>(score.survived.size()) * 100, score.tried * (100 - percent))
      << "of " << score.tried << " not caught:" << survived;
}

bool is_kind(const Step& step, std::initializer_list<StepKind> kinds) {
  return std::find(kinds.begin(), kinds.end(), step.kind) != kinds.end();
}

const Damage leave_out = [](const Problem&, const Step&, Writer&) {};

TEST(Mutation, TheSoundAlgorithmsPass) {
  const auto all = subjects();
  EXPECT_GE(all.size(), 110u);
  for (const Subject& subject : all) {
    const Texts failures = subject.prove(subject.sound());
    EXPECT_TRUE(failures.empty()) << subject.describe() << ": " << failures.front();
  }
}

TEST(Mutation, AMessageOrReductionOrFusedStepLeftOut) {
  const auto is_meant = [](const Problem&, const Step& step) {
    return schedule::is_message(step.kind) || step.kind == StepKind::reduce || schedule::is_fused(step.kind);
  };
  expect_caught(score(16, is_meant, leave_out), 700);
}

// Where nodes are uneven, some compositions copy within scratch space what nobody reads.
TEST(Mutation, ACopyLeftOut) {
  const auto is_meant = [](const Problem&, const Step& step) {
    const bool is_in_scratch = step.left.place == Place::scratch &&
                               (step.into.place == Place::scratch || step.into.last > step.into.first + 1);
    return is_kind(step, {StepKind::copy}) && step.into != step.left && !is_in_scratch;
  };
  expect_caught(score(16, is_meant, leave_out), 400);
}

// Some are implied by what other ranks wait for. An example is a pairwise exchange of five ranks: who reads
// in its second round is the one whose writing is waited for in the third.
TEST(Mutation, AnAwaitLeftOut) {
  const auto is_meant = [](const Problem&, const Step& step) {
    return is_kind(step, {StepKind::await, StepKind::await_all, StepKind::expose});
  };
  expect_caught(score(16, is_meant, leave_out), 150, 98);
}

// A signal may be implied by a later one, and the last one of a piece is the compiler's as well. Room in the
// slots is implied where all ranks wait for all. The others must be missed. (The programs of alltoallw are
// those of alltoallv. Of neighbours, both signals are implied: who lacks one waits for the next.)
TEST(Mutation, ASignalLeftOut) {
  const auto is_meant = [](const Problem& problem, const Step& step) {
    return step.kind == StepKind::signal && problem.operation != Operation::alltoallw &&
           !is_neighborhood(problem.operation);
  };
  expect_caught(score(16, is_meant, leave_out), 100, 55);
}

TEST(Mutation, AWaitForSpaceLeftOut) {
  const auto is_meant = [](const Problem&, const Step& step) { return step.kind == StepKind::await_space; };
  expect_caught(score(16, is_meant, leave_out), 100, 30);
  // Where nothing else implies it each one counts.
  const auto is_root = [](const Problem& problem, const Step& step) {
    return problem.operation == Operation::bcast && step.kind == StepKind::await_space &&
           problem.layout->nodes() > 1;
  };
  expect_caught(score(16, is_root, leave_out), 5);
}

TEST(Mutation, AMessageToAnotherRank) {
  expect_caught(score(
                    8,
                    [](const Problem&, const Step& step) {
                      return is_kind(step, {StepKind::send, StepKind::recv});
                    },
                    [](const Problem& problem, Step step, Writer& writer) {
                      do step.peer = (step.peer + 1) % problem.size;
                      while (step.peer == problem.rank);
                      writer.add(step);
                    }),
                300);
}

TEST(Mutation, AMessageOfAnotherSize) {
  expect_caught(score(
                    8,
                    [](const Problem&, const Step& step) {
                      const Ref& ref = step.kind == StepKind::send ? step.left : step.into;
                      return is_kind(step, {StepKind::send, StepKind::recv}) && ref.first < ref.last;
                    },
                    [](const Problem&, Step step, Writer& writer) {
                      for (Ref* ref : {&step.left, &step.into}) {
                        ref->first *= 2, ref->last = 2 * ref->last - 1, ref->parts *= 2;
                      }
                      writer.add(step);
                    }),
                300);
}

TEST(Mutation, OperandsInTheWrongOrder) {
  expect_caught(score(
                    8,
                    [](const Problem& problem, const Step& step) {
                      return !problem.is_commutative && is_kind(step, {StepKind::reduce});
                    },
                    [](const Problem&, Step step, Writer& writer) {
                      std::swap(step.left, step.right);
                      writer.add(step);
                    }),
                50);
}

// Does `step` wait for `earlier` by way of others, without predecessor number `left_out`?
bool waits_otherwise(const CheckedProgram& program, int step, int earlier, int left_out) {
  std::vector<int> open{step};
  std::vector<bool> seen(program.steps.size(), false);
  while (!open.empty()) {
    const int at = open.back();
    open.pop_back();
    for (int i = program.steps[at].first_before; i < program.steps[at].last_before; ++i) {
      const schedule::Predecessor& before = program.before[i];
      if (i == left_out || before.how == schedule::Wait::previous) continue;
      // What has started has waited for all that it waits for.
      if (before.step == earlier && !is_start(before.how)) return true;
      if (!seen[before.step]) open.push_back(before.step);
      seen[before.step] = true;
    }
  }
  return false;
}

// Of two messages: does one write what the other reads or writes?
bool do_meet(const Step& one, const Step& other) {
  if (one.kind == StepKind::send && other.kind == StepKind::send) return false;
  const schedule::Ref& a = one.kind == StepKind::send ? one.left : one.into;
  const schedule::Ref& b = other.kind == StepKind::send ? other.left : other.into;
  if (a.place != b.place) return false;
  return a.parts != b.parts || (a.first < b.last && b.first < a.last);
}

// Does one wait for the other only to be kept apart in time? What does so is right at any time.
bool is_pace(const CheckedProgram& program, const CheckedStep& step, const CheckedStep& before) {
  const schedule::Stage& stage = program.stages[step.stage];
  const bool are_messages = schedule::is_message(step.step.kind) && schedule::is_message(before.step.kind);
  const bool are_held_back = stage.is_blocking || stage.rounds_under_way > 0 || stage.sends_under_way > 0;
  return before.is_token || (are_messages && are_held_back && !do_meet(step.step, before.step)) ||
         (stage.begins_apart && step.stage != before.stage);
}

TEST(Mutation, ADerivedDependencyLeftOut) {
  Score score;
  std::mt19937 random(1);
  for (const Subject& subject : subjects()) {
    const CheckedCall sound = subject.sound();
    std::vector<std::array<int, 3>> places;
    for (int rank = 0; rank < 5; ++rank) {
      const auto& steps = sound.programs[rank].steps;
      for (int step = 0; step < static_cast<int>(steps.size()); ++step) {
        // What means its place in the program may come where nothing is lost by it.
        if (steps[step].is_token || is_fused(steps[step].step.kind) ||
            steps[step].step.kind == StepKind::signal)
          continue;
        for (int i = steps[step].first_before; i < steps[step].last_before; ++i) {
          const schedule::Predecessor& before = sound.programs[rank].before[i];
          if (before.how == schedule::Wait::previous || is_start(before.how)) continue;
          if (is_pace(sound.programs[rank], steps[step], steps[before.step])) continue;
          if (!waits_otherwise(sound.programs[rank], step, before.step, i)) places.push_back({rank, step, i});
        }
      }
    }
    std::shuffle(places.begin(), places.end(), random);
    if (places.size() > 12) places.resize(12);
    for (const auto& [rank, step, i] : places) {
      CheckedCall damaged = sound;
      CheckedProgram& program = damaged.programs[rank];
      // The step waits for what is left: the last of its waits takes the place of the one that goes.
      std::swap(program.before[i], program.before[program.steps[step].last_before - 1]);
      --program.steps[step].last_before;
      ++score.tried;
      if (!subject.prove(damaged).empty()) continue;
      score.survived.push_back(subject.describe() + ", " + proof::describe(sound, rank, step) +
                               " without waiting (" +
                               std::to_string(static_cast<int>(sound.programs[rank].before[i].how)) +
                               ") for " + proof::describe(sound, rank, sound.programs[rank].before[i].step));
    }
  }
  // Node steps run piece by piece, so a wait for one of them may stand for that for another.
  expect_caught(score, 500, 99);
}

}  // namespace
}  // namespace unisono::proof
