// SPDX-License-Identifier: BSD-3-Clause
// The checker is only worth something if it finds what is wrong. Each right program here passes, and each of
// its broken variants must be caught, with words that say what is wrong.
#include "proof/check_schedule.h"

#include <gtest/gtest.h>

#include "check_cases.h"
#include "proof/check_run.h"

namespace unisono::proof {
namespace {

// --- Messages ---

void chain_bcast(const schedule::Problem& problem, int, schedule::Writer& writer) {
  const int place = (problem.rank - problem.root + problem.size) % problem.size;
  const int before = (problem.rank + problem.size - 1) % problem.size;
  const int after = (problem.rank + 1) % problem.size;
  if (place > 0) writer.recv(whole(schedule::Place::output), before);
  if (place + 1 < problem.size) writer.send(whole(schedule::Place::output), after);
}

TEST(CheckMessages, ChainPasses) {
  for (const std::int64_t segment : {0, 64, 128}) {
    for (const std::int64_t elements : {0, 1, 2, 7}) {
      const schedule::Stage stage{.rounds = 1, .segment_bytes = segment};
      EXPECT_TRUE(passes(check_one({.root = 2}, one_stage(stage, chain_bcast), elements)));
    }
  }
}

TEST(CheckMessages, FindsMissingReceive) {
  const auto broken = [](const schedule::Problem& problem, int round, schedule::Writer& writer) {
    if (problem.rank == 2) {
      writer.send(whole(schedule::Place::output), 3);
    } else {
      chain_bcast(problem, round, writer);
    }
  };
  EXPECT_TRUE(is_caught(check_one({}, one_stage({.rounds = 1}, broken)), "nobody receives this"));
}

TEST(CheckMessages, FindsReceiveInAnotherRound) {
  const auto broken = [](const schedule::Problem& problem, int round, schedule::Writer& writer) {
    if ((problem.rank == 3) == (round == 1)) chain_bcast(problem, round, writer);
  };
  const Texts failures = check_one({}, one_stage({.rounds = 2}, broken));
  EXPECT_TRUE(is_caught(failures, "nobody receives this"));
  EXPECT_TRUE(is_caught(failures, "nobody sends this"));
}

TEST(CheckMessages, FindsUnequalLengths) {
  const auto broken = [](const schedule::Problem& problem, int, schedule::Writer& writer) {
    if (problem.rank == 0) writer.send(part(schedule::Place::output, 0, 2), 1);
    if (problem.rank == 1) writer.recv(part(schedule::Place::output, 1, 2), 0);
  };
  EXPECT_TRUE(is_caught(check_one({.layout = "2"}, one_stage({.rounds = 1}, broken)), "receiver's are 4"));
}

TEST(CheckMessages, FindsUnequalPieces) {
  const Build build = [](const schedule::Problem& problem) {
    return one_stage({.rounds = 1, .segment_bytes = problem.rank == 0 ? 64 : 128}, chain_bcast)(problem);
  };
  EXPECT_TRUE(is_caught(check_one({.layout = "2"}, build), "its pieces are 7, but the receiver's are 4"));
}

// Everyone sends what it then overwrites: fine with eager sends, a deadlock otherwise.
TEST(CheckMessages, FindsDeadlockOfSynchronousSends) {
  const auto rotate = [](const schedule::Place into) {
    return [into](const schedule::Problem& problem, int, schedule::Writer& writer) {
      const int size = problem.size;
      writer.send(whole(schedule::Place::input), (problem.rank + 1) % size);
      writer.recv(whole(into), (problem.rank + size - 1) % size);
    };
  };
  const Given given{.operation = Operation::allreduce, .is_in_place = true};
  EXPECT_TRUE(is_caught(check_one(given, one_stage({.rounds = 1}, rotate(schedule::Place::output))),
                        "waits for ever"));
  // With room apart nothing waits; only the result is not that of an allreduce.
  EXPECT_TRUE(is_caught(check_one(given, one_stage({.rounds = 1}, rotate(schedule::Place::scratch))),
                        "ends with output"));
}

TEST(CheckMessages, FindsMessagesPostedInNoOrder) {
  const auto twice = [](const schedule::Problem& problem, int, schedule::Writer& writer) {
    for (int i = 0; i < 2; ++i) {
      if (problem.rank == 0) writer.send(part(schedule::Place::output, i, 2), 1);
      if (problem.rank == 1) writer.recv(part(schedule::Place::output, i, 2), 0);
    }
  };
  const Given given{.layout = "2"};
  EXPECT_TRUE(passes(check_one(given, one_stage({.rounds = 1}, twice))));
  Texts failures;
  CheckedCall call = spread_out("test", problem_of(given), false, one_stage({.rounds = 1}, twice), &failures);
  drop_dependencies(&call.programs[1].steps[1]);
  EXPECT_TRUE(is_caught(check({&call}, {7}, {}), "may be posted before an earlier message"));
}

// --- Dependencies ---

TEST(CheckOrder, FindsMissingDependency) {
  Texts failures;
  CheckedCall call =
      spread_out("test", problem_of({}), false, one_stage({.rounds = 1}, chain_bcast), &failures);
  ASSERT_TRUE(passes(check({&call}, {7}, {})));
  drop_dependencies(&call.programs[1].steps[1]);
  EXPECT_TRUE(is_caught(check({&call}, {7}, {}), "may run before what is written before it"));

  // Running in the order written finds nothing; an adversary's order does.
  const CheckPlan plan({&call}, {7}, {});
  EXPECT_TRUE(is_caught(CheckRun(plan, {.pick = CheckPolicy::Pick::newest, .is_stern = false}).run(),
                        "never written"));
}

TEST(CheckOrder, FindsPiecesOfNodeStepsThatNeedEachOther) {
  // The second step reads all of what the first writes piece by piece, but both run piece by piece.
  const auto tangled = [](const schedule::Problem& problem, int, schedule::Writer& writer) {
    if (problem.rank != 0) {
      writer.await(0, 1);
      writer.copy(whole(schedule::Place::output), whole(schedule::Place::output).in_slot_of(0));
      return;
    }
    writer.await_space();
    writer.copy(whole(schedule::Place::scratch), whole(schedule::Place::output).in_slot_of(0));
    writer.copy(whole(schedule::Place::output).in_slot_of(0),
                parts(schedule::Place::scratch, 0, 3, 3).shifted(0));
    writer.copy(parts(schedule::Place::scratch, 1, 3, 3).in_slot_of(0),
                parts(schedule::Place::scratch, 1, 3, 3));
    writer.signal(1);
  };
  const schedule::Stage stage{
      .rounds = 1, .segment_bytes = 64, .shared = schedule::SharedMode::own, .ticks = 1};
  EXPECT_TRUE(is_caught(check_one({.layout = "2"}, one_stage(stage, tangled)), "dependencies form a cycle"));
}

// --- Buffers ---

TEST(CheckBuffers, FindsWriteToInput) {
  const auto broken = [](const schedule::Problem& problem, int, schedule::Writer& writer) {
    if (problem.rank == 0) writer.recv(whole(schedule::Place::input), 1);
    if (problem.rank == 1) writer.send(whole(schedule::Place::input), 0);
  };
  EXPECT_TRUE(
      is_caught(check_one({.operation = Operation::reduce, .layout = "2"}, one_stage({.rounds = 1}, broken)),
                "writes to the input"));
}

TEST(CheckBuffers, FindsUndefinedData) {
  const auto broken = [](const schedule::Problem& problem, int, schedule::Writer& writer) {
    if (problem.rank == 0) writer.send(whole(schedule::Place::scratch), 1);
    if (problem.rank == 1) writer.recv(whole(schedule::Place::output), 0);
  };
  EXPECT_TRUE(is_caught(check_one({.layout = "2"}, one_stage({.rounds = 1}, broken)), "never written"));
}

TEST(CheckBuffers, FindsReachBeyondTheEnd) {
  const auto broken = [](const schedule::Problem& problem, int, schedule::Writer& writer) {
    if (problem.rank == 0) writer.send(block(schedule::Place::output, 1), 1);
    if (problem.rank == 1) writer.recv(whole(schedule::Place::output), 0);
  };
  EXPECT_TRUE(is_caught(check_one({.layout = "2"}, one_stage({.rounds = 1}, broken)), "it reaches to 14"));
}

TEST(CheckBuffers, FindsWrongBlock) {
  const auto broken = [](const schedule::Problem& problem, int, schedule::Writer& writer) {
    if (problem.rank == 0) {
      writer.copy(block(schedule::Place::output, 1), whole(schedule::Place::input));
      writer.recv(block(schedule::Place::output, 0), 1);
    } else {
      writer.send(whole(schedule::Place::input), 0);
    }
  };
  EXPECT_TRUE(
      is_caught(check_one({.operation = Operation::gather, .layout = "2"}, one_stage({.rounds = 1}, broken)),
                "of data of rank 1, wanted element 0 of data of rank 0"));
}

TEST(CheckBuffers, FindsOverlappingCopy) {
  const auto broken = [](const schedule::Problem&, int, schedule::Writer& writer) {
    writer.copy(parts(schedule::Place::output, 1, 3, 3), parts(schedule::Place::output, 0, 2, 3));
  };
  EXPECT_TRUE(is_caught(check_one({.layout = "1"}, one_stage({.rounds = 1}, broken)), "overlaps"));
}

// --- Reductions ---

// To rank 0 along a chain; `is_swapped`: operands in the wrong order.
Round chain_reduce(bool is_swapped) {
  return [is_swapped](const schedule::Problem& problem, int, schedule::Writer& writer) {
    const bool is_last = problem.rank + 1 == problem.size;
    const schedule::Ref own = whole(schedule::Place::input);
    const schedule::Ref got = whole(schedule::Place::scratch);
    if (!is_last) {
      writer.recv(got, problem.rank + 1);
      writer.reduce(whole(schedule::Place::output), is_swapped ? got : own, is_swapped ? own : got);
    }
    if (problem.rank > 0) writer.send(is_last ? own : whole(schedule::Place::output), problem.rank - 1);
  };
}

TEST(CheckReductions, OrderMattersWhereTheOperatorDoesNotCommute) {
  const schedule::Stage stage{.rounds = 1, .segment_bytes = 128};
  for (const bool is_in_place : {false, true}) {
    Given given{.operation = Operation::reduce, .is_commutative = false, .is_in_place = is_in_place};
    EXPECT_TRUE(passes(check_one(given, one_stage(stage, chain_reduce(false)))));
    EXPECT_TRUE(is_caught(check_one(given, one_stage(stage, chain_reduce(true))), "only a commutative"));
    given.is_commutative = true;
    EXPECT_TRUE(passes(check_one(given, one_stage(stage, chain_reduce(true)))));
  }
}

TEST(CheckReductions, FindsContributionTwice) {
  const auto broken = [](const schedule::Problem& problem, int round, schedule::Writer& writer) {
    chain_reduce(false)(problem, round, writer);
    if (problem.rank == 0) {
      writer.reduce(whole(schedule::Place::output), whole(schedule::Place::input),
                    whole(schedule::Place::output));
    }
  };
  EXPECT_TRUE(is_caught(check_one({.operation = Operation::reduce}, one_stage({.rounds = 1}, broken)),
                        "combines a contribution twice: data of rank 0 and the combination of ranks 0-3"));
}

TEST(CheckReductions, FindsMissingContribution) {
  const auto broken = [](const schedule::Problem& problem, int, schedule::Writer& writer) {
    if (problem.rank == 0) {
      writer.recv(whole(schedule::Place::scratch), 1);
      writer.reduce(whole(schedule::Place::output), whole(schedule::Place::input),
                    whole(schedule::Place::scratch));
    } else if (problem.rank == 1) {
      writer.send(whole(schedule::Place::input), 0);
    }
  };
  EXPECT_TRUE(is_caught(check_one({.operation = Operation::reduce}, one_stage({.rounds = 1}, broken)),
                        "the combination of ranks 0-1, wanted all ranks' element 0"));
}

TEST(CheckReductions, FindsDifferentElements) {
  const auto broken = [](const schedule::Problem&, int, schedule::Writer& writer) {
    writer.reduce(part(schedule::Place::output, 0, 2), part(schedule::Place::input, 0, 2),
                  part(schedule::Place::input, 1, 2));
  };
  EXPECT_TRUE(is_caught(
      check_one({.operation = Operation::reduce, .layout = "1"}, one_stage({.rounds = 1}, broken), 8),
      "combines element 0 with element 4"));
}

// Everyone collects everything and starts to combine at its own: other bits on each rank.
TEST(CheckReductions, FindsBitsThatDifferBetweenRanks) {
  const auto build_from = [](bool is_own_first) {
    return [is_own_first](const schedule::Problem& problem) {
      schedule::Program program;
      program.scratch = 3;
      program.stages.push_back({.rounds = 1});
      program.stages[0].write = [problem, is_own_first](int, schedule::Writer& writer) {
        for (int other = 0; other < 3; ++other) {
          if (other == problem.rank) continue;
          writer.send(whole(schedule::Place::input), other);
          writer.recv(block(schedule::Place::scratch, other), other);
        }
        writer.copy(block(schedule::Place::scratch, problem.rank), whole(schedule::Place::input));
        const int first = is_own_first ? problem.rank : 0;
        writer.reduce(whole(schedule::Place::output), block(schedule::Place::scratch, first),
                      block(schedule::Place::scratch, (first + 1) % 3));
        writer.reduce(whole(schedule::Place::output), whole(schedule::Place::output),
                      block(schedule::Place::scratch, (first + 2) % 3));
      };
      return program;
    };
  };
  const Given given{.operation = Operation::allreduce, .layout = "3"};
  EXPECT_TRUE(passes(check_one(given, build_from(false))));
  EXPECT_TRUE(is_caught(check_one(given, build_from(true)), "the bits may differ"));
}

// --- Barriers ---

TEST(CheckBarrier, EveryoneMustHaveCome) {
  const auto dissemination = [](int rounds) {
    return one_stage({.rounds = rounds}, [](const schedule::Problem& problem, int round,
                                            schedule::Writer& writer) {
      const int distance = 1 << round;
      writer.send(whole(schedule::Place::output), (problem.rank + distance) % problem.size);
      writer.recv(whole(schedule::Place::output), (problem.rank - distance + problem.size) % problem.size);
    });
  };
  const Given given{.operation = Operation::barrier, .layout = "5"};
  EXPECT_TRUE(passes(check_one(given, dissemination(3), 0)));
  EXPECT_TRUE(is_caught(check_one(given, dissemination(2), 0), "may leave before rank"));
}

}  // namespace
}  // namespace unisono::proof
