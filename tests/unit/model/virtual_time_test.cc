// SPDX-License-Identifier: BSD-3-Clause
// Small cases by hand, what a node's ranks share, and many ranks in little memory.
#include "model/virtual_time.h"

#include <gtest/gtest.h>

#include "algorithms/compose.h"
#include "machines.h"
#include "model/predict.h"
#include "model/symmetry.h"

namespace unisono::model {
namespace {

using algorithms::local_stage;
using algorithms::message_stage;
using algorithms::one_stage;
using schedule::part;
using schedule::Place;
using schedule::Problem;
using schedule::Program;
using schedule::whole;
using schedule::Writer;

Outcome run(const Problem& problem, const BuildProgram& build, std::int64_t bytes, const Machine& machine,
            const RunOptions& options = {.model = MessageModel::hockney}) {
  const CallSize size{.elements = bytes, .element_bytes = 1, .channel_bytes = 1 << 20};
  return run_in_virtual_time(problem, build, size, machine, everyone(problem.layout), options);
}

double predicted(Operation operation, const char* name, const std::string& layout, std::int64_t bytes,
                 const Machine& machine, const algorithms::Parameters& chosen = {}) {
  const auto* algorithm = algorithms::find(operation, name);
  const auto us = predict_us(*algorithm, with_standards(*algorithm, chosen), problem_on(operation, layout),
                             bytes, machine, {.model = MessageModel::hockney});
  EXPECT_TRUE(us) << name;
  return us.value_or(-1);
}

// alpha 10, beta 0.01: 100 bytes take 11.
TEST(VirtualTime, OneMessage) {
  const Problem problem = problem_on(Operation::bcast, "2x1");
  const auto ping = [](const Problem& own) {
    return one_stage(message_stage({}, 1, [rank = own.rank](int, Writer& writer) {
      if (rank == 0) writer.send(whole(Place::output), 1);
      if (rank == 1) writer.recv(whole(Place::output), 0);
    }));
  };
  const Outcome done = run(problem, ping, 100, messages_alone());
  EXPECT_EQ(done.problem, "");
  EXPECT_DOUBLE_EQ(done.us, 11);
  EXPECT_EQ(done.pieces, 2);
}

TEST(VirtualTime, NoBytesNoMessage) {
  EXPECT_DOUBLE_EQ(predicted(Operation::bcast, "binomial", "8x1", 0, messages_alone()), 0);
  EXPECT_DOUBLE_EQ(predicted(Operation::barrier, "dissemination", "8x1", 0, messages_alone()), 3 * 10);
}

// What a rank has received it joins before it sends it on: 11 + 5 + 11.
TEST(VirtualTime, StepsWaitForWhatTheyTouch) {
  Machine machine = messages_alone();
  machine.shared.combine_us = Curve({{0, 5.0}});
  const auto pass_on = [](const Problem& own) {
    return one_stage(message_stage({}, 1, [rank = own.rank](int, Writer& writer) {
      if (rank == 0) writer.send(whole(Place::input), 1);
      if (rank == 1) {
        writer.recv(whole(Place::scratch), 0);
        writer.reduce(whole(Place::output), whole(Place::scratch), whole(Place::input));
        writer.send(whole(Place::output), 2);
      }
      if (rank == 2) writer.recv(whole(Place::output), 1);
    }));
  };
  EXPECT_DOUBLE_EQ(run(problem_on(Operation::reduce, "3x1"), pass_on, 100, machine).us, 27);
}

// Ranks 0 and 1 of a node send to two other nodes: by themselves at once, through one card in turn.
TEST(VirtualTime, RanksOfANodeShareTheirCard) {
  const Problem problem = problem_on(Operation::allgather, "2,1,1");
  const auto both = [](const Problem& own) {
    return one_stage(message_stage({}, 1, [rank = own.rank](int, Writer& writer) {
      if (rank < 2) writer.send(whole(Place::input), rank + 2);
      if (rank >= 2) writer.recv(whole(Place::output), rank - 2);
    }));
  };
  Machine machine = messages_alone();
  EXPECT_DOUBLE_EQ(run(problem, both, 100, machine).us, 11);
  machine.card = {.message_us = 1, .us_per_byte = 0.03};
  EXPECT_DOUBLE_EQ(run(problem, both, 100, machine).us, 4 + 11);
}

// put 4, flag 1, get 6 of the others, who read side by side.
TEST(VirtualTime, SharedBroadcast) {
  Machine machine = messages_alone();
  machine.shared.put_us = Curve({{0, 4.0}});
  machine.shared.get_us = Curve({{0, 6.0}});
  machine.shared.flag_us = 1;
  EXPECT_DOUBLE_EQ(predicted(Operation::bcast, "shared", "4", 100, machine), 4 + 1 + 6);
  // Two pieces in two slots: the second is written while the first is read.
  EXPECT_DOUBLE_EQ(
      predicted(Operation::bcast, "shared", "4", 100, machine, parameters({{"piece", 50}, {"buffers", 2}})),
      4 + 1 + 6 + 6);
  // A slot is written again only when all have read it and said so: 6 pieces, two of them ahead.
  EXPECT_DOUBLE_EQ(
      predicted(Operation::bcast, "shared", "2", 60, machine, parameters({{"piece", 10}, {"buffers", 2}})),
      4 + 1 + 6 * 6);
}

// On every rank the call costs once, and each step; a call that is one fused step has a cost of its own.
TEST(VirtualTime, CallsAndStepsCostBesideWhatTheyDo) {
  Machine machine = messages_alone();
  machine.call_us = 100;
  machine.step_us = 1;
  // The sender's call and step, the message, the receiver's step.
  EXPECT_DOUBLE_EQ(predicted(Operation::bcast, "flat", "2x1", 100, machine), 100 + 1 + 11 + 1);
  machine.shared.flag_us = 2;
  machine.shared.fused_us = 3;
  // Raised, seen, looked at; and raised once more, since the channel is left at the stage's last tick.
  EXPECT_DOUBLE_EQ(predicted(Operation::barrier, "shared", "4", 0, machine), 100 + 1 + 2 + 1 + 1);
  EXPECT_DOUBLE_EQ(predicted(Operation::barrier, "fused", "4", 0, machine), 3 + 2);
}

// All copies of a node share its memory: 3 readers of 1000 bytes at 0.01 us each byte.
TEST(VirtualTime, CopiesShareTheNodesMemory) {
  Machine machine = messages_alone();
  machine.shared.get_us = Curve({{0, 6.0}});
  machine.shared.memory_us_per_byte = 0.01;
  EXPECT_DOUBLE_EQ(predicted(Operation::bcast, "shared", "4", 1000, machine), 10 + 3 * 10);
}

// Where cores are shared, who waited gets one after all others had a turn: depth x ranks / cores x switch.
TEST(VirtualTime, ContextSwitchesAreCounted) {
  Machine machine = messages_alone();
  machine.switch_us = 1.5;
  machine.cores_per_node = 8;
  const double alone = predicted(Operation::bcast, "chain", "8", 100, machine);
  machine.cores_per_node = 2;
  EXPECT_DOUBLE_EQ(predicted(Operation::bcast, "chain", "8", 100, machine), alone + 7 * 4 * 1.5);
  EXPECT_DOUBLE_EQ(predicted(Operation::bcast, "binomial", "8", 100, machine), 3 * (11 + 4 * 1.5));
  machine.shared.flag_us = 1;
  EXPECT_DOUBLE_EQ(predicted(Operation::barrier, "fused", "8", 0, machine), 1 + 4 * 1.5);
}

// Four ranks on two cores copy in turns.
TEST(VirtualTime, WorkSharesCores) {
  Machine machine = messages_alone();
  machine.shared.copy_us = Curve({{0, 7.0}});
  const auto copies = [](const Problem&) {
    return one_stage(local_stage([](Writer& writer) {
      writer.copy(schedule::block(Place::output, 0), schedule::block(Place::input, 0));
    }));
  };
  machine.cores_per_node = 2;
  EXPECT_DOUBLE_EQ(run(problem_on(Operation::allgather, "4"), copies, 10, machine).us, 14);
  machine.cores_per_node = 4;
  EXPECT_DOUBLE_EQ(run(problem_on(Operation::allgather, "4"), copies, 10, machine).us, 7);
}

TEST(VirtualTime, SaysWhenStepsWaitForEachOther) {
  const auto deaf = [](const Problem& own) {
    return one_stage(message_stage({}, 1, [rank = own.rank](int, Writer& writer) {
      if (rank == 0) writer.recv(whole(Place::output), 1);
    }));
  };
  EXPECT_NE(run(problem_on(Operation::bcast, "2x1"), deaf, 8, messages_alone()).problem, "");
}

// --- Many ranks: judged by steps, of which an enumeration has to go through all, and by how many are held.
// ---

TEST(VirtualTime, ARingOfHundredThousandRanksRunsOnOneNode) {
  const auto* ring = algorithms::find(Operation::allreduce, "ring");
  const Problem problem = problem_on(Operation::allreduce, "100000x1");
  const Prediction prediction = predict({ring, with_standards(*ring)}, problem, 8 << 20, default_machine());
  ASSERT_EQ(prediction.problem, "");
  EXPECT_TRUE(prediction.is_for_all_nodes);
  // 2 (p - 1) rounds of three or two steps.
  EXPECT_EQ(prediction.pieces, 99'999 * 3 + 99'999 * 2);
  EXPECT_LE(prediction.most_waiting, 16);
}

TEST(VirtualTime, ABinomialTreeOfHundredThousandRanksHoldsItsSteps) {
  const auto* tree = algorithms::find(Operation::bcast, "binomial");
  const Problem problem = problem_on(Operation::bcast, "100000x1");
  const Prediction prediction = predict({tree, with_standards(*tree)}, problem, 4096, messages_alone());
  ASSERT_EQ(prediction.problem, "");
  EXPECT_EQ(prediction.pieces, 2 * 99'999);
  EXPECT_LE(prediction.most_waiting, 2 * 99'999);
}

TEST(VirtualTime, TooManyStepsAreNotRun) {
  const auto* flat = algorithms::find(Operation::bcast, "chain");
  const Prediction prediction = predict({flat, with_standards(*flat)}, problem_on(Operation::bcast, "1000x1"),
                                        1 << 20, messages_alone(), {.most_pieces = 1000});
  EXPECT_NE(prediction.problem, "");
}

}  // namespace
}  // namespace unisono::model
