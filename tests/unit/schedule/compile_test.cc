// SPDX-License-Identifier: BSD-3-Clause
// Which steps wait for which.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "schedule/compiled.h"
#include "schedule/executor.h"

namespace unisono::schedule {
namespace {

using Write = std::function<void(int round, Writer& writer)>;

Problem problem_of(Operation operation, int size = 4, int rank = 0) {
  return {.operation = operation,
          .size = size,
          .rank = rank,
          .layout = std::make_shared<const patterns::Layout>(patterns::Layout::one_node(size)),
          .blocks = {}};
}

Stage stage_of(int rounds, const Write& write, SharedMode shared = SharedMode::none) {
  return {.rounds = rounds, .write = write, .shared = shared, .ticks = shared == SharedMode::none ? 0 : 2};
}

std::shared_ptr<const Compiled> compile_stage(const Write& write, SharedMode shared = SharedMode::none,
                                              int rounds = 1) {
  return compile(problem_of(Operation::allreduce), {.stages = {stage_of(rounds, write, shared)}});
}

std::vector<Predecessor> waits(const Compiled& compiled, int step) {
  const CompiledStep& own = compiled.steps[step];
  return {compiled.predecessors.begin() + own.first_predecessor,
          compiled.predecessors.begin() + own.last_predecessor};
}
using Waits = std::vector<Predecessor>;

const Ref output = whole(Place::output), scratch = whole(Place::scratch);

TEST(Compile, ReadersWaitForWritersPieceByPiece) {
  const auto made = compile_stage([](int, Writer& writer) {
    writer.recv(output, 1);
    writer.send(output, 2);
    writer.copy(scratch, output);
  });
  EXPECT_EQ(waits(*made, 0), Waits{});
  EXPECT_EQ(waits(*made, 1), (Waits{{0, Wait::pieces}}));
  EXPECT_EQ(waits(*made, 2), (Waits{{0, Wait::pieces}}));
  EXPECT_EQ(made->roots, std::vector<std::int32_t>{0});
}

TEST(Compile, WritersWaitForReadersAndWriters) {
  const auto made = compile_stage([](int, Writer& writer) {
    writer.send(output, 1);
    writer.send(output, 2);
    writer.recv(output, 1);
    writer.recv(output, 3);
  });
  EXPECT_EQ(waits(*made, 2), (Waits{{0, Wait::pieces}, {1, Wait::pieces}}));
  EXPECT_EQ(waits(*made, 3), (Waits{{2, Wait::pieces}}));
}

TEST(Compile, OtherElementsAreNoBusinessOfAStep) {
  const auto made = compile_stage([](int, Writer& writer) {
    writer.recv(block(Place::output, 1), 1);
    writer.send(block(Place::output, 0), 2);
    writer.recv(block(Place::scratch, 1), 3);
    writer.send(blocks(Place::output, 2, 4), 1);
  });
  for (int step = 0; step < 4; ++step) EXPECT_EQ(waits(*made, step), Waits{}) << step;
}

TEST(Compile, RangesThatOverlapOtherwiseWaitForTheWhole) {
  const auto made = compile_stage([](int, Writer& writer) {
    writer.recv(part(Place::output, 1, 3), 1);
    writer.send(part(Place::output, 1, 2), 2);
    writer.send(parts(Place::output, 2, 4, 6), 3);
  });
  EXPECT_EQ(waits(*made, 1), (Waits{{0, Wait::all}}));
  EXPECT_EQ(waits(*made, 2), (Waits{{0, Wait::pieces}})) << "2/6 .. 4/6 are 1/3 .. 2/3";
}

TEST(Compile, PartsOfOnePieceAreApartWithinAStageOnly) {
  const Write parts_of_pieces = [](int, Writer& writer) {
    writer.recv(output.sub(0, 2), 1);
    writer.recv(output.sub(1, 2), 2);
    writer.send(output.sub(0, 2), 1);
    writer.send(output.sub(1, 3), 2);
    writer.send(output, 3);
  };
  const auto made = compile_stage(parts_of_pieces);
  EXPECT_EQ(waits(*made, 1), Waits{});
  EXPECT_EQ(waits(*made, 2), (Waits{{0, Wait::pieces}}));
  EXPECT_EQ(waits(*made, 3), (Waits{{0, Wait::pieces}, {1, Wait::pieces}}));
  EXPECT_EQ(waits(*made, 4), (Waits{{0, Wait::pieces}, {1, Wait::pieces}}));
  const auto apart = compile(problem_of(Operation::allreduce),
                             {.stages = {stage_of(1, [](int, Writer& w) { w.recv(output.sub(0, 2), 1); }),
                                         stage_of(1, [](int, Writer& w) { w.recv(output.sub(1, 2), 2); })}});
  EXPECT_EQ(waits(*apart, 1), (Waits{{0, Wait::pieces}}));
}

TEST(Compile, WaitsThatAnotherOneImpliesAreDropped) {
  const auto made = compile_stage([](int, Writer& writer) {
    writer.recv(scratch, 1);
    writer.reduce(output, output, scratch);
    writer.send(output, 2);
    writer.recv(scratch, 3);
    writer.reduce(output, output, scratch);
  });
  EXPECT_EQ(waits(*made, 1), (Waits{{0, Wait::pieces}}));
  EXPECT_EQ(waits(*made, 3), (Waits{{1, Wait::pieces}})) << "the first receive is implied";
  EXPECT_EQ(waits(*made, 4), (Waits{{2, Wait::pieces}, {3, Wait::pieces}}))
      << "the first reduction is implied";
}

TEST(Compile, InPlaceDropsCopiesOntoThemselves) {
  Problem problem = problem_of(Operation::allreduce);
  const Program program{.stages = {stage_of(1, [](int, Writer& writer) {
                          writer.copy(output, whole(Place::input));
                          writer.send(whole(Place::input), 1);
                          writer.recv(output, 1);
                        })}};
  EXPECT_EQ(compile(problem, program)->steps.size(), 3u);
  problem.is_in_place = true;
  const auto made = compile(problem, program);
  ASSERT_EQ(made->steps.size(), 2u);
  EXPECT_EQ(waits(*made, 1), (Waits{{0, Wait::pieces}})) << "what was input is overwritten";
}

TEST(Compile, MessagesOfOnePairAndRoundStartInOrder) {
  const auto made = compile_stage([](int, Writer& writer) {
    writer.send(block(Place::output, 0), 1);
    writer.send(block(Place::output, 1), 1);
    writer.send(block(Place::output, 2), 2);
    writer.recv(block(Place::output, 3), 1);
  });
  EXPECT_EQ(waits(*made, 1), (Waits{{0, Wait::started_all}}));
  EXPECT_EQ(waits(*made, 2), Waits{});
  EXPECT_EQ(waits(*made, 3), Waits{});
  EXPECT_EQ(made->steps[0].tag, made->steps[3].tag);
}

TEST(Compile, RoundsUnderWayHoldLaterMessagesBack) {
  Stage stage = stage_of(5, [](int round, Writer& writer) {
    if (round == 2) return;
    writer.send(block(Place::output, round), 1 + round % 3);
    writer.recv(block(Place::scratch, round), 1 + round % 3);
  });
  stage.rounds_under_way = 1;
  const auto one = compile(problem_of(Operation::alltoall), {.stages = {stage}});
  EXPECT_EQ(waits(*one, 1), Waits{});
  EXPECT_EQ(waits(*one, 2), (Waits{{0, Wait::pieces}, {1, Wait::pieces}}));
  EXPECT_EQ(waits(*one, 5), (Waits{{2, Wait::pieces}, {3, Wait::pieces}})) << "a round without messages";
  stage.rounds_under_way = 2;
  const auto two = compile(problem_of(Operation::alltoall), {.stages = {stage}});
  EXPECT_EQ(waits(*two, 2), Waits{});
  EXPECT_EQ(waits(*two, 4), (Waits{{2, Wait::pieces}, {3, Wait::pieces}}));
  EXPECT_EQ(waits(*two, 6), (Waits{{2, Wait::pieces}, {3, Wait::pieces}}));
  stage.rounds_under_way = 0;
  EXPECT_EQ(compile(problem_of(Operation::alltoall), {.stages = {stage}})->predecessors.size(), 0u);
}

// A14: of four sends two are under way; receives wait for none of them.
TEST(Compile, PacedSendsWaitForTheirElders) {
  Stage stage = stage_of(2, [](int round, Writer& writer) {
    writer.send(block(Place::input, 2 * round), 1);
    writer.recv(block(Place::output, 2 * round), 1);
    writer.send(block(Place::input, 2 * round + 1), 2);
    writer.recv(block(Place::output, 2 * round + 1), 2);
  });
  stage.sends_under_way = 2;
  const auto two = compile(problem_of(Operation::alltoall), {.stages = {stage}});
  EXPECT_EQ(waits(*two, 2), Waits{});
  EXPECT_EQ(waits(*two, 4), (Waits{{0, Wait::pieces}}));
  EXPECT_EQ(waits(*two, 6), (Waits{{2, Wait::pieces}}));
  for (const int receive : {1, 3, 5, 7}) EXPECT_EQ(waits(*two, receive), Waits{});
  Stage second = stage;
  const auto apart = compile(problem_of(Operation::alltoall), {.stages = {stage, second}});
  EXPECT_EQ(waits(*apart, 8), Waits{}) << "each stage has sends of its own";
  stage.sends_under_way = 0;
  EXPECT_EQ(compile(problem_of(Operation::alltoall), {.stages = {stage}})->predecessors.size(), 0u);
}

TEST(Compile, AStageMayGoOnWithAChannel) {
  Stage first = stage_of(1, [](int, Writer& writer) {
    writer.await_space();
    writer.copy(output.in_slot_of(0), output);
  });
  first.shared = SharedMode::own;
  first.ticks = 1;
  Stage second = first;
  second.continues_channel = true;
  Stage apart = first;
  const auto made = compile(problem_of(Operation::bcast), {.stages = {first, second, apart}});
  EXPECT_EQ(made->stages[0].channel, 0);
  EXPECT_EQ(made->stages[1].channel, 0);
  EXPECT_EQ(made->stages[2].channel, 1);
  ASSERT_EQ(made->steps.size(), 9u) << "each piece ends with a signal";
  EXPECT_EQ(waits(*made, 3), (Waits{{2, Wait::all}, {5, Wait::previous}})) << "node steps go on in order";
  EXPECT_EQ(waits(*made, 6), (Waits{{8, Wait::previous}})) << "another channel runs beside";
  second.buffers += 1;
  EXPECT_THROW(compile(problem_of(Operation::bcast), {.stages = {first, second}}), std::invalid_argument);
  EXPECT_THROW(compile(problem_of(Operation::bcast), {.stages = {second}}), std::invalid_argument);
}

TEST(Compile, BlockingMessagesFollowEachOtherPieceByPiece) {
  Stage stage = stage_of(1, [](int, Writer& writer) {
    writer.recv(output, 1);
    writer.send(output, 2);
    writer.copy(scratch, whole(Place::input));
    writer.send(output, 3);
  });
  const auto free = compile(problem_of(Operation::bcast), {.stages = {stage}});
  EXPECT_EQ(waits(*free, 0), Waits{});
  EXPECT_EQ(waits(*free, 3), (Waits{{0, Wait::pieces}}));
  stage.is_blocking = true;
  stage.segment_bytes = 64;
  const auto blocking = compile(problem_of(Operation::bcast), {.stages = {stage}});
  EXPECT_EQ(waits(*blocking, 0), (Waits{{3, Wait::previous}}));
  EXPECT_EQ(waits(*blocking, 1), (Waits{{0, Wait::pieces}}));
  EXPECT_EQ(waits(*blocking, 2), Waits{}) << "no message";
  EXPECT_EQ(waits(*blocking, 3), (Waits{{1, Wait::pieces}}));
}

// Messages of one pair start in their order, so all pieces of one come before those of the next.
TEST(Compile, BlockingRoundsFollowEachOther) {
  Stage stage = stage_of(2, [](int round, Writer& writer) {
    writer.recv(block(Place::output, round), 1);
    writer.send(block(Place::output, round), 2);
  });
  stage.is_blocking = true;
  stage.segment_bytes = 64;
  const auto made = compile(problem_of(Operation::bcast), {.stages = {stage}});
  EXPECT_EQ(waits(*made, 0), (Waits{{1, Wait::previous}}));
  EXPECT_EQ(waits(*made, 1), (Waits{{0, Wait::pieces}}));
  EXPECT_EQ(waits(*made, 2), (Waits{{1, Wait::all}, {3, Wait::previous}}));
  EXPECT_EQ(waits(*made, 3), (Waits{{2, Wait::pieces}}));
}

TEST(Compile, AStageThatBeginsApartWaitsForAllBefore) {
  const Stage first = stage_of(1, [](int, Writer& writer) {
    writer.recv(output, 1);
    writer.send(output, 2);
    writer.recv(block(Place::scratch, 1), 3);
  });
  Stage second = stage_of(1, [](int, Writer& writer) {
    writer.copy(block(Place::scratch, 2), whole(Place::input));
    writer.copy(block(Place::scratch, 3), block(Place::scratch, 2));
  });
  EXPECT_EQ(waits(*compile(problem_of(Operation::bcast), {.stages = {first, second}}), 3), Waits{});
  second.begins_apart = true;
  const auto made = compile(problem_of(Operation::bcast), {.stages = {first, second}});
  EXPECT_EQ(waits(*made, 3), (Waits{{1, Wait::all}, {2, Wait::all}})) << "who waits for step 0 stands for it";
  EXPECT_EQ(waits(*made, 4), (Waits{{3, Wait::pieces}}));
}

TEST(Compile, NodeStepsRunInOrderAndPieceByPiece) {
  const auto made = compile_stage(
      [](int, Writer& writer) {
        writer.await_space();
        writer.copy(output.in_slot_of(0), output);
        writer.signal(1);
        writer.recv(scratch, 1);
        writer.await_all(1);
      },
      SharedMode::own);
  ASSERT_EQ(made->steps.size(), 6u) << "the piece ends with a signal of its last tick";
  EXPECT_EQ(made->steps[5].kind, StepKind::signal);
  EXPECT_EQ(made->steps[5].tick, 2);
  EXPECT_EQ(waits(*made, 0), (Waits{{5, Wait::previous}}));
  EXPECT_EQ(waits(*made, 1), (Waits{{0, Wait::pieces}}));
  EXPECT_EQ(waits(*made, 2), (Waits{{1, Wait::pieces}}));
  EXPECT_EQ(waits(*made, 3), Waits{}) << "a message beside them";
  EXPECT_EQ(waits(*made, 4), (Waits{{2, Wait::pieces}}));
  EXPECT_EQ(waits(*made, 5), (Waits{{4, Wait::pieces}}));
  EXPECT_EQ(made->roots, (std::vector<std::int32_t>{0, 3}));
}

TEST(Compile, SignalsWaitForMessagesOfTheNodeOrder) {
  const auto made = compile_stage(
      [](int, Writer& writer) {
        writer.recv(output.in_slot_of(0), 1);
        writer.await_all(1);
        writer.send(output.in_slot_of(0), 2);
        writer.copy(scratch, output.in_slot_of(0, 1));
        writer.signal(2);
      },
      SharedMode::own);
  ASSERT_EQ(made->steps.size(), 5u);
  EXPECT_EQ(waits(*made, 1), (Waits{{0, Wait::started_pieces}}));
  EXPECT_EQ(waits(*made, 2), (Waits{{0, Wait::pieces}, {1, Wait::pieces}})) << "the slot is filled";
  EXPECT_EQ(waits(*made, 3), (Waits{{2, Wait::started_pieces}}));
  EXPECT_EQ(waits(*made, 4), (Waits{{2, Wait::pieces}, {3, Wait::pieces}}));
}

TEST(Compile, TokensKeepTheOrderOfTheProgram) {
  const auto made = compile_stage(
      [](int round, Writer& writer) {
        writer.send(token(), 1 + round);
        writer.recv(token(), 1 + round);
        if (round == 1) writer.recv(output, 3);
      },
      SharedMode::none, 2);
  EXPECT_EQ(waits(*made, 0), Waits{});
  EXPECT_EQ(waits(*made, 1), Waits{});
  EXPECT_EQ(waits(*made, 2), (Waits{{0, Wait::started_pieces}, {1, Wait::pieces}}));
  EXPECT_EQ(waits(*made, 3), Waits{}) << "posted early";
  EXPECT_EQ(waits(*made, 4), (Waits{{1, Wait::pieces}, {3, Wait::pieces}}));
}

TEST(Compile, FusedStepsWaitForEverythingBefore) {
  const auto made = compile(problem_of(Operation::allreduce),
                            {.stages = {stage_of(1,
                                                 [](int, Writer& writer) {
                                                   writer.recv(block(Place::scratch, 1), 1);
                                                   writer.send(block(Place::scratch, 2), 2);
                                                 }),
                                        stage_of(1, [](int, Writer& writer) {
                                          writer.node_bcast(output, 0);
                                          writer.node_barrier();
                                          writer.recv(block(Place::scratch, 3), 1);
                                        })}});
  EXPECT_EQ(waits(*made, 2), (Waits{{0, Wait::all}, {1, Wait::all}}));
  EXPECT_EQ(waits(*made, 3), (Waits{{2, Wait::pieces}}));
  EXPECT_EQ(waits(*made, 4), (Waits{{3, Wait::pieces}}));
  EXPECT_FALSE(made->is_fused_only);
}

TEST(Compile, ExposedBuffersAreWrittenBeforeTheSignalAndAfterTheAwait) {
  const auto made = compile_stage(
      [](int, Writer& writer) {
        writer.recv(output, 1);
        writer.recv(scratch, 2);
        writer.expose();
        writer.signal(1);
        writer.await_all(2);
        writer.recv(output, 3);
        writer.signal(2);
      },
      SharedMode::own);
  EXPECT_EQ(waits(*made, 3), (Waits{{0, Wait::pieces}, {2, Wait::pieces}}));
  EXPECT_EQ(waits(*made, 5), (Waits{{0, Wait::pieces}, {4, Wait::pieces}}));
}

TEST(Compile, BlocksOfARingKeepTheCompilerQuick) {
  constexpr int size = 1024;
  const Problem problem = problem_of(Operation::allgather, size);
  const auto made = compile(problem, {.stages = {stage_of(size - 1, [](int round, Writer& writer) {
                                        writer.send(block(Place::output, (size - round) % size), 1);
                                        writer.recv(block(Place::output, size - 1 - round), size - 1);
                                      })}});
  EXPECT_EQ(made->steps.size(), 2u * (size - 1));
  EXPECT_LE(made->predecessors.size(), made->steps.size());
  EXPECT_LE(made->refs.size(), size + 1u) << "equal references are kept once";
  EXPECT_GT(size_bytes(*made), made->steps.size() * sizeof(CompiledStep));
}

TEST(Compile, MalformedProgramsAreRefused) {
  const auto is_refused = [](const Write& write, SharedMode shared = SharedMode::none) {
    try {
      compile_stage(write, shared);
    } catch (const std::invalid_argument&) {
      return true;
    }
    return false;
  };
  EXPECT_FALSE(is_refused([](int, Writer& writer) { writer.send(output, 3); }));
  EXPECT_TRUE(is_refused([](int, Writer& writer) { writer.send(output, 4); }));
  EXPECT_TRUE(is_refused([](int, Writer& writer) { writer.recv(output, -1); }));
  EXPECT_TRUE(is_refused([](int, Writer& writer) { writer.signal(1); }));
  EXPECT_TRUE(is_refused([](int, Writer& writer) { writer.copy(output.in_slot_of(0), output); }));
  EXPECT_TRUE(is_refused([](int, Writer& writer) { writer.copy(output, parts(Place::scratch, 2, 1, 3)); }));
  const Write into_remote = [](int, Writer& writer) { writer.copy(output.in(Place::remote_output), output); };
  EXPECT_TRUE(is_refused(into_remote, SharedMode::own));
  const Stage channel = stage_of(
      1, [](int, Writer& writer) { writer.signal(1); }, SharedMode::own);
  EXPECT_NO_THROW(compile(problem_of(Operation::bcast), {.stages = {channel, channel, channel}}));
  EXPECT_THROW(compile(problem_of(Operation::bcast), {.stages = {channel, channel, channel, channel}}),
               std::invalid_argument);
}

}  // namespace
}  // namespace unisono::schedule
