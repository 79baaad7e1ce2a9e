// SPDX-License-Identifier: BSD-3-Clause
// What the checker must find in steps on the node's shared memory, within a call and between calls.
#include <gtest/gtest.h>

#include "check_cases.h"

namespace unisono::proof {
namespace {

// Bcast through one common slot, with faults to choose from.
struct Faults {
  bool has_no_await_space = false;
  bool has_no_await = false;
  bool has_no_end = false;  // one rank says that it is done with a piece before it has read it
};

Round shared_bcast(const Faults& faults = {}) {
  return [faults](const schedule::Problem& problem, int, schedule::Writer& writer) {
    const schedule::Ref slot = whole(schedule::Place::output).in_slot_of(0);
    if (problem.rank == problem.root) {
      if (!faults.has_no_await_space) writer.await_space();
      writer.copy(slot, whole(schedule::Place::output));
      writer.signal(1);
      return;
    }
    if (!faults.has_no_await) writer.await(problem.root, 1);
    if (faults.has_no_end && problem.rank == 1) writer.signal(2);
    writer.copy(whole(schedule::Place::output), slot);
  };
}

schedule::Stage common_stage(int buffers = 2) {
  return {.rounds = 1, .shared = schedule::SharedMode::common, .ticks = 2, .buffers = buffers};
}

// Slots of one element: as many pieces as elements.
CheckLoad small_slots(int ranks, int buffers = 2) {
  return {.elements = 0, .element_bytes = 64, .area_elements = (buffers + ranks - 1) / ranks};
}

TEST(CheckSlots, BcastPasses) {
  for (const int ranks : {1, 2, 4}) {
    for (const int root : {0, ranks - 1}) {
      const Given given{.layout = std::to_string(ranks), .root = root};
      for (const std::int64_t elements : {0, 1, 5}) {
        const Build build = one_stage(common_stage(), shared_bcast());
        EXPECT_TRUE(passes(check_repeated(given, build, 3, elements, small_slots(ranks))));
        EXPECT_TRUE(passes(check_repeated(given, build, 3, elements, {})));
      }
    }
  }
}

TEST(CheckSlots, FindsSlotThatIsOverwritten) {
  const Build build = one_stage(common_stage(), shared_bcast({.has_no_await_space = true}));
  EXPECT_TRUE(is_caught(check_one({.layout = "2"}, build, 3, small_slots(2)), "may not have read yet"));
  // Two pieces fit in two slots: a single call is in order. The next call is not.
  EXPECT_TRUE(passes(check_one({.layout = "2"}, build, 2, small_slots(2))));
  EXPECT_TRUE(
      is_caught(check_repeated({.layout = "2"}, build, 2, 2, small_slots(2)), "may not have read yet"));
}

TEST(CheckSlots, FindsSlotThatIsReadTooEarly) {
  const Build build = one_stage(common_stage(), shared_bcast({.has_no_await = true}));
  EXPECT_TRUE(is_caught(check_one({.layout = "2"}, build, 3, small_slots(2)), "may not have written yet"));
}

TEST(CheckSlots, FindsPieceThatIsCalledDoneTooEarly) {
  const Build build = one_stage(common_stage(), shared_bcast({.has_no_end = true}));
  EXPECT_TRUE(is_caught(check_one({.layout = "3"}, build, 3, small_slots(3)), "may not have read yet"));
}

TEST(CheckSlots, FindsTwoWriters) {
  const auto broken = [](const schedule::Problem& problem, int, schedule::Writer& writer) {
    if (problem.rank == problem.root) {
      shared_bcast()(problem, 0, writer);
      return;
    }
    writer.await_space();
    writer.copy(whole(schedule::Place::scratch), whole(schedule::Place::output).in_slot_of(0));
  };
  const auto both = [](const schedule::Problem&, int, schedule::Writer& writer) {
    writer.await_space();
    writer.copy(whole(schedule::Place::output).in_slot_of(0), whole(schedule::Place::input));
  };
  EXPECT_TRUE(
      is_caught(check_one({.layout = "2"}, one_stage(common_stage(), broken)), "may not have written yet"));
  EXPECT_TRUE(is_caught(
      check_one({.operation = Operation::allreduce, .layout = "2"}, one_stage(common_stage(), both)),
      "may be writing"));
}

TEST(CheckSlots, FindsLaneThatIsTooShort) {
  const auto broken = [](const schedule::Problem& problem, int, schedule::Writer& writer) {
    writer.await_space();
    if (problem.rank == 0)
      writer.copy(blocks(schedule::Place::output, 0, 2).in_slot_of(0), whole(schedule::Place::output));
  };
  EXPECT_TRUE(is_caught(check_one({.layout = "2"}, one_stage(common_stage(), broken), 7, small_slots(2)),
                        "a lane has 1"));
}

// --- Flags ---

TEST(CheckFlags, FindsTickThatNobodySignals) {
  // The end of a piece counts as a signal, so only a tick beyond a rank's own signals and before the end
  // hangs.
  const auto waits_for_each_other = [](const schedule::Problem& problem, int, schedule::Writer& writer) {
    writer.await(1 - problem.rank, 1);
    writer.signal(1);
  };
  EXPECT_TRUE(is_caught(check_one({.layout = "2"}, one_stage(common_stage(), waits_for_each_other)),
                        "await tick 1 of local rank 1: waits for ever"));
}

TEST(CheckFlags, FindsTickBeyondTheStages) {
  const auto broken = [](const schedule::Problem& problem, int, schedule::Writer& writer) {
    if (problem.rank == 0) writer.signal(3);
    if (problem.rank == 1) writer.await(0, 3);
  };
  EXPECT_TRUE(
      is_caught(check_one({.layout = "2"}, one_stage(common_stage(), broken)), "the stage has 2 ticks"));
}

TEST(CheckFlags, FindsTicksThatDifferBetweenRanks) {
  const Build build = [](const schedule::Problem& problem) {
    schedule::Stage stage = common_stage();
    stage.ticks = problem.rank == 1 ? 3 : 2;
    return one_stage(stage, shared_bcast())(problem);
  };
  EXPECT_TRUE(is_caught(check_one({.layout = "2"}, build), "differ between ranks of a node"));
}

TEST(CheckFlags, FindsFlagThatGoesBack) {
  const auto broken = [](const schedule::Problem& problem, int round, schedule::Writer& writer) {
    if (problem.rank == 0) writer.signal(2);
    shared_bcast()(problem, round, writer);
  };
  EXPECT_TRUE(is_caught(check_one({.layout = "2"}, one_stage(common_stage(), broken)), "sets its flag back"));
}

TEST(CheckFlags, FindsChannelThatOnlySomeRanksUse) {
  const Build build = [](const schedule::Problem& problem) {
    if (problem.rank == 0) return one_stage(common_stage(), shared_bcast())(problem);
    return one_stage({.rounds = 0}, shared_bcast())(problem);
  };
  EXPECT_TRUE(is_caught(check_one({.layout = "2"}, build), "use different channels"));
}

// --- Calls that follow each other ---

// Calls of different geometry on one channel: the slots lie elsewhere, so the counting starts anew.
TEST(CheckSequences, GeometryMayChange) {
  for (const bool is_broken : {false, true}) {
    Texts failures;
    const schedule::Problem problem = problem_of({.layout = "3", .root = 1});
    const Build wide = one_stage(common_stage(2), shared_bcast());
    const Build narrow = one_stage(common_stage(3), shared_bcast({.has_no_await_space = is_broken}));
    const CheckedCall first = spread_out("first", problem, false, wide, &failures);
    const CheckedCall second = spread_out("second", problem, false, narrow, &failures);
    ASSERT_TRUE(passes(failures));
    const Texts found = check({&first, &second, &first}, {3, 2, 3}, {.area_elements = 2});
    if (is_broken) {
      EXPECT_TRUE(is_caught(found, "call 1 (second), rank 1"));
    } else {
      EXPECT_TRUE(passes(found));
    }
  }
}

TEST(CheckSequences, RootMayRunAheadByItsBuffersOnly) {
  // A root that counts on slots that are free after every other call.
  const auto every_other = [](const schedule::Problem& problem, int, schedule::Writer& writer) {
    const schedule::Ref slot = whole(schedule::Place::output).in_slot_of(0);
    if (problem.rank == 0) {
      writer.copy(slot, whole(schedule::Place::output));
      writer.signal(1);
      writer.await_all(2);
    } else {
      writer.await(0, 1);
      writer.copy(whole(schedule::Place::output), slot);
      writer.signal(2);
    }
  };
  schedule::Stage stage = common_stage();
  stage.ticks = 3;
  // Rank 0 never signals tick 2 before it waits for it.
  EXPECT_TRUE(is_caught(check_one({.layout = "2"}, one_stage(stage, every_other)), "waits for ever"));
}

// --- Fused operations ---

TEST(CheckFused, AllreducePasses) {
  const auto fused = [](const schedule::Problem&, int, schedule::Writer& writer) {
    writer.node_allreduce(whole(schedule::Place::output), whole(schedule::Place::input));
  };
  for (const bool is_in_place : {false, true}) {
    const Given given{.operation = Operation::allreduce, .is_commutative = false, .is_in_place = is_in_place};
    EXPECT_TRUE(passes(check_repeated(given, one_stage({.rounds = 1}, fused), 3, 2, {})));
  }
  // Across nodes the leaders' results are missing.
  const Given nodes{.operation = Operation::allreduce, .layout = "2x2"};
  EXPECT_TRUE(
      is_caught(check_one(nodes, one_stage({.rounds = 1}, fused)), "the combination of ranks 0-1, wanted"));
}

TEST(CheckFused, FindsRanksThatDisagree) {
  const auto broken = [](const schedule::Problem& problem, int, schedule::Writer& writer) {
    if (problem.rank == 0) {
      writer.node_bcast(whole(schedule::Place::output), 0);
    } else {
      writer.node_bcast(whole(schedule::Place::output), 1);
    }
  };
  EXPECT_TRUE(
      is_caught(check_one({.layout = "2"}, one_stage({.rounds = 1}, broken)), "different fused operation"));
}

TEST(CheckFused, FindsRankThatDoesNotCome) {
  const auto broken = [](const schedule::Problem& problem, int, schedule::Writer& writer) {
    if (problem.rank != 2) writer.node_bcast(whole(schedule::Place::output), 0);
  };
  EXPECT_TRUE(is_caught(check_one({.layout = "3"}, one_stage({.rounds = 1}, broken)), "waits for ever"));
}

TEST(CheckFused, BcastIsNoBarrier) {
  const auto bcast_only = [](const schedule::Problem&, int, schedule::Writer& writer) {
    writer.node_bcast({.first = 0, .last = 0}, 0);
  };
  const auto barrier = [](const schedule::Problem&, int, schedule::Writer& writer) { writer.node_barrier(); };
  const Given given{.operation = Operation::barrier, .layout = "3"};
  EXPECT_TRUE(passes(check_one(given, one_stage({.rounds = 1}, barrier), 0)));
  EXPECT_TRUE(is_caught(check_one(given, one_stage({.rounds = 1}, bcast_only), 0), "may leave before rank"));
}

// --- Single copy ---

struct CopyFaults {
  bool has_no_last_wait = false;
  bool has_no_expose = false;
  bool writes_late = false;  // the owner's data comes after it was announced
};

Round single_copy_bcast(const CopyFaults& faults) {
  return [faults](const schedule::Problem& problem, int, schedule::Writer& writer) {
    if (problem.rank == 0) {
      writer.await_space();
      if (!faults.has_no_expose) writer.expose();
      writer.signal(1);
      if (!faults.has_no_last_wait) {
        for (int other = 1; other < problem.size; ++other) writer.await(other, 2);
      }
      if (faults.writes_late)
        writer.copy(whole(schedule::Place::output), whole(schedule::Place::output).in_slot_of(0));
    } else {
      writer.await(0, 1);
      schedule::Ref remote = whole(schedule::Place::remote_output);
      remote.owner = 0;
      writer.copy(whole(schedule::Place::output), remote);
      writer.signal(2);
    }
  };
}

TEST(CheckSingleCopy, BcastPassesAndFaultsAreFound) {
  const Given given{.layout = "3"};
  const auto found = [&](const CopyFaults& faults) {
    return check_repeated(given, one_stage(common_stage(), single_copy_bcast(faults)), 2, 5, {});
  };
  EXPECT_TRUE(passes(found({})));
  EXPECT_TRUE(is_caught(found({.has_no_last_wait = true}), "a rank that is not in this call"));
  EXPECT_TRUE(is_caught(found({.has_no_expose = true}), "has not exposed its buffers"));
}

// The owner of exposed data receives it from elsewhere first: it must be there before it is announced.
TEST(CheckSingleCopy, DataMustBeThereWhenItIsAnnounced) {
  const auto forward = [](const schedule::Problem& problem, int round, schedule::Writer& writer) {
    const int leader = problem.layout->ranks_of[problem.layout->node_of[problem.rank]].front();
    if (problem.rank == 0) writer.send(whole(schedule::Place::output), 2);
    if (problem.rank == 2) writer.recv(whole(schedule::Place::output), 0);
    schedule::Problem local = problem;
    local.rank = problem.layout->local_rank_of[problem.rank];
    local.size = problem.layout->local_size(problem.rank);
    if (problem.rank == leader || local.rank > 0) single_copy_bcast({})(local, round, writer);
  };
  const Given given{.layout = "2x2"};
  Texts failures;
  CheckedCall call =
      spread_out("test", problem_of(given), false, one_stage(common_stage(), forward), &failures);
  EXPECT_TRUE(passes(check({&call}, {5}, {})));
  // Without the compiler's guard the signal may overtake the message.
  CheckedProgram& program = call.programs[2];
  for (const CheckedStep& checked : program.steps) {
    for (int i = checked.first_before; i < checked.last_before; ++i) {
      // Waiting for the step before it again is as good as not waiting.
      if (checked.step.kind == schedule::StepKind::signal && program.before[i].step == 0)
        program.before[i].step = 2;
    }
  }
  EXPECT_TRUE(is_caught(check({&call}, {5}, {}), "may not have written yet"));
}

}  // namespace
}  // namespace unisono::proof
