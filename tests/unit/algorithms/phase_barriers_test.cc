// SPDX-License-Identifier: BSD-3-Clause
// What keeps the phases of an exchange apart.
#include "algorithms/building/phase_barriers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace unisono::algorithms {
namespace {

using patterns::Pair;
using schedule::Problem;
using schedule::Stage;
using schedule::Step;
using schedule::StepKind;
using schedule::Writer;

// "s3" a message to rank 3, "r3" one from there; "S3", "R3" tokens.
std::string steps_of(const Stage& stage, int round) {
  std::vector<Step> steps;
  Writer writer(&steps);
  stage.write(round, writer);
  std::string text;
  for (const Step& step : steps) {
    const bool is_send = step.kind == StepKind::send;
    const schedule::Ref& data = is_send ? step.left : step.into;
    const char letter = is_send ? 's' : 'r';
    if (!text.empty()) text += ' ';
    text += static_cast<char>(data.first == data.last ? letter - 'a' + 'A' : letter);
    text += std::to_string(step.peer);
  }
  return text;
}

Stage stage_of(Barrier barrier, int size, int rank, const PhaseOf& phase_of, int phases) {
  const Problem problem{.operation = Operation::alltoall, .size = size, .rank = rank};
  return in_phases(problem, {}, barrier, phases, phase_of, [](int, const Pair& pair, Writer& writer) {
    if (pair.to >= 0) writer.send(block(schedule::Place::input, pair.to), pair.to);
    if (pair.from >= 0) writer.recv(block(schedule::Place::output, pair.from), pair.from);
  });
}

Stage by_distance(Barrier barrier, int size, int rank) {
  const Problem problem{.operation = Operation::alltoall, .size = size, .rank = rank};
  return stage_of(barrier, size, rank, phase_by(patterns::at_distance, problem), size - 1);
}

TEST(Phases, NothingBetweenThem) {
  const Stage stage = by_distance(Barrier::none, 5, 1);
  EXPECT_EQ(stage.rounds, 4);
  EXPECT_EQ(steps_of(stage, 0), "s2 r0");
  EXPECT_EQ(steps_of(stage, 3), "s0 r2");
}

TEST(Phases, ALightBarrierTellsTheNextSenderThatItMay) {
  const Stage stage = by_distance(Barrier::light, 5, 1);
  EXPECT_EQ(steps_of(stage, 0), "s2 r0 S4 R3") << "next, rank 4 sends to rank 1, and rank 1 to rank 3";
  EXPECT_EQ(steps_of(stage, 2), "s4 r3 S2 R0");
  EXPECT_EQ(steps_of(stage, 3), "s0 r2") << "nothing behind the last phase";
}

TEST(Phases, AnMpiBarrierIsADissemination) {
  const Stage stage = by_distance(Barrier::mpi, 5, 1);
  EXPECT_EQ(steps_of(stage, 0), "s2 r0 S2 R0 S3 R4 S0 R2");
  EXPECT_EQ(steps_of(stage, 3), "s0 r2");
}

TEST(Phases, WhoHasNobodyInAPhaseWaitsForNobody) {
  const auto phase_of = [](int phase) {
    return phase == 0 ? Pair{2, 3} : phase == 1 ? Pair{-1, 2} : Pair{3, -1};
  };
  const Stage stage = stage_of(Barrier::light, 4, 1, phase_of, 3);
  EXPECT_EQ(steps_of(stage, 0), "s2 r3 S2");
  EXPECT_EQ(steps_of(stage, 1), "r2 R3");
  EXPECT_EQ(steps_of(stage, 2), "s3");
}

}  // namespace
}  // namespace unisono::algorithms
