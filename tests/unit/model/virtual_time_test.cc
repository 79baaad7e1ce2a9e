// SPDX-License-Identifier: BSD-3-Clause
// Small cases by hand, what a node's ranks share, and many ranks in little memory.
#include "model/virtual_time.h"

#include <gtest/gtest.h>

#include "algorithms/building/compose.h"
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

Prediction prediction_of(Operation operation, const char* name, const std::string& layout, std::int64_t bytes,
                         const Machine& machine, const PredictOptions& options = {}) {
  const auto* algorithm = algorithms::find(operation, name);
  return predict({algorithm, with_standards(*algorithm)}, problem_on(operation, layout), bytes, machine,
                 options);
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

Outcome run_once(Operation operation, const char* name, const std::string& layout, std::int64_t bytes,
                 const Machine& machine) {
  const auto* algorithm = algorithms::find(operation, name);
  const auto build = [algorithm](const Problem& own) {
    return algorithm->build(own, with_standards(*algorithm));
  };
  return run(problem_on(operation, layout), build, bytes, machine);
}

Machine of_turns(int cores) {
  Machine machine = messages_alone();
  machine.switch_us = machine.message_switch_us = 1.5;
  machine.cores_per_node = cores;
  return machine;
}

// Four ranks on one core: the turn comes to each every 6 us.
// - The message to rank 1 is there at 11; its turns are at 1.5, 7.5, 13.5.
// - The message to rank 2 is there at 24.5; its turns are at 3, 9, 15, 21, 27.
// - The message to rank 3 is there at 38; it has a turn at 40.5.
TEST(VirtualTime, RanksThatShareACoreTakeTurns) {
  Machine machine = of_turns(1);
  EXPECT_DOUBLE_EQ(run_once(Operation::bcast, "chain", "4", 100, machine).us, 40.5);
  machine.cores_per_node = 4;
  EXPECT_DOUBLE_EQ(run_once(Operation::bcast, "chain", "4", 100, machine).us, 3 * 11);
}

// The same where each is a node of its own. With two nodes to a core turns come every 3 us: messages are
// there at 14, 30.5 and 47, turns are at 16.5, 33 and 49.5.
TEST(VirtualTime, NodesThatShareCoresTakeTurns) {
  Machine machine = of_turns(1);
  machine.nodes_on_cores = 4;
  EXPECT_DOUBLE_EQ(run_once(Operation::bcast, "chain", "4x1", 100, machine).us, 40.5);
  machine.nodes_on_cores = 2;
  EXPECT_DOUBLE_EQ(run_once(Operation::bcast, "chain", "4x1", 400, machine).us, 49.5);
  machine.nodes_on_cores = 1;
  EXPECT_DOUBLE_EQ(run_once(Operation::bcast, "chain", "4x1", 100, machine).us, 3 * 11);
  // Five ranks on four cores, none of which is left empty.
  machine.cores_per_node = 4;
  machine.nodes_on_cores = 3;
  EXPECT_DOUBLE_EQ(run_once(Operation::bcast, "flat", "2,2,1", 100, machine).us,
                   run_once(Operation::bcast, "flat", "5", 100, machine).us);
  // Six cores for six ranks of two nodes.
  machine.nodes_on_cores = 2;
  machine.cores_per_node = 6;
  EXPECT_DOUBLE_EQ(run_once(Operation::barrier, "dissemination", "2x3", 0, machine).us,
                   run_once(Operation::barrier, "dissemination", "6", 0, machine).us);
}

// The root's vector is as the program has left it; who passes it on has just received it.
TEST(VirtualTime, MessagesOfWhatWasJustWrittenTakeLongerInsideANode) {
  Machine machine = messages_alone();
  const auto chain_us = [&](const std::string& layout, MessageModel model) {
    return prediction_of(Operation::bcast, "chain", layout, 1 << 16, machine, {.model = model}).us;
  };
  const double before_us = chain_us("3", MessageModel::plogp);
  const double apart_us = chain_us("3x1", MessageModel::plogp);
  const double hockney_us = chain_us("3", MessageModel::hockney);
  machine.fresh_message_us = Curve({{0, 5.0}});
  EXPECT_DOUBLE_EQ(chain_us("3", MessageModel::plogp), before_us + 5);
  EXPECT_DOUBLE_EQ(chain_us("3x1", MessageModel::plogp), apart_us);
  EXPECT_DOUBLE_EQ(chain_us("3", MessageModel::hockney), hockney_us);
}

TEST(VirtualTime, WhoWaitsForMessagesMayGiveItsCoreAwayMoreSlowly) {
  Machine machine = of_turns(1);
  machine.message_switch_us = 15;
  EXPECT_GT(run_once(Operation::bcast, "chain", "4", 100, machine).us, 60);
  // Nobody waits for a message here.
  EXPECT_DOUBLE_EQ(run_once(Operation::barrier, "fused", "4", 0, machine).us,
                   run_once(Operation::barrier, "fused", "4", 0, of_turns(1)).us);
}

// Eight ranks on two cores have written at 4.5, which is seen at 5.5; the last one's next turn is at 10.5. In
// a loop each further call takes one turn of everybody: 6.
TEST(VirtualTime, ShortCallsFollowEachOtherWhereCoresAreShared) {
  Machine machine = of_turns(2);
  machine.shared.flag_us = 1;
  EXPECT_DOUBLE_EQ(run_once(Operation::barrier, "fused", "8", 0, machine).us, 10.5);
  EXPECT_DOUBLE_EQ(predicted(Operation::barrier, "fused", "8", 0, machine), (10.5 + 15 * 6) / 16);
  // Where not all wait for all, many calls are made in one turn.
  const double bcast_us = run_once(Operation::bcast, "fused", "8", 8, machine).us;
  EXPECT_LT(predicted(Operation::bcast, "fused", "8", 8, machine), bcast_us / 10);
  // Large ones come one by one.
  const double large_us = run_once(Operation::bcast, "chain", "8", 1 << 16, machine).us;
  EXPECT_DOUBLE_EQ(predicted(Operation::bcast, "chain", "8", 1 << 16, machine), large_us);
}

// Seven messages, 14 steps: where no more than 30 may be taken, two calls are run.
TEST(VirtualTime, FewerCallsFollowEachOtherWhereStepsAreCounted) {
  const auto pieces = [&](std::int64_t most) {
    const Prediction prediction =
        prediction_of(Operation::bcast, "flat", "8", 8, of_turns(2), {.most_pieces = most});
    EXPECT_EQ(prediction.problem, "");
    return prediction.pieces;
  };
  EXPECT_EQ(pieces(1000), 16 * 14);
  EXPECT_EQ(pieces(30), 2 * 14);
  EXPECT_EQ(pieces(15), 14);
}

// Seven messages keep the root's port for 1.4, less than a switch takes: it goes on in the same turn. Where a
// switch takes less, each call waits for the root's next turn.
TEST(VirtualTime, WhoIsAboutToSendOnKeepsItsCore) {
  Machine machine = of_turns(2);
  machine.node.hockney = {0.2, 0};
  EXPECT_LT(predicted(Operation::bcast, "flat", "8", 8, machine), 2.0);
  machine.switch_us = machine.message_switch_us = 1.1;
  EXPECT_GT(predicted(Operation::bcast, "flat", "8", 8, machine), 4 * 1.1 * 15 / 16);
}

// A reduction's root hears all others, wherever it is; what it brings itself it need not see first.
TEST(VirtualTime, TheRootOfAFusedReductionWaitsForAllOthers) {
  Machine machine = messages_alone();
  machine.shared.flag_us = 1;
  machine.shared.line_us = 2;
  for (const int root : {0, 1, 3}) {
    const Problem problem = problem_on(Operation::reduce, "4", root);
    const auto* fused = algorithms::find(Operation::reduce, "fused");
    const auto build = [fused](const Problem& own) { return fused->build(own, with_standards(*fused)); };
    EXPECT_DOUBLE_EQ(run(problem, build, 8, machine).us, 2 + 1 + 3 * 2) << root;
  }
}

// Of 2 domains of 2 ranks: up and down again through the domains' lowest ranks.
TEST(VirtualTime, FusedStepsAlongDomainsGoUpAndDown) {
  Machine machine = messages_alone();
  machine.shared.flag_us = 1;
  machine.shared.line_us = 2;
  const auto along = [&](Operation operation) {
    return predicted(operation, "fused_domains", "1x2x2", operation == Operation::barrier ? 0 : 8, machine);
  };
  constexpr double pair = 2 + 1 + 2;  // a line is written, seen and read
  constexpr double up = pair + 2 + 1 + 2 * 2, down = 2 + 1 + 2 + 2 + 1 + 2;
  EXPECT_DOUBLE_EQ(along(Operation::reduce), up);
  EXPECT_DOUBLE_EQ(along(Operation::bcast), down);
  EXPECT_DOUBLE_EQ(along(Operation::allreduce), up + down);
  EXPECT_DOUBLE_EQ(along(Operation::barrier), up + down);
  machine.shared.distances = {{.across = patterns::DomainKind::numa, .line_us = 5, .us_per_byte = 0}};
  EXPECT_DOUBLE_EQ(along(Operation::reduce), up + 3);
  EXPECT_DOUBLE_EQ(along(Operation::allreduce), up + down + 2 * 3);
}

// Two ranks of the other domain fetch what the root has written, over one way.
TEST(VirtualTime, WhatComesFromAnotherDomainTakesLonger) {
  Machine machine = messages_alone();
  machine.shared.put_us = Curve({{0, 4.0}});
  machine.shared.flag_us = 1;
  machine.shared.get_us = Curve({{0, 6.0}});
  const auto far = [&] { return predicted(Operation::bcast, "shared", "1x2x2", 100, machine); };
  EXPECT_DOUBLE_EQ(far(), 4 + 1 + 6);
  machine.shared.distances = {
      {.across = patterns::DomainKind::numa, .line_us = 0.5, .us_per_byte = 0.01, .shared_us_per_byte = 0}};
  constexpr double looks = 2 * 0.5;  // of the root, whether the slot is free
  EXPECT_DOUBLE_EQ(far(), looks + 4 + 1 + 0.5 + 6 + 1) << "a flag, and 100 bytes";
  machine.shared.distances.front().shared_us_per_byte = 0.05;
  EXPECT_DOUBLE_EQ(far(), looks + 4 + 1 + 0.5 + 2 * 5) << "100 bytes behind those of the other rank";
}

// Two sockets may each be one NUMA domain behind one cache. A machine that was measured there knows sockets
// alone, and a layout that was written down says nothing of kinds.
TEST(VirtualTime, BordersThatAMachineDoesNotNameAreThoseThatItNames) {
  using patterns::DomainKind;
  Machine machine = messages_alone();
  machine.shared.line_us = 2;
  const auto along = [&](const char* layout) {
    return predicted(Operation::reduce, "fused_domains", layout, 8, machine);
  };
  const double near = along("1x2x2"), nested = along("1x2x2x2");
  for (const DomainKind across : {DomainKind::socket, DomainKind::numa, DomainKind::cache}) {
    machine.shared.distances = {{.across = across, .line_us = 5, .us_per_byte = 0}};
    EXPECT_DOUBLE_EQ(along("1x2x2"), near + 3) << name(across);
  }
  EXPECT_DOUBLE_EQ(along("1x2x2x2"), nested + 3 * 3) << "who is in another NUMA domain is in another cache";
  machine.shared.distances.front().across = DomainKind::socket;
  EXPECT_DOUBLE_EQ(along("1x2x2x2"), nested + 3) << "caches inside one are near";
  machine.shared.distances.push_back({.across = DomainKind::cache, .line_us = 3, .us_per_byte = 0});
  EXPECT_DOUBLE_EQ(along("1x2x2x2"), nested + 2 * 1 + 3)
      << "the outermost ones are sockets rather than caches";
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
  const Prediction prediction =
      prediction_of(Operation::allreduce, "ring", "100000x1", 8 << 20, default_machine());
  ASSERT_EQ(prediction.problem, "");
  EXPECT_TRUE(prediction.is_for_all_nodes);
  // 2 (p - 1) rounds of three or two steps.
  EXPECT_EQ(prediction.pieces, 99'999 * 3 + 99'999 * 2);
  EXPECT_LE(prediction.most_waiting, 16);
}

TEST(VirtualTime, ABinomialTreeOfHundredThousandRanksHoldsItsSteps) {
  const Prediction prediction =
      prediction_of(Operation::bcast, "binomial", "100000x1", 4096, messages_alone());
  ASSERT_EQ(prediction.problem, "");
  EXPECT_EQ(prediction.pieces, 2 * 99'999);
  EXPECT_LE(prediction.most_waiting, 2 * 99'999);
}

// Of a root with a message for each rank, all in one round: an enumeration that looked at all of them for
// each would take half a minute.
TEST(VirtualTime, ARootOfHundredThousandRanksLooksAtEachMessageOnce) {
  for (const auto operation : {Operation::bcast, Operation::scatter, Operation::gather}) {
    ASSERT_NE(algorithms::find(operation, "flat"), nullptr);
    const Prediction prediction = prediction_of(operation, "flat", "100000x1", 64, messages_alone());
    ASSERT_EQ(prediction.problem, "");
    const int own_block = operation == Operation::bcast ? 0 : 1;  // copied
    EXPECT_EQ(prediction.pieces, 2 * 99'999 + own_block);
  }
}

// Tokens mean their place among all others: each waits for the one before it, and not for all of them.
TEST(VirtualTime, ACounterOfHundredThousandRanksLooksAtEachTokenOnce) {
  const Prediction prediction =
      prediction_of(Operation::barrier, "central_counter", "100000x1", 0, messages_alone());
  ASSERT_EQ(prediction.problem, "");
  EXPECT_EQ(prediction.pieces, 4 * 99'999);
}

TEST(VirtualTime, TooManyStepsAreNotRun) {
  const Prediction prediction =
      prediction_of(Operation::bcast, "chain", "1000x1", 1 << 20, messages_alone(), {.most_pieces = 1000});
  EXPECT_NE(prediction.problem, "");
}

}  // namespace
}  // namespace unisono::model
